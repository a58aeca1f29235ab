#pragma once
#include <cstdint>
#include <utility>

#include "costmodel/spec/model_spec.h"
#include "costmodel/spec/recipe.h"

namespace hexaplan::costmodel {

/// The modules that layers of the model have: bits of RecomputeModule.
[[nodiscard]] inline std::uint16_t recompute_modules_of(const ModelSpec& model) {
  const bool dense_layers = model.mlp.ffn > 0 && (!model.is_moe() || model.moe.first_k_dense > 0 ||
                                                  model.moe.period > 1 || !model.moe.dense_layers.empty());
  const std::pair<std::uint16_t, bool> rows[] = {
      {kRecomputeCoreAttention, has_attention(model)},
      {kRecomputeNorm, true},
      {kRecomputeActivation, dense_layers},
      {kRecomputeMlaUpProjection, model.attention.kind == AttentionKind::Latent},
      {kRecomputeMlp, dense_layers},
      {kRecomputeMoe, model.is_moe()},
      {kRecomputeMoeActivation, model.is_moe()},
      {kRecomputeSharedExperts, model.moe.shared_ffn > 0}};
  std::uint16_t modules = 0;
  for (const auto& [module, has] : rows) modules = static_cast<std::uint16_t>(modules | (has ? module : 0));
  return modules;
}

}  // namespace hexaplan::costmodel
