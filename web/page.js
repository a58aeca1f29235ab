"use strict";
const $ = (id) => document.getElementById(id);
const bytesOf = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
const through = async (stream, bytes) =>
  new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
// The core and what runs it as one program: a page from a file may not load a second one.
const program = through(new DecompressionStream("gzip"), bytesOf($("core").textContent.trim())).then((core) =>
  URL.createObjectURL(new Blob([core, "\n", $("worker").textContent], { type: "text/javascript" })));

/** A core in a thread of its own. `ask` resolves with the answer; questions wait for each other. */
class Core {
  constructor(onProgress) {
    this.waiting = new Map();
    this.next = 0;
    this.ready = program.then((url) => this.begin(url, onProgress));
  }
  begin(url, onProgress) {
    this.worker = new Worker(url);
    return new Promise((resolve, reject) => {
      this.worker.onmessage = ({ data }) => {
        if (data.ready) return resolve();
        if (data.share !== undefined) return onProgress && onProgress(data.share, data.priced);
        const answered = this.waiting.get(data.id);
        this.waiting.delete(data.id);
        answered(data.answer);
      };
      this.worker.onerror = (event) => {
        event.preventDefault();
        const error = `The core broke off: ${event.message}`;
        reject(new Error(error));
        for (const answered of this.waiting.values()) answered({ error });
        this.waiting.clear();
      };
    });
  }
  async ask(question) {
    await this.ready;
    return new Promise((resolve) => {
      const id = this.next++;
      this.waiting.set(id, resolve);
      this.worker.postMessage({ id, question });
    });
  }
  end() {
    if (this.worker) this.worker.terminate();
  }
}

const core = new Core();
let searcher = null;   // only while it searches
let fields = null;     // what the core says about options, once
let shown = null;      // the answer on the page: {question, request, json}
let pins = [];         // {name, request}
let found = null;      // {key, plans}; a sweep's in the order of its cells
let rest = null;       // what no option says, a scenario's text
let files = {};        // files that options name

// ---- the form: one input per option of the command ----

const kFirst = ["--model", "--cluster"];
const kNotHere = ["--layout", "--scenario", "--from", "--save-scenario", "--calibration", "--fabric", "--explain",
                  "--require-fit", "--html", "--csv", "--markdown", "--no-refine", "--explain", "--threads"];
const inputId = (flag) => "o" + flag;
const element = (tag, attributes, text) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

/** Label, input and help of an option; `prefix` tells inputs of several forms apart. */
function addOption(into, row, prefix) {
  const id = prefix + row.flag;
  const name = row.flag.replace(/^--/, "").replace(/-/g, " ");
  const label = element("label", { for: id }, name);
  let input;
  if (row.value === "") {
    input = element("input", { id, type: "checkbox" });
  } else if (row.choices.length > 0 && !/LIST|POLICY/.test(row.value)) {
    input = element("select", { id });
    for (const choice of ["", ...row.choices]) input.append(element("option", { value: choice }, choice || "default"));
  } else {
    input = element("input", { id, placeholder: row.value.toLowerCase(), spellcheck: "false" });
  }
  input.dataset.flag = row.flag;
  input.setAttribute("aria-describedby", id + "-help");
  const box = element("div", {});
  box.append(label, input, element("p", { class: "help", id: id + "-help" }, row.help));
  into.append(box);
  return input;
}

/** Dimensions of the search that are a word of the layout with a number, and switches. */
const degreeRows = () => fields.search.filter((row) => row.flag !== "--order" &&
  (fields.layout_words.includes(row.flag.slice(2)) || row.flag === "--zero"));
