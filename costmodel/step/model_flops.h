#pragma once
#include "costmodel/spec/scenario.h"
#include "costmodel/units/quantity.h"

namespace hexaplan::costmodel {

enum class AttentionFlops : std::uint8_t {
  CausalHalved,  // Megatron-Bridge: only pairs the mask keeps
  Full,          // PaLM (arXiv:2204.02311 appendix B), torchtitan, llm-foundry
};

/// FLOPs that the model needs for one optimizer step of the whole job, whatever the layout: 3 × forward
/// (backward is twice forward), input embedding excluded, output layer included, recomputation excluded.
/// [docs/formulas.md#F1]
[[nodiscard]] Flops model_flops_per_step(const Scenario& scenario, AttentionFlops attention);

}  // namespace hexaplan::costmodel
