#include "validator/executor/device/operation_forms.h"

namespace hexaplan::validator {
namespace {

ActivationKind activation_kind(const costmodel::MlpSpec& mlp) {
  if (mlp.clamp > 0) return ActivationKind::GeluQuick;
  switch (mlp.activation) {
    case costmodel::Activation::Silu:
      return ActivationKind::Silu;
    case costmodel::Activation::Relu:
      return ActivationKind::Relu;
    case costmodel::Activation::ReluSquared:
      return ActivationKind::ReluSquared;
    case costmodel::Activation::Gelu:
    case costmodel::Activation::Xielu:  // refused: its parameters have no operation
      break;
  }
  switch (mlp.gelu) {
    case costmodel::GeluForm::Tanh:
      return ActivationKind::GeluTanh;
    case costmodel::GeluForm::Quick:
      return ActivationKind::GeluQuick;
    case costmodel::GeluForm::Exact:
      break;
  }
  return ActivationKind::GeluExact;
}

}  // namespace

NormForm norm_form(const costmodel::ModelSpec& model) {
  return {.kind = model.norm, .epsilon = model.norm_epsilon, .zero_centered = model.zero_centered_norm};
}

ActivationForm activation_form(const costmodel::MlpSpec& mlp) {
  return {.kind = activation_kind(mlp), .gated = mlp.gated, .clamp = mlp.clamp};
}

RouterForm router_form(const costmodel::MoeSpec& moe, bool given) {
  // Sums of sigmoids may be close to zero (deepseek-ai/DeepSeek-V3 modeling_deepseek.py, MoEGate).
  constexpr double kSigmoidEpsilon = 1e-20;
  const bool sigmoid = moe.score == costmodel::RouterScore::Sigmoid;
  return {.score = moe.score,
          .given = given,
          .renormalise = moe.renormalise,
          .epsilon = sigmoid ? kSigmoidEpsilon : 0,
          .factor = moe.weight_factor,
          .groups = moe.groups,
          .top_groups = moe.top_groups,
          .best_of_group = moe.router_correction ? 2 : 1};
}

}  // namespace hexaplan::validator