function makeForm() {
  const rows = fields.estimate;
  for (const flag of kFirst) addOption($("first"), rows.find((row) => row.flag === flag), "o");
  for (const row of degreeRows()) {
    const word = row.flag.slice(2), id = "d" + word;
    const box = element("div", {});
    box.append(element("label", { for: id, title: row.help }, word));
    const input = row.choices.includes("on") ? element("input", { id, type: "checkbox", title: row.help })
                                             : element("input", { id, inputmode: "numeric", title: row.help });
    input.dataset.word = word;
    box.append(input);
    $("degrees").append(box);
  }
  for (const row of rows) {
    if (!kFirst.includes(row.flag) && !kNotHere.includes(row.flag)) addOption($("recipe"), row, "o");
  }
  offerNames("o--model", fields.presets.models);
  offerNames("o--framework", fields.presets.frameworks);
  offerNames("o--cluster", [...fields.presets.gpus.flatMap((gpu) => [`8x${gpu}`, `64x${gpu}`, `512x${gpu}`]),
                            ...fields.presets.clusters]);
  const known = new Set(rows.map((row) => row.flag));
  const grid = element("div", {});
  $("limits").append(grid);
  for (const row of fields.search) {
    const same = known.has(row.flag) && !degreeRows().includes(row) && !/LIST/.test(row.value);
    if (!same && !kNotHere.includes(row.flag)) addOption(grid, row, "s");
  }
}
function offerNames(input, names) {
  const list = element("datalist", { id: input + "-names" });
  for (const name of names) list.append(element("option", { value: name }));
  document.body.append(list);
  $(input).setAttribute("list", list.id);
}

const valueOf = (input) => (input.type === "checkbox" ? input.checked : input.value.trim());
function layoutText() {
  const words = [];
  for (const input of $("degrees").querySelectorAll("[data-word]")) {
    const value = valueOf(input);
    if (value === true) words.push(input.dataset.word);
    else if (value) words.push(input.dataset.word + value);
  }
  return [...words, $("words").value.trim()].filter(Boolean).join(" ");
}
/** What the form asks, as options of the command. */
function asked() {
  const options = {};
  for (const input of $("form").querySelectorAll("[data-flag]")) {
    const value = valueOf(input);
    if (value) options[input.dataset.flag] = value;
  }
  const layout = layoutText();
  if (layout) options["--layout"] = layout;
  const question = { options, files: { ...files } };
  if (rest !== null) {
    question.files["/files/rest.json"] = rest;
    options["--scenario"] = "/files/rest.json";
  }
  return question;
}
/** Fills the form with what the core took a request apart into. */
function fill(parts) {
  for (const input of $("form").querySelectorAll("[data-flag], [data-word], #words")) {
    if (input.type === "checkbox") input.checked = false;
    else input.value = "";
  }
  const others = [];
  for (const [flag, value] of Object.entries(parts.options)) {
    const input = $(inputId(flag));
    if (flag === "--layout") continue;
    if (input.tagName === "SELECT" && ![...input.options].some((option) => option.value === String(value)))
      input.append(element("option", { value }, value));
    if (input.type === "checkbox") input.checked = value === true || value === "true";
    else input.value = value;
  }
  for (const word of (parts.options["--layout"] || "").split(/[ ,]+/)) {
    const [, name, number] = /^([a-z]+)=?(\d*)$/.exec(word) || [];
    const input = name && $("d" + name);
    if (input && input.type === "checkbox" && !number) input.checked = true;
    else if (input && number) input.value = number;
    else if (word) others.push(word);
  }
  $("words").value = others.join(" ");
  rest = parts.rest;
  files = parts.files;
}

// ---- answers ----

/** Puts markup of the core into an element; what was unfolded stays so. */
function show(id, html) {
  const into = $(id);
  const keyOf = (details) => details.querySelector("summary").textContent.split(":")[0];
  const open = new Map([...into.querySelectorAll("details")].map((d) => [keyOf(d), d.open]));
  into.innerHTML = html;
  for (const details of into.querySelectorAll("details")) {
    if (open.has(keyOf(details))) details.open = open.get(keyOf(details));
  }
}
function say(text) {
  $("message").textContent = text;
}

