// node browser.js CHROMIUM PAGE HEXAPLAN [PICTURE]: opens the page as a file in a browser, uses it as a person does, and compares what
// it shows with what the command prints. Speaks DevTools' protocol over pipes. Exit code 1 with what is wrong.
"use strict";
const { spawn, execFileSync } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");
const [browser, page, hexaplan, picture] = process.argv.slice(2);

const profile = fs.mkdtempSync(path.join(os.tmpdir(), "hexaplan-browser-"));
const child = spawn(browser, ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", `--user-data-dir=${profile}`,
                              "--window-size=1280,1400", "about:blank"],
                    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const waiting = new Map();
const console_errors = [];
let next = 0, read = "";
child.stdio[4].on("data", (data) => {
  read += data;
  const messages = read.split("\0");
  read = messages.pop();
  for (const text of messages) {
    const message = JSON.parse(text);
    if (message.method === "Runtime.exceptionThrown") console_errors.push(message.params.exceptionDetails.text);
    if (message.method === "Log.entryAdded" && message.params.entry.level === "error") console_errors.push(message.params.entry.text);
    if (!waiting.has(message.id)) continue;
    const { resolve, reject } = waiting.get(message.id);
    waiting.delete(message.id);
    message.error ? reject(new Error(message.error.message)) : resolve(message.result);
  }
});
const send = (method, params = {}, sessionId = undefined) => new Promise((resolve, reject) => {
  const id = ++next;
  waiting.set(id, { resolve, reject });
  child.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
});
function end(code, said) {
  if (said) console.error(said);
  child.kill();
  child.on("exit", () => {
    fs.rmSync(profile, { recursive: true, force: true });
    process.exit(code);
  });
}
function expect(holds, said) {
  if (!holds) throw new Error(said);
}
const byCommand = (...words) => JSON.parse(execFileSync(hexaplan, [...words, "--json", "--quiet"], { stdio: ["ignore", "pipe", "ignore"] }));

