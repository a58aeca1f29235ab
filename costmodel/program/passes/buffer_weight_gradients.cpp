#include "costmodel/program/passes/passes.h"

namespace hexaplan::costmodel::program {

Program buffer_weight_gradients(Program p, const Techniques& /*techniques*/) {
  for (Op& op : p.ops) {
    if (op.kind != Kind::MatmulWeight) continue;
    const Weight& w = p.weights[position(op.weight)];
    const bool grouped = p.of(op.reads[0]).shape.rows == Rows::ExpertRows;
    const Shape shape{grouped ? Rows::LocalExperts : Rows::One, w.out, Type::Activation, w.in};
    op.writes.push_back(p.add({.tensor = Tensor::WeightGradient, .shape = shape, .role = Role::Workspace}));
  }
  return p;
}

}  // namespace hexaplan::costmodel::program
