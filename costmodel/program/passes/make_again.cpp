#include <algorithm>
#include <utility>

#include "costmodel/program/passes/passes.h"

namespace hexaplan::costmodel::program {
namespace {

using OpOffset = std::vector<Op>::difference_type;

/// The answer to a scan writes what left its gate once more; weight gradients that read it stand behind.
void write_gate_again(Program& p, std::size_t answer, ValueId gated) {
  const ValueId again = p.like(gated, Role::Itself);
  p.ops[answer].writes.push_back(again);
  const auto reads_it = [&](const Op& op) { return op.phase != Phase::Forward && op.reads.contains(gated); };
  std::vector<Op> moved;
  for (Op& op : p.ops) {
    if (!reads_it(op)) continue;
    std::replace(op.reads.begin(), op.reads.end(), gated, again);
    moved.push_back(op);
  }
  std::erase_if(p.ops, [&](const Op& op) { return op.phase != Phase::Forward && op.reads.contains(again); });
  const auto wrote = std::ranges::find_if(p.ops, [&](const Op& op) { return op.writes.contains(again); });
  p.ops.insert(wrote + 1, moved.begin(), moved.end());
}

/// Runs `op` once more before its first reader in backward.
void run_again(Program& p, Op op) {
  const auto reads_it = [&](const Op& other) {
    return other.phase != Phase::Forward &&
           std::ranges::any_of(op.writes, [&](ValueId id) { return other.reads.contains(id); });
  };
  const auto first = std::ranges::find_if(p.ops, reads_it);
  if (first == p.ops.end()) return;
  const auto place = first - p.ops.begin();
  op.phase = Phase::Backward;
  op.pass = Pass::BackwardData;
  for (ValueId& id : op.writes) {
    const ValueId again = p.like(id, Role::Itself);
    for (auto later = p.ops.begin() + place; later != p.ops.end(); ++later)
      std::replace(later->reads.begin(), later->reads.end(), id, again);
    id = again;
  }
  p.ops.insert(p.ops.begin() + static_cast<OpOffset>(place), op);
}

}  // namespace

Program make_again(Program p, const Techniques& /*techniques*/) {
  const std::vector<Op> forward = p.ops;
  for (const Op& op : forward) {
    if (op.kind != Kind::SelectiveScan || op.phase != Phase::Forward || !op.made_again) continue;
    const auto answer =
        std::ranges::find_if(p.ops, [](const Op& o) { return o.kind == Kind::SelectiveScanBack; });
    if (answer != p.ops.end())
      write_gate_again(p, static_cast<std::size_t>(answer - p.ops.begin()), op.writes[0]);
  }
  for (auto op = forward.rbegin(); op != forward.rend(); ++op) {
    if (op->phase == Phase::Forward && op->made_again && op->kind != Kind::SelectiveScan) run_again(p, *op);
  }
  return p;
}

}  // namespace hexaplan::costmodel::program
