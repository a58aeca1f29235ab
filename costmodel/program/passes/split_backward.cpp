#include <algorithm>
#include <utility>

#include "costmodel/program/passes/passes.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel::program {
namespace {

/// A router's gradient is small and not put off.
bool can_wait(const Op& op) {
  return op.pass == Pass::BackwardWeight && op.phase == Phase::Backward &&
         (op.site != Site::Router || mutant("router-waits")) &&
         (op.kind == Kind::MatmulWeight ||
          (row_of(op.kind).message.has_value() && !mutant("gathers-are-not-put-off")));
}

}  // namespace

Program split_backward(Program p, const Techniques& /*techniques*/) {
  const std::vector<ValueId> buffers = buffers_of(p);
  const auto overwritten_from = [&](std::size_t begin, ValueId id) {
    return std::any_of(p.ops.begin() + static_cast<std::vector<Op>::difference_type>(begin), p.ops.end(),
                       [&](const Op& op) {
                         return op.in_place > 0 && buffers[position(op.writes[0])] == buffers[position(id)];
                       });
  };
  std::vector<Op> now, later;
  for (std::size_t i = 0; i < p.ops.size(); ++i) {
    Op op = p.ops[i];
    if (!can_wait(op)) {
      now.push_back(op);
      continue;
    }
    // A gradient that backward goes on to change is copied where the weight gradient stood.
    if (!mutant("late-wgrad-reads-what-is-overwritten") && op.kind == Kind::MatmulWeight &&
        overwritten_from(i, op.reads[1])) {
      const ValueId copy = p.like(op.reads[1], Role::Copy);
      now.push_back({.site = op.site,
                     .kind = Kind::Copy,
                     .reads = {op.reads[1]},
                     .writes = {copy},
                     .phase = Phase::Backward,
                     .pass = Pass::BackwardData});
      op.reads[1] = copy;
    }
    op.phase = Phase::Later;
    later.push_back(op);
  }
  now.insert(now.end(), later.begin(), later.end());
  p.ops = std::move(now);
  return p;
}

}  // namespace hexaplan::costmodel::program