let running = false, again = false;
/** Asks for what the form says; while an answer is on its way, the newest question waits. */
async function update() {
  if (running) {
    again = true;
    return;
  }
  running = true;
  do {
    again = false;
    await estimate();
  } while (again);
  running = false;
}
async function estimate() {
  const question = asked();
  if (!question.options["--model"] || !question.options["--cluster"]) {
    say("");
    $("waiting").textContent = "Choose a model and a cluster, or read a config.json, a scenario or a launch command.";
    $("waiting").hidden = false;
    return;
  }
  const answer = await core.ask({ command: "estimate", ...question });
  $("waiting").hidden = true;
  if (answer.error) {
    say(answer.error);
    $("answer").classList.add("outdated");
    return;
  }
  say("");
  $("answer").classList.remove("outdated");
  $("answer").hidden = false;
  shown = { question, request: answer.request, json: answer.json };
  $("title").textContent = answer.parts.title;
  document.title = answer.parts.title + " – Hexaplan";
  for (const id of ["summary", "memory", "ledger", "time", "inputs", "evidence", "formulas"])
    show(id, answer.parts[id] || "");
  $("timeline").innerHTML = "";
  await compare();
  markStale();
}
async function compare() {
  $("comparison-section").hidden = $("unpin").hidden = pins.length === 0;
  if (pins.length === 0) return;
  const question = { command: "compare", files: {}, options: { "A B ...": undefined }, names: ["present", ...pins.map((p) => p.name)] };
  delete question.options["A B ..."];
  question.options.sides = [shown, ...pins].map((side, i) => {
    question.files[`/files/side${i}.json`] = JSON.stringify(side.request);
    return `/files/side${i}.json`;
  });
  const answer = await core.ask(question);
  if (answer.error) say(answer.error);
  else show("comparison", answer.parts.comparison);
}

async function simulate() {
  const question = shown.question;
  $("timeline").textContent = "Simulating …";
  const answer = await core.ask({ command: "simulate", ...question });
  if (shown.question !== question) return;
  if (answer.error) $("timeline").textContent = answer.error;
  else show("timeline", answer.parts ? answer.parts.timeline : "<p>This layout cannot run.</p>");
}

// ---- search, in a thread that can be ended ----

const withoutLayout = (options) => {
  const kept = { ...options };
  for (const row of fields.search) delete kept[row.flag];
  delete kept["--layout"];
  for (const flag of Object.keys(options)) {
    if (fields.search.some((row) => row.flag === flag && !/LIST/.test(row.value))) kept[flag] = options[flag];
  }
  return kept;
};
const searchKey = (question) => JSON.stringify([withoutLayout(question.options), question.files]);
async function search() {
  if (!shown) return;
  const question = { options: withoutLayout(shown.question.options), files: shown.question.files };
  // On the batch of the plan beside it, also where nobody said one.
  question.options["--global-batch"] = String(shown.json.scenario.recipe.global_batch);
  for (const input of $("limits").querySelectorAll("[data-flag]")) {
    if (valueOf(input)) question.options[input.dataset.flag] = valueOf(input);
  }
  const key = searchKey(shown.question);
  $("cancel").hidden = $("progress").hidden = false;
  $("search").disabled = true;
  $("progress").value = 0;
  searcher = new Core((share) => { $("progress").value = share; });
  const mine = searcher;
  let answer;
  try {
    answer = await Promise.race([mine.ask({ command: "search", ...question }), new Promise((resolve) => { mine.cancelled = resolve; })]);
  } catch (error) {
    answer = { error: String(error) };
  }
  mine.end();
  searcher = null;
  $("cancel").hidden = $("progress").hidden = true;
  $("search").disabled = false;
  if (!answer) return;
  if (answer.error) return say(answer.error);
  found = { key, plans: (answer.json.cells || []).map((cell) => cell.plan).concat(answer.json.plans || []) };
  show("plans", answer.parts.plans);
  $("loads").replaceChildren(...(answer.json.cells ? loadsOfSweep(answer.json) : found.plans.slice(0, 10).map((plan, i) =>
    button(`Load plan ${i + 1}`, () => takeRequest(plan.scenario)))));
  markStale();
}
function button(text, press) {
  const made = element("button", { type: "button" }, text);
  made.addEventListener("click", press);
  return made;
}
/** A sweep's plans are loaded from a list, or by their cells in the maps. */
function loadsOfSweep({ axes, cells }) {
  const list = element("select", { id: "cells", "aria-label": "Cell of the sweep" });
  cells.forEach((cell, i) => {
    const place = axes.map((axis, a) => `${axis.option} ${cell.at[a]}`).join(", ");
    if (cell.plan) list.append(element("option", { value: i }, place));
  });
  for (const map of $("plans").querySelectorAll(".picture svg")) {
    [...map.querySelectorAll("rect > title")].forEach((title, i) => {
      if (!cells[i].plan) return;
      title.parentNode.classList.add("loads");
      title.parentNode.addEventListener("click", () => takeRequest(cells[i].plan.scenario));
    });
  }
  return list.options.length > 0 ? [list, button("Load its plan", () => takeRequest(cells[list.value].plan.scenario))] : [];
}
function markStale() {
  const stale = found !== null && shown !== null && found.key !== searchKey(shown.question);
  $("stale").textContent = stale ? "These plans answer another question; loading one brings that question back." : "";
  $("plans").classList.toggle("outdated", stale);
}

