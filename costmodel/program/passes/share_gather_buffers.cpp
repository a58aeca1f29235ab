#include "costmodel/program/lifetimes.h"
#include "costmodel/program/passes/passes.h"

namespace hexaplan::costmodel::program {

/// The next layer's gather overwrites the buffer: what backward reads of a forward pass has one of its own.
Program share_gather_buffers(Program p, const Techniques& /*techniques*/) {
  const Lifetimes lives{p};
  for (const Op& op : p.ops) {
    if (op.kind != Kind::AllGather || op.group != Group::Tensor) continue;
    const ValueId gathered = op.writes[0];
    if (op.phase == Phase::Forward && lives.outlives_forward(lives.buffer(gathered))) continue;
    p.of(gathered).storage = Storage::Shared;
  }
  return p;
}

}  // namespace hexaplan::costmodel::program
