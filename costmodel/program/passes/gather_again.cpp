#include <utility>

#include "costmodel/program/passes/passes.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel::program {

namespace {

/// The gather behind the input of a weight gradient, or nothing.
const Op* gather_of(const Program& p, const Op& op) {
  if (op.kind != Kind::MatmulWeight || op.by_chunk) return nullptr;
  const Op* made = producer(p, op.reads[0]);
  const bool gathered = made != nullptr && made->kind == Kind::AllGather && made->phase == Phase::Forward &&
                        !mutant("inputs-are-not-gathered-again");
  return gathered ? made : nullptr;
}

Op once_more(Op gather, const Op& reader, ValueId result) {
  gather.phase = reader.phase;
  gather.pass = Pass::BackwardWeight;
  gather.writes = {result};
  return gather;
}

}  // namespace

Program gather_inputs_again(Program p, const Techniques& /*techniques*/) {
  std::vector<ValueId> again(p.values.size(), kNone);  // weight gradients of one input share the message
  std::vector<Op> out;
  for (Op op : p.ops) {
    if (const Op* gather = gather_of(p, op)) {
      ValueId& copy = again[position(op.reads[0])];
      const bool first = copy == kNone;
      if (first) copy = p.like(op.reads[0], Role::Whole);
      if (first) out.push_back(once_more(*gather, op, copy));
      op.reads[0] = copy;
    }
    out.push_back(op);
  }
  p.ops = std::move(out);
  return p;
}

}  // namespace hexaplan::costmodel::program