async function main() {
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  const call = (method, params) => send(method, params, sessionId);
  for (const domain of ["Page", "Runtime", "Log"]) await call(`${domain}.enable`);
  const evaluate = async (expression) => {
    const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception ? exceptionDetails.exception.description : exceptionDetails.text);
    return result.value;
  };
  const until = async (expression, what) => {
    for (let i = 0; i < 600; ++i) {
      if (await evaluate(expression)) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(`${what} did not come; the page says: ${await evaluate("document.body.innerText.slice(0, 400)")}`);
  };
  const type = async (id, text) => {
    await evaluate(`{ const input = document.getElementById(${JSON.stringify(id)}); input.focus(); input.select && input.select(); }`);
    await call("Input.insertText", { text });
  };
  /// No part is wider than a phone, in light and dark; and no rule of axe-core is broken, where its axe.min.js is at hand ($AXE).
  const readable = async (what) => {
    await evaluate("document.querySelectorAll('details').forEach((unfolds) => { unfolds.open = true; })");
    if (process.env.AXE) await evaluate(fs.readFileSync(process.env.AXE, "utf8"));
    for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"], [390, "dark"]]) {
      await call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
      await call("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: width < 500 });
      const wide = await evaluate("document.documentElement.scrollWidth");
      expect(wide <= width, `${what} is ${wide} pixels wide on a screen of ${width}`);
      if (!process.env.AXE) continue;
      const broken = await evaluate("axe.run().then(({ violations }) => violations.map(({ help, nodes }) => `${help}: ${nodes[0].html}`).join('; '))");
      expect(broken === "", `${what} at ${width} pixels, ${scheme}, breaks rules of axe-core: ${broken}`);
    }
    await call("Emulation.clearDeviceMetricsOverride", {});
  };
  const step = "shown && shown.json.time && shown.json.time.step_seconds";

  const begin = Date.now();
  await call("Page.navigate", { url: `file://${page}` });
  await until("typeof shown !== 'undefined' && shown !== null", "the first answer");
  const first = Date.now() - begin;
  const asked = ["estimate", "--model", "llama-3.1-8b", "--cluster", "16xH100", "--layout", "tp2 sp zero1"];
  expect((await evaluate(step)) === byCommand(...asked).time.step_seconds, "the first step time is not the command's");
  for (const id of ["summary", "memory", "ledger", "time", "inputs", "evidence", "formulas"])
    expect(await evaluate(`document.getElementById("${id}").textContent.length > 20`), `nothing is shown under ${id}`);

  await evaluate("document.getElementById('pin').click()");
  await until("document.getElementById('comparison').innerText.includes('All inputs are the same')", "the comparison");
  await type("dtp", "4");
  await until("shown.question.options['--layout'].includes('tp4')", "the answer to what was typed");
  const batch = await evaluate("document.getElementById('o--global-batch').value");  // of the pinned plan
  const typed = byCommand(...asked.slice(0, -1), "tp4 sp zero1", "--global-batch", batch);
  expect((await evaluate(step)) === typed.time.step_seconds, "the step time after typing is not the command's");
  await until("/layout/.test(document.getElementById('comparison').innerText)", "the input that differs");
  expect(!(await evaluate("document.getElementById('comparison').innerText.includes('global batch')")), "pinned plans are compared on different batches");

  await evaluate("document.getElementById('recipe').open = true");
  await type("o--global-batch", "nonsense");
  await until("document.getElementById('message').innerText.includes('--global-batch')", "the reason against nonsense");
  await type("o--global-batch", "64");
  await until("document.getElementById('message').innerText === ''", "the answer after the nonsense");

  await evaluate("document.getElementById('simulate').click()");
  await until("document.querySelectorAll('#timeline svg').length === 2", "the timeline");
  await evaluate("document.getElementById('search').click()");
  await until("found !== null && document.querySelector('#plans table')", "the plans");
  const found = byCommand("search", "--model", "llama-3.1-8b", "--cluster", "16xH100", "--global-batch", "64");
  expect((await evaluate("found.plans[0].price.step_seconds")) === found.plans[0].price.step_seconds, "the best plan is not the command's");
  expect((await evaluate("document.getElementById('stale').innerText")) === "", "fresh plans are called stale");
  await type("o--seq", "2048");
  await until("document.getElementById('stale').innerText !== ''", "the word that the plans are stale");

  const word = await evaluate("shareWord(shown.request)");
  await evaluate("document.getElementById('reset').click()");
  await until("document.getElementById('o--model').value === ''", "the empty form");
  await evaluate(`take(${JSON.stringify(word)}, "link")`);
  await until("document.getElementById('o--seq').value === '2048' && document.getElementById('dtp').value === '4'", "the shared question");
  await evaluate("document.getElementById('limits').open = true");
  await type("s--sweep", "seq=2048,4096");
  await evaluate("document.getElementById('search').click()");
  await until("document.querySelectorAll('#plans .picture svg .loads').length > 0", "the heat maps");
  const swept = byCommand("search", "--model", "llama-3.1-8b", "--cluster", "16xH100", "--global-batch", "64", "--sweep", "seq=2048,4096");
  expect((await evaluate("JSON.stringify(found.plans.map((plan) => plan.price.step_seconds))")) ===
         JSON.stringify(swept.cells.map((cell) => cell.plan.price.step_seconds)), "the sweep is not the command's");
  await evaluate("document.querySelectorAll('#plans .picture svg')[0].querySelectorAll('.loads')[1].dispatchEvent(new MouseEvent('click'))");
  await until("document.getElementById('o--seq').value === '4096'", "the plan of the cell");

  await evaluate("take('</script><b>no</b>', 'text')");
  await until("document.getElementById('message').innerText !== ''", "the reason against markup");
  expect(!(await evaluate("document.querySelector('#message b')")), "what was pasted became markup");
  expect(console_errors.length === 0, `the browser says: ${console_errors.join("; ")}`);

  await readable("the page");

  if (picture) {
    await evaluate("take(" + JSON.stringify(word) + ", 'link')");
    const { data } = await call("Page.captureScreenshot", { format: "png" });
    fs.writeFileSync(picture, Buffer.from(data, "base64"));
  }
  const report = path.join(profile, "report.html");
  execFileSync(hexaplan, ["report", "--model", "llama-3.1-70b", "--cluster", "64xH100", "--search", "--html", report, "tp8 pp4 sp zero1", "tp4 pp4 sp zero1"],
               { stdio: "ignore" });
  await call("Page.navigate", { url: `file://${report}` });
  await until("document.readyState === 'complete' && document.querySelectorAll('svg').length > 3", "the report");
  await readable("the report");
  console.log(`the page works in the browser; first answer after ${first} ms${process.env.AXE ? "" : "; no axe-core: its rules were not checked"}`);
}
main().then(() => end(0), (error) => end(1, error.message));
setTimeout(() => end(1, "the browser took more than four minutes"), 240000).unref();
