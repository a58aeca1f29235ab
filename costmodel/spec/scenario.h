#pragma once
#include "costmodel/spec/cluster_spec.h"
#include "costmodel/spec/framework_profile.h"
#include "costmodel/spec/layout.h"
#include "costmodel/spec/model_spec.h"
#include "costmodel/spec/recipe.h"

namespace hexaplan::costmodel {

/// One question: this model, trained so, on these machines, cut this way, by this framework.
struct Scenario {
  ModelSpec model;
  Recipe recipe;
  ClusterSpec cluster;
  Layout layout;
  FrameworkProfile framework;
};

/// Micro-batches per optimizer step and data-parallel rank. Precondition: the rules accepted the scenario, so
/// that the division is exact.
[[nodiscard]] constexpr std::int64_t microbatches_per_step(const Scenario& scenario) {
  return scenario.recipe.global_batch / (scenario.recipe.micro_batch * scenario.layout.batch_ranks());
}

/// Rank of the adapters that LoRA and QLoRA train: the recipe's, else the framework's usual one. 0 when the
/// recipe trains none, or says their parameters instead.
[[nodiscard]] constexpr std::int64_t adapter_rank(const Scenario& scenario) {
  const Recipe& recipe = scenario.recipe;
  if (!trains_low_rank(recipe) || recipe.trainable_parameters > 0) return 0;
  return recipe.lora_rank > 0 ? recipe.lora_rank : scenario.framework.adapter_rank;
}

/// Whose fused attention runs where scores are not stored.
[[nodiscard]] constexpr AttentionLibrary attention_library(const Scenario& scenario) {
  return scenario.recipe.attention == AttentionKernel::FlashAttention2 ? AttentionLibrary::FlashAttention2
                                                                       : scenario.framework.attention_library;
}

/// True when the loss is one kernel over the logits (or over chunks of them).
[[nodiscard]] constexpr bool fuses_cross_entropy(const Scenario& scenario) {
  const CrossEntropy wanted = scenario.recipe.cross_entropy;
  return wanted == CrossEntropy::Fused || wanted == CrossEntropy::Chunked ||
         (wanted == CrossEntropy::Default && scenario.framework.fused_cross_entropy);
}

}  // namespace hexaplan::costmodel