// ---- in and out ----

async function read(text, name) {
  const answer = await core.ask({ command: "read", text, name });
  if (answer.error) return say(answer.error);
  const before = asked().options;
  const parts = answer.asked;
  // What launch files and models leave open stays as it was.
  if (answer.model) parts.options = { ...before, "--model": parts.options["--model"] };
  for (const flag of kFirst) if (!parts.options[flag] && before[flag]) parts.options[flag] = before[flag];
  delete parts.options["--scenario"];
  fill({ ...parts, files: { ...files, ...parts.files } });
  await update();
  if (answer.notes && answer.notes.length > 0) say(answer.notes.join("\n"));
}
async function takeRequest(request) {
  await read(JSON.stringify(request), "scenario");
}

const kPrefix = "hexaplan:scenario/1/";
/** The window's word: length and zlib stream in base64url. */
async function shareWord(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const packed = await through(new CompressionStream("deflate"), bytes);
  const whole = new Uint8Array(packed.length + 4);
  new DataView(whole.buffer).setUint32(0, bytes.length);
  whole.set(packed, 4);
  let text = "";
  for (const byte of whole) text += String.fromCharCode(byte);
  return kPrefix + btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
async function readWord(word) {
  try {
    const bytes = bytesOf(word.slice(kPrefix.length).replace(/-/g, "+").replace(/_/g, "/"));
    if (bytes.length <= 4 || new DataView(bytes.buffer).getUint32(0) > 1 << 20) throw new Error();
    return new TextDecoder().decode(await through(new DecompressionStream("deflate"), bytes.subarray(4)));
  } catch (error) {
    throw new Error("This share link is not complete: copy the whole link.");
  }
}
/** Any text that somebody has. */
async function take(text, name) {
  const word = /hexaplan:scenario\/[0-9]+\/[A-Za-z0-9_-]*/.exec(text);
  try {
    if (word && !word[0].startsWith(kPrefix)) throw new Error("A newer hexaplan wrote this link.");
    await read(word ? await readWord(word[0]) : text, word ? "share link" : name);
  } catch (error) {
    say(error.message);
  }
}

async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    $("waiting").textContent = said;
  } catch (error) {  // pages from files may not write there in every browser
    $("waiting").textContent = text;
  }
  $("waiting").hidden = false;
}
const quoted = (text) => (/^[A-Za-z0-9_.\/+:=,-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);
function commandLine() {
  const words = ["hexaplan", "estimate"];
  for (const [flag, value] of Object.entries(shown.question.options)) {
    words.push(flag);
    if (value !== true) words.push(quoted(String(value)));
  }
  return words.join(" ");
}
async function saveReport() {
  const question = shown.question;
  const options = { ...question.options, "--html": "page" };
  const more = { ...question.files };
  const sides = [];
  for (const [i, pin] of pins.entries()) {
    more[`/files/side${i}.json`] = JSON.stringify(pin.request);
    sides.push(`/files/side${i}.json`);
  }
  if (sides.length > 0) {
    more["/files/present.json"] = JSON.stringify(shown.request);
    for (const flag of Object.keys(options)) if (flag !== "--html") delete options[flag];
    options.sides = ["/files/present.json", ...sides];
  }
  const answer = await core.ask({ command: "report", options, files: more });
  if (answer.error) return say(answer.error);
  const url = URL.createObjectURL(new Blob([answer.page], { type: "text/html" }));
  element("a", { href: url, download: "plan.html" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

function listen() {
  $("form").addEventListener("input", update);
  $("form").addEventListener("submit", (event) => event.preventDefault());
  $("simulate").addEventListener("click", simulate);
  $("search").addEventListener("click", search);
  $("cancel").addEventListener("click", () => searcher && searcher.cancelled());
  $("pin").addEventListener("click", () => {
    // What is compared trains on the same batch, also where nobody said one.
    const batch = shown.json.scenario.recipe.global_batch;
    pins.push({ name: $("title").textContent,
                request: { ...shown.request, recipe: { ...shown.request.recipe, global_batch: batch } } });
    $("o--global-batch").value = batch;
    update();
  });
  $("unpin").addEventListener("click", () => {
    pins = [];
    compare();
  });
  $("link").addEventListener("click", async () => {
    const word = await shareWord(shown.request);
    history.replaceState(null, "", "#" + word);
    copy(location.href, "The link holds the whole scenario; it opens here and in the window.");
  });
  $("command").addEventListener("click", () => copy(commandLine(), "Copied."));
  $("report").addEventListener("click", saveReport);
  $("paste").addEventListener("click", () => {
    $("pasting").hidden = !$("pasting").hidden;
    if (!$("pasting").hidden) $("pasted").focus();
  });
  $("pasted").addEventListener("input", (event) => event.stopPropagation());
  $("take").addEventListener("click", () => take($("pasted").value, "pasted text"));
  $("open").addEventListener("click", () => $("file").click());
  $("file").addEventListener("input", async (event) => {
    event.stopPropagation();
    const file = $("file").files[0];
    if (file) take(await file.text(), file.name);
  });
  $("reset").addEventListener("click", () => {
    fill({ options: {}, files: {}, rest: null });
    update();
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", async (event) => {
    event.preventDefault();
    const file = event.dataTransfer.files[0];
    take(file ? await file.text() : event.dataTransfer.getData("text"), file ? file.name : "dropped text");
  });
  window.addEventListener("hashchange", () => location.hash.includes(kPrefix) && take(location.hash, "link"));
}

async function start() {
  try {
    fields = await core.ask({ command: "fields" });
    if (fields.error) throw new Error(fields.error);
  } catch (error) {
    $("waiting").textContent = `The planner could not start: ${error.message}`;
    return;
  }
  $("report-style").textContent = fields.style;
  $("version").textContent = `Hexaplan ${fields.version}. Everything is computed on this machine.`;
  makeForm();
  listen();
  if (location.hash.includes(kPrefix)) {
    await take(location.hash, "link");
  } else {
    fill({ options: { "--model": "llama-3.1-8b", "--cluster": "16xH100", "--layout": "tp2 sp zero1" }, files: {}, rest: null });
    await update();
  }
  $(inputId("--model")).focus();
}
start();
