#include "validator/executor/layers/mlp.h"

#include <utility>

#include "validator/executor/parallel/tensor.h"

namespace hexaplan::validator {
namespace {

using costmodel::Pass;
using costmodel::TensorKind;

}  // namespace

const MlpPart kDenseMlp{.enter = "mlp.enter_tp",
                        .up = "mlp.up",
                        .down = "mlp.down",
                        .leave = "mlp.leave_tp",
                        .saved_gate_up = "mlp.gate_up",
                        .saved_activation = "mlp.activation",
                        .gate_up_weight = "mlp.gate_up.weight",
                        .down_weight = "mlp.down.weight",
                        .up_width = &costmodel::LocalDims::mlp_up,
                        .activation_width = &costmodel::LocalDims::mlp_act};
const MlpPart kSharedExperts{.enter = "moe.shared.enter_tp",
                             .up = "moe.shared.up",
                             .down = "moe.shared.down",
                             .leave = "moe.shared.leave_tp",
                             .saved_gate_up = "moe.shared.gate_up",
                             .saved_activation = "moe.shared.activation",
                             .gate_up_weight = "moe.shared.gate_up.weight",
                             .down_weight = "moe.shared.down.weight",
                             .up_width = &costmodel::LocalDims::shared_up,
                             .activation_width = &costmodel::LocalDims::shared_act};

void mlp_forward_to_activation(const Rank& rank, const MlpPart& part, const Unit& unit, const View& normed,
                               const Keeping& keep, MlpSaved& saved) {
  {
    const MaybeOwned x = enter_tensor_parallel(rank, part.enter, Pass::Forward, normed);
    saved.gate_up =
        rank.device.allocate(keep.label(part.saved_gate_up), rank.dims.tokens, rank.dims.*part.up_width);
    linear_forward(rank, part.up, x, unit.weight(part.gate_up_weight), saved.gate_up);
  }
  saved.activation = rank.device.allocate(keep.label(part.saved_activation), rank.dims.tokens,
                                          rank.dims.*part.activation_width);
  rank.device.swiglu(saved.gate_up, saved.activation);
}

Tensor mlp_forward_from_activation(const Rank& rank, const MlpPart& part, const Unit& unit,
                                   const MlpSaved& saved, const TensorLabel& result) {
  Tensor partial = partial_output(rank, result);
  linear_forward(rank, part.down, saved.activation, unit.weight(part.down_weight), partial);
  return leave_tensor_parallel(rank, part.leave, Pass::Forward, std::move(partial), result);
}

Tensor mlp_backward(Rank& rank, const MlpPart& part, const Unit& unit, Tensor normed, MlpSaved saved,
                    const View& d, WeightGradients& weights) {
  MaybeOwned dy = enter_tensor_parallel(rank, part.leave, Pass::BackwardData, d);
  Tensor d_activation =
      rank.transient("mlp.activation.gradient", rank.dims.tokens, rank.dims.*part.activation_width);
  linear_backward_data(rank, part.down, dy, unit.weight(part.down_weight), d_activation);
  weights.linear(rank, part.down, "", std::move(saved.activation), std::move(dy),
                 unit.gradient(part.down_weight));

  Tensor d_gate_up = rank.transient("mlp.gate_up.gradient", rank.dims.tokens, rank.dims.*part.up_width);
  rank.device.swiglu_backward(d_activation, saved.gate_up, d_gate_up);
  d_activation.free();
  saved.gate_up.free();

  const TensorLabel label{"norm.output.gradient", TensorKind::Transient, rank.activation};
  Tensor partial = partial_output(rank, label);
  linear_backward_data(rank, part.up, d_gate_up, unit.weight(part.gate_up_weight), partial);
  Tensor d_normed = leave_tensor_parallel(rank, part.enter, Pass::BackwardData, std::move(partial), label);
  weights.linear(rank, part.up, part.enter, std::move(normed), std::move(d_gate_up),
                 unit.gradient(part.gate_up_weight));
  return d_normed;
}

}  // namespace hexaplan::validator
