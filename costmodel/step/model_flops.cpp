#include "costmodel/step/model_flops.h"

#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::costmodel {
namespace {

/// Multiply-adds per token in the matrices of one layer; of the experts only the top-k and shared ones.
double layer_multiply_adds(const ModelSpec& model, LayerClass kind) {
  std::vector<ParameterTensor> tensors;
  tensors.reserve(kMaxLayerTensors);
  append_layer_parameters(model, kind, tensors);
  double sum = 0;
  for (const ParameterTensor& tensor : tensors) {
    if (!tensor.matrix) continue;
    const auto elements = static_cast<double>(tensor.rows * tensor.cols);
    sum += is_expert(tensor) && tensor.count > 1 ? elements * static_cast<double>(model.moe.top_k)
                                                 : elements * static_cast<double>(tensor.count);
  }
  return sum;
}

/// Query-key pairs per sequence.
double pairs(const ModelSpec& model, const Recipe& recipe, LayerClass kind, AttentionFlops attention) {
  const auto s = static_cast<double>(recipe.sequence);
  const auto w = static_cast<double>(model.attention.window);
  if (kind.windowed && w < s) {
    const double causal = model.attention.chunked ? s - w / 2 - (s - w) / 2 : s - w / 2;
    return w * (attention == AttentionFlops::Full ? s : causal);
  }
  return attention == AttentionFlops::Full ? s * s : s * s / 2;
}

}  // namespace

Flops model_flops_per_step(const Scenario& sc, AttentionFlops attention) {
  const ModelSpec& model = sc.model;
  const auto s = static_cast<double>(sc.recipe.sequence);
  // Output layer, also of every multi-token-prediction module.
  const int modules = mtp_modules(sc);
  const std::int64_t outputs = model.outputs > 0 ? model.outputs : model.vocab;
  double per_sequence = s * static_cast<double>(outputs * model.hidden) * (1 + modules);
  double layer[kLayerClasses] = {};
  for (std::int64_t i = 0; i < model.layers + modules; ++i) {
    const LayerClass kind = i < model.layers ? class_of_layer(model, i) : layer_class_at(model, kMtpClass);
    double& cost = layer[index_of(kind)];
    if (cost == 0) {
      const AttentionSpec& a = model.attention;
      cost = s * layer_multiply_adds(model, kind) +
             pairs(model, sc.recipe, kind, attention) *
                 static_cast<double>(a.heads * (a.head_dim + a.v_head_dim));
    }
    per_sequence += cost;
  }
  const double passes = trains_adapters(sc.recipe) ? 2 : 3;
  return Flops{2 * passes * per_sequence * static_cast<double>(sc.recipe.global_batch)};
}

}  // namespace hexaplan::costmodel
