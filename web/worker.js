// Runs the core: a question at a time, JSON in and out.
let core = null;
self.onSearchProgress = (share, priced) => self.postMessage({ share, priced });
hexaplanCore().then((ready) => {
  core = ready;
  self.postMessage({ ready: true });
});
self.onmessage = ({ data }) => {
  const at = core.ccall("hexaplan_answer", "number", ["string"], [JSON.stringify(data.question)]);
  const text = core.UTF8ToString(at);
  core._free(at);
  self.postMessage({ id: data.id, answer: JSON.parse(text) });
};
