#pragma once
#include <cstdint>

#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// Sizes that one rank sees: every memory and time formula is written in these. Widths are elements per
/// token.
struct LocalDims {
  std::int64_t micro_batch = 0;
  std::int64_t sequence = 0;        // whole sequence
  std::int64_t local_sequence = 0;  // s/c
  std::int64_t tokens = 0;          // N = b·s/c
  std::int64_t sp_tokens = 0;       // N/t with sequence parallelism, else N
  std::int64_t hidden = 0;

  std::int64_t heads = 0, kv_heads = 0;  // per rank; at least one kv head
  std::int64_t q = 0, k = 0, v = 0, o = 0;
  std::int64_t q_latent = 0, kv_latent = 0, kv_latent_normed = 0;  // MLA: r_q, r_kv + d_r, r_kv

  /// Of a recurrence: heads, groups of keys as context-parallel ranks exchange them, and the columns of
  /// values, of keys, and of what the convolution sees.
  std::int64_t state_heads = 0, state_groups = 0, state_values = 0, state_keys = 0, state_mixed = 0;
  std::int64_t state_projected = 0;  // columns of the projection before it …
  std::int64_t state_exchanged = 0;  // … and with the groups that are repeated for an exchange
  std::int64_t chunks = 0;           // of all sequences of the micro-batch, on all ranks that share them

  std::int64_t mlp_up = 0;   // 2f/t gated, f/t plain
  std::int64_t mlp_act = 0;  // f/t

  std::int64_t experts = 0, experts_local = 0, top_k = 0;
  std::int64_t router_tokens = 0;    // tokens this rank routes
  std::int64_t expert_capacity = 0;  // of them that one expert takes at most; 0: all
  /// Of them, one per chosen expert, that travel: dropped ones do not, padding does.
  std::int64_t sent_copies = 0;
  /// Tokens × experts that this rank computes, imbalance, capacity and padding included.
  std::int64_t expert_tokens = 0;
  std::int64_t expert_up = 0, expert_act = 0;
  std::int64_t shared_up = 0, shared_act = 0;

  std::int64_t vocab = 0;      // rows of the output layer per rank, padded
  double attention_pairs = 0;  // (query, key) pairs per sequence and head on this rank, full layers
  double windowed_pairs = 0;   // … in windowed layers
};

/// Columns of the projection before a recurrence of so many heads and groups.
[[nodiscard]] std::int64_t projected_columns(const RecurrentSpec& recurrent, std::int64_t heads,
                                             std::int64_t groups);

/// Columns of what its convolution sees.
[[nodiscard]] std::int64_t mixed_columns(const RecurrentSpec& recurrent, std::int64_t heads,
                                         std::int64_t groups);

/// Tokens of a micro-batch that a rank has between tensor-parallel regions: those that it routes.
[[nodiscard]] std::int64_t routed_tokens(const Scenario& scenario);

/// True where experts have a capacity, and tokens beyond it are dropped …
[[nodiscard]] inline bool limits_experts(const Scenario& scenario) {
  return scenario.model.is_moe() && scenario.recipe.routing.drops();
}
/// … and where they are padded to it.
[[nodiscard]] inline bool pads_experts(const Scenario& scenario) {
  return scenario.model.is_moe() && scenario.recipe.routing.pads();
}

/// Of `tokens` that are routed together, how many one expert takes: ⌈tokens·K/E · capacity_factor⌉, as
/// NVIDIA/Megatron-LM has it (megatron/core/transformer/moe/moe_utils.py, get_capacity); 0 where none are
/// dropped.  [docs/formulas.md#M2]
[[nodiscard]] std::int64_t expert_capacity(const Scenario& scenario, std::int64_t tokens);

/// Preconditions: the rules accepted the scenario.
[[nodiscard]] LocalDims local_dims(const Scenario& scenario);

}  // namespace hexaplan::costmodel
