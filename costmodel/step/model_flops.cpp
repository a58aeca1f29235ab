#include "costmodel/step/model_flops.h"

#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/spec/scan_flops.h"
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
  const AttentionSpec& a = model.attention;
  auto layers = layers_by_class(model, 0, model.layers);
  layers[kMtpClass] = modules;
  for (int c = 0; c < kLayerClasses; ++c) {
    const int count = layers[static_cast<std::size_t>(c)];
    if (count == 0) continue;
    const LayerClass kind = layer_class_at(model, c);
    double layer = s * layer_multiply_adds(model, kind);
    if (class_attends(model, kind))
      layer += pairs(model, sc.recipe, kind, attention) *
               static_cast<double>(a.heads * (a.head_dim + a.v_head_dim));
    if (kind.recurrent)
      layer += s * scan_flops(model.recurrent, model.recurrent.heads, model.recurrent.groups).forward / 2;
    per_sequence += count * layer;
  }
  const double passes = trains_adapters(sc.recipe) ? 2 : 3;
  // Adapters leave out weight gradients, but for that of an output layer that trains beside them.
  const bool head = trains_adapters(sc.recipe) && trains_head(sc.recipe);
  const double of_head = head ? s * static_cast<double>(outputs * model.hidden) : 0;
  return Flops{2 * (passes * per_sequence + of_head) * static_cast<double>(sc.recipe.global_batch)};
}

}  // namespace hexaplan::costmodel
