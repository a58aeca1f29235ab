#include <utility>

#include "costmodel/program/passes/passes.h"

namespace hexaplan::costmodel::program {
namespace {

/// What has as many columns as the rank has words, or one row per token of the loss.
bool is_of_loss(Site site) {
  return site == Site::Logits || site == Site::HeadBias || site == Site::LogitScale ||
         site == Site::LogitCap || site == Site::Loss || site == Site::LossReduce;
}

/// A message per chunk, of its tokens.
void cut_message(const Program& p, Op& op) {
  Shape payload = payload_of(p, op);
  payload.rows = Rows::LossShare;
  op.payload = payload;
  op.times = static_cast<std::int16_t>(op.times * p.chunks);
}

/// By value: whether anything outside the chunks reads or makes it, for all tokens.
std::vector<bool> whole_values(const Program& p) {
  std::vector<bool> whole(p.values.size(), false);
  for (const ValueId end : {p.input, p.d_input}) whole[position(end)] = true;
  for (const Op& op : p.ops) {
    if (op.by_chunk) continue;
    for (const ValueId id : op.reads) whole[position(id)] = true;
    for (const ValueId id : op.writes) whole[position(id)] = true;
  }
  return whole;
}

void cut_results(Program& p, const Op& op, const std::vector<bool>& whole) {
  for (const ValueId id : op.writes) {
    Value& value = p.of(id);
    if (!whole[position(id)]) {
      value.shape.rows = Rows::LossChunk;
    } else if (!value.kind) {  // the gradient of the output layer's input, of which a chunk has its rows
      value.kind = TensorKind::Transient;
    }
  }
}

}  // namespace

/// What backward does with a chunk follows its loss at once: between the passes nothing of it is kept but the
/// gradient of the output layer's input.
Program chunk_loss(Program p, const Techniques& t) {
  p.chunks = t.loss_chunks;
  std::vector<Op> before, chunk, behind;
  for (Op& op : std::exchange(p.ops, {})) {
    op.by_chunk = is_of_loss(op.site);
    if (op.by_chunk && row_of(op.kind).message) cut_message(p, op);
    if (op.by_chunk) op.phase = Phase::Forward;
    (op.by_chunk ? chunk : op.phase == Phase::Forward ? before : behind).push_back(op);
  }
  p.ops = std::move(before);
  for (const std::vector<Op>* part : {&chunk, &behind}) p.ops.insert(p.ops.end(), part->begin(), part->end());
  const std::vector<bool> whole = whole_values(p);
  for (const Op& op : chunk) cut_results(p, op, whole);
  return p;
}

}  // namespace hexaplan::costmodel::program
