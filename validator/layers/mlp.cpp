#include "validator/layers/mlp.h"

#include <utility>

#include "validator/parallel/tensor.h"

namespace hexaplan::validator {
namespace {

using costmodel::Pass;
using costmodel::TensorKind;

constexpr std::string_view kGateUp = "mlp.gate_up.weight";
constexpr std::string_view kDown = "mlp.down.weight";

}  // namespace

void mlp_forward_to_activation(const Rank& rank, const Unit& unit, const View& normed, const Keeping& keep,
                               MlpSaved& saved) {
  {
    const MaybeOwned x = enter_tensor_parallel(rank, "mlp.enter_tp", Pass::Forward, normed);
    saved.gate_up = rank.device.allocate(keep.label("mlp.gate_up"), rank.dims.tokens, rank.dims.mlp_up);
    linear_forward(rank, "mlp.up", x, unit.weight(kGateUp), saved.gate_up);
  }
  saved.activation = rank.device.allocate(keep.label("mlp.activation"), rank.dims.tokens, rank.dims.mlp_act);
  rank.device.swiglu(saved.gate_up, saved.activation);
}

Tensor mlp_forward_from_activation(const Rank& rank, const Unit& unit, const MlpSaved& saved,
                                   const TensorLabel& result) {
  Tensor partial = partial_output(rank, result);
  linear_forward(rank, "mlp.down", saved.activation, unit.weight(kDown), partial);
  return leave_tensor_parallel(rank, "mlp.leave_tp", Pass::Forward, std::move(partial), result);
}

Tensor mlp_backward(Rank& rank, const Unit& unit, Tensor normed, MlpSaved saved, const View& d,
                    WeightGradients& weights) {
  MaybeOwned dy = enter_tensor_parallel(rank, "mlp.leave_tp", Pass::BackwardData, d);
  Tensor d_activation = rank.transient("mlp.activation.gradient", rank.dims.tokens, rank.dims.mlp_act);
  linear_backward_data(rank, "mlp.down", dy, unit.weight(kDown), d_activation);
  weights.linear(rank, "mlp.down", "", std::move(saved.activation), std::move(dy), unit.gradient(kDown));

  Tensor d_gate_up = rank.transient("mlp.gate_up.gradient", rank.dims.tokens, rank.dims.mlp_up);
  rank.device.swiglu_backward(d_activation, saved.gate_up, d_gate_up);
  d_activation.free();
  saved.gate_up.free();

  const TensorLabel label{"norm.output.gradient", TensorKind::Transient, rank.activation};
  Tensor partial = partial_output(rank, label);
  linear_backward_data(rank, "mlp.up", d_gate_up, unit.weight(kGateUp), partial);
  Tensor d_normed =
      leave_tensor_parallel(rank, "mlp.enter_tp", Pass::BackwardData, std::move(partial), label);
  weights.linear(rank, "mlp.up", "mlp.enter_tp", std::move(normed), std::move(d_gate_up),
                 unit.gradient(kGateUp));
  return d_normed;
}

}  // namespace hexaplan::validator
