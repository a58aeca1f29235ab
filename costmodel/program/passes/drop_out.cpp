#include <utility>

#include "costmodel/program/passes/passes.h"

namespace hexaplan::costmodel::program {

/// In place of what it drops from: the sum with the residual stream reads nothing else.
Program drop_out(Program p, const Techniques& /*techniques*/) {
  for (Op op : std::exchange(p.ops, {})) {
    const bool residual = op.site == Site::AttentionResidual || op.site == Site::MlpResidual;
    if (residual && op.kind == Kind::Add) {
      const ValueId branch = op.reads[0], left = p.like(branch, Role::Itself);
      Shape mask = p.of(branch).shape;
      mask.type = Type::Byte;
      const ValueId kept = p.add({.tensor = Tensor::ResidualDropout, .shape = mask});
      p.ops.push_back({.site = op.site,
                       .kind = Kind::Dropout,
                       .reads = {branch},
                       .writes = {left, kept},
                       .in_place = row_of(Kind::Dropout).in_place});
      op.reads[0] = left;
    }
    p.ops.push_back(op);
  }
  return p;
}

}  // namespace hexaplan::costmodel::program
