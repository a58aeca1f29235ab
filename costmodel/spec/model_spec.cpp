#include "costmodel/spec/model_spec.h"

#include <algorithm>
#include <cassert>

#include "costmodel/units/ceil_div.h"

namespace hexaplan::costmodel {

namespace {

bool listed(const std::vector<int>& layers, std::int64_t layer) {
  return std::find(layers.begin(), layers.end(), layer) != layers.end();
}
bool last_of_period(std::int64_t layer, std::int64_t period) {
  return (layer + 1) % period == 0;
}

}  // namespace

LayerClass layer_class_at(const ModelSpec& model, int index) {
  if (index != kMtpClass) return own_class_at(index);
  if (model.single_branches) return {.moe = model.is_moe(), .mtp = true};
  LayerClass kind = class_of_layer(model, model.layers - 1);
  kind.mtp = true;
  return kind;
}

LayerClass class_of_layer(const ModelSpec& model, std::int64_t layer) {
  if (layer >= model.layers) return layer_class_at(model, kMtpClass);
  const MoeSpec& moe = model.moe;
  const bool mlp_alone = model.single_branches && listed(model.mlp_layers, layer);
  const bool with_mlp = mlp_alone || !model.single_branches;
  const bool is_moe = with_mlp && model.is_moe() && layer >= moe.first_k_dense &&
                      last_of_period(layer, std::max<std::int64_t>(1, moe.period)) &&
                      !listed(moe.dense_layers, layer);
  const Branches branches = mlp_alone ? Branches::Mlp : with_mlp ? Branches::MixerAndMlp : Branches::Mixer;
  const RecurrentSpec& r = model.recurrent;
  const bool attends_instead = (r.attention_period > 0 && last_of_period(layer, r.attention_period)) ||
                               listed(r.attention_layers, layer);
  const bool recurrent = model.is_recurrent() && !mlp_alone && !attends_instead;
  if (recurrent || branches != Branches::MixerAndMlp)
    return {.moe = is_moe, .recurrent = recurrent, .branches = branches};
  const AttentionSpec& attention = model.attention;
  const bool global = (attention.global_period > 0 && last_of_period(layer, attention.global_period)) ||
                      listed(attention.global_layers, layer);
  const bool unrotated =
      (attention.unrotated_period > 0 && last_of_period(layer, attention.unrotated_period)) ||
      listed(attention.unrotated_layers, layer);
  return {.moe = is_moe,
          .windowed = attention.window > 0 && !global,
          .unrotated = unrotated && model.positions == PositionKind::Rotary};
}

LayersByClass layers_by_class(const ModelSpec& model, std::int64_t first, std::int64_t count) {
  LayersByClass layers{};
  const AttentionSpec& attention = model.attention;
  const bool rotated = attention.unrotated_period == 0 && attention.unrotated_layers.empty();
  const bool uniform = !model.is_recurrent() && !model.single_branches;
  const MoeSpec& moe = model.moe;
  const bool dense_first = !model.is_moe() || (moe.period <= 1 && moe.dense_layers.empty());
  if (uniform && dense_first && attention.window == 0 && rotated && first + count <= model.layers) {
    const std::int64_t dense =
        model.is_moe() ? std::clamp<std::int64_t>(moe.first_k_dense - first, 0, count) : count;
    layers[static_cast<std::size_t>(index_of({}))] = static_cast<int>(dense);
    layers[static_cast<std::size_t>(index_of({.moe = true}))] += static_cast<int>(count - dense);
    return layers;
  }
  for (std::int64_t layer = first; layer < first + count; ++layer)
    ++layers[static_cast<std::size_t>(index_of(class_of_layer(model, layer)))];
  return layers;
}

bool has_attention(const ModelSpec& model) {
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    if (class_attends(model, class_of_layer(model, layer))) return true;
  }
  return false;
}

ModelSpec with_value_head(ModelSpec model) {
  model.outputs = 1;
  model.tied_embeddings = false;
  model.mtp_layers = 0;
  return model;
}

std::int64_t padded_vocab(std::int64_t vocab, std::int64_t multiple, int tp) {
  assert(vocab >= 0 && multiple >= 1 && tp >= 1);
  const std::int64_t unit = multiple * tp;
  return ceil_div(vocab, unit) * unit;
}

}  // namespace hexaplan::costmodel
