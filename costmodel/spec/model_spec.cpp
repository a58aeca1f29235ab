#include "costmodel/spec/model_spec.h"

#include <algorithm>

namespace hexaplan::costmodel {

LayerClass class_of_layer(const ModelSpec& model, std::int64_t layer) {
  const MoeSpec& moe = model.moe;
  const bool listed_dense =
      std::find(moe.dense_layers.begin(), moe.dense_layers.end(), layer) != moe.dense_layers.end();
  const bool is_moe = model.is_moe() && layer >= moe.first_k_dense && (layer + 1) % std::max<std::int64_t>(1, moe.period) == 0 &&
                      !listed_dense;
  const AttentionSpec& attention = model.attention;
  const bool global = attention.global_period > 0 && (layer + 1) % attention.global_period == 0;
  return {.moe = is_moe, .windowed = attention.window > 0 && !global};
}

}  // namespace hexaplan::costmodel
