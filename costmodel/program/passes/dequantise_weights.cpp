#include <utility>

#include "costmodel/program/passes/passes.h"

namespace hexaplan::costmodel::program {

/// The wide weight is the last operand of its product, or of what measures its rows, and nobody else's.
/// Adapters' matrices are wide.
Program dequantise_weights(Program p, const Techniques& /*techniques*/) {
  for (Op op : std::exchange(p.ops, {})) {
    const bool multiplies = op.kind == Kind::Matmul || op.kind == Kind::MatmulData;
    const bool frozen = multiplies && p.weights[position(op.weight)].adapter == AdapterSide::None;
    if (frozen || op.kind == Kind::RowNorms) {
      const Weight& w = p.weights[position(op.weight)];
      const ValueId wide =
          p.add({.tensor = Tensor::WideWeight, .shape = {Rows::One, w.out, Type::Activation, w.in}});
      p.ops.push_back({.site = op.site,
                       .kind = Kind::Dequantise,
                       .writes = {wide},
                       .weight = op.weight,
                       .phase = op.phase,
                       .pass = op.pass,
                       .recomputed = op.recomputed});
      op.reads.push_back(wide);
    }
    p.ops.push_back(op);
  }
  return p;
}

}  // namespace hexaplan::costmodel::program
