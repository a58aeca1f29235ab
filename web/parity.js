// node parity.js CORE.js HEXAPLAN: asks the core of the page and the command the same questions; they must answer alike, to
// twelve digits (the libraries' exp and log may differ in the last ones). Exit code 1 with the first difference.
"use strict";
const { execFileSync } = require("child_process");
const [corePath, hexaplan] = process.argv.slice(2);

const kModels = ["llama-3.1-8b", "llama-3.1-70b", "mixtral-8x7b", "qwen3-235b-a22b", "deepseek-v3", "gpt2"];
const kClusters = ["8xH100", "64xH100", "256xA100-80GB", "1024xB200"];
const kLayouts = ["", "tp8 pp2 sp zero1", "tp2 cp2 zero3", "tp4 pp4 vpp2 interleaved ep2", "tp8 ep3"];
const kMore = [
  { "--model": "llama-3.1-405b", "--cluster": "16384xH100", "--layout": "tp8 pp16 vpp4 interleaved sp", "--seq": "8k", "--global-batch": "2048" },
  { "--model": "llama-3.1-8b", "--cluster": "8xH100", "--framework": "fsdp2", "--layout": "zero3", "--recompute": "full", "--tokens": "15T" },
  { "--model": "llama-3.1-8b", "--cluster": "16xH200", "--layout": "tp2 pp4 zb-v", "--precision": "fp8" },
  { "--model": "layers=8 hidden=512 heads=8 ffn=1376 vocab=32000", "--cluster": "8xH100", "--fine-tune": "lora" },
  { "--model": "no-such-model", "--cluster": "8xH100" },
  { "--model": "gpt2", "--cluster": "8xH100", "--seq": "abc" },
];
const estimates = [];
for (const model of kModels)
  for (const [i, cluster] of kClusters.entries())
    for (const [j, layout] of kLayouts.entries())
      if ((i + j + model.length) % 2 === 0) estimates.push({ "--model": model, "--cluster": cluster, ...(layout && { "--layout": layout }) });
estimates.push(...kMore);
const searches = [
  { "--model": "llama-3.1-8b", "--cluster": "16xH100", "--top": "5" },
  { "--model": "mixtral-8x7b", "--cluster": "32xH100", "--max-risk": "1%", "--tp": "1,2,4", "--top": "3" },
  { "--model": "llama-3.1-8b", "--cluster": "16xH100", "--sweep": "seq=2k,4k,gpus=8,16" },
];

function byCommand(command, options) {
  try {
    const out = execFileSync(hexaplan, [command, "--json", ...Object.entries(options).flat()], { stdio: ["ignore", "pipe", "pipe"] });
    return JSON.parse(out);
  } catch (error) {
    if (error.status === 3) return JSON.parse(error.stdout);
    return { error: String(error.stderr).replace(/^hexaplan: /, "").trim() };
  }
}
/** The first place where two answers differ; empty: nowhere. */
function difference(a, b, at = "") {
  if (typeof a === "number" && typeof b === "number")
    return a === b || Math.abs(a - b) <= 1e-12 * Math.max(Math.abs(a), Math.abs(b)) ? "" : `${at}: ${a} and ${b}`;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object")
    return a === b ? "" : `${at}: ${JSON.stringify(a)} and ${JSON.stringify(b)}`;
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const found = difference(a[key] === undefined ? null : a[key], b[key] === undefined ? null : b[key], `${at}/${key}`);
    if (found) return found;
  }
  return "";
}

require(corePath)().then((core) => {
  const ask = (command, options) => {
    const at = core.ccall("hexaplan_answer", "number", ["string"], [JSON.stringify({ command, options })]);
    const answer = JSON.parse(core.UTF8ToString(at));
    core._free(at);
    return answer.error ? answer : answer.json;
  };
  let asked = 0;
  const compare = (command, options, drop) => {
    const a = byCommand(command, options), b = ask(command, options);
    for (const key of drop) for (const answer of [a, b]) delete answer[key];
    const found = difference(a, b);
    if (found) {
      console.error(`${command} ${JSON.stringify(options)}\n  the command and the page differ at ${found}`);
      process.exit(1);
    }
    ++asked;
  };
  for (const options of estimates) compare("estimate", options, []);
  for (const options of searches) compare("search", options, ["elapsed_seconds", "search"]);
  console.log(`${asked} questions: the page answers as the command does`);
});
