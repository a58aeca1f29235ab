#include "costmodel/program/passes/passes.h"

namespace hexaplan::costmodel::program {

Program share_gather_buffers(Program p, const Techniques& /*techniques*/) {
  for (const Op& op : p.ops) {
    if (op.kind == Kind::AllGather && op.group == Group::Tensor) p.of(op.writes[0]).storage = Storage::Shared;
  }
  return p;
}

}  // namespace hexaplan::costmodel::program
