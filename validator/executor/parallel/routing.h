#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "validator/executor/parallel/rank.h"

namespace hexaplan::validator {

// What routing needs of the host: who chose whom, and the balance loss that follows from it.

/// Rows of one sequence among the rank's tokens. Under sequence parallelism tensor-parallel ranks have
/// consecutive parts of all of them.
struct SequenceRows {
  std::int64_t sequence = 0, first = 0, count = 0;
  std::int64_t first_place = 0;  // of the first row, in the rank's part of the sequence
};
[[nodiscard]] std::vector<SequenceRows> sequence_rows(const Rank& rank);

/// Experts in turn, by a token's position in its sequence: evenly filled whatever the layout. n × K.
[[nodiscard]] std::vector<std::int32_t> experts_in_turn(const Rank& rank);

/// The rank's tokens, as they are routed together: every expert takes no more of each group than its
/// capacity. All of them; or, where the rank runs alone what `drops_as` would cut, those of each
/// context-parallel and sequence-parallel rank.
[[nodiscard]] std::vector<std::vector<std::int32_t>> routed_together(const Rank& rank);

/// Of the copies of all tokens (n × K, the experts that they chose and with which weights) the places, in
/// order, of those that experts take: from every group the `capacity` (costmodel::expert_capacity) with the
/// largest weights, of those that are equal in fp32, in which routers compute, the first. What is left out
/// has weight zero, and the weights that stay are not divided anew (NVIDIA/Megatron-LM
/// megatron/core/transformer/moe/moe_utils.py, apply_router_token_dropping, drop_policy "probs").
[[nodiscard]] std::vector<std::int32_t> within_capacity(const Rank& rank,
                                                        std::span<const std::int32_t> chosen,
                                                        std::span<const double> weights);

/// How often the tokens of each sequence that this rank has chose each expert: b × E.
[[nodiscard]] std::vector<std::int32_t> choices_of_sequences(const Rank& rank,
                                                             std::span<const std::int32_t> chosen);

/// Gradient of the balance loss by the probability of an expert, per sequence: b × E, of the choices that all
/// ranks made. The loss is that of each sequence, coefficient·Σᵢ fᵢ·Pᵢ with fᵢ = E/K times the share of the
/// sequence's tokens that chose expert i, Pᵢ its mean probability, averaged over the global batch
/// (arXiv:2412.19437 eq. 17-20): no layout changes what a sequence is.
[[nodiscard]] std::vector<double> balance_gradient(const Rank& rank, std::span<const std::int32_t> choices);

}  // namespace hexaplan::validator
