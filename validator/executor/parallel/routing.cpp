#include "validator/executor/parallel/routing.h"

#include <algorithm>
#include <cstddef>

#include "validator/executor/parallel/context.h"

namespace hexaplan::validator {

std::vector<SequenceRows> sequence_rows(const Rank& rank) {
  const costmodel::LocalDims& d = rank.dims;
  const std::int64_t begin =
      rank.scenario.layout.sp ? rank.position(costmodel::Axis::Tensor) * d.sp_tokens : 0;
  std::vector<SequenceRows> out;
  for (std::int64_t row = begin; row < begin + d.sp_tokens;) {
    const std::int64_t place = row % d.local_sequence;
    const std::int64_t count = std::min(d.local_sequence - place, begin + d.sp_tokens - row);
    out.push_back({row / d.local_sequence, row - begin, count, place});
    row += count;
  }
  return out;
}

std::vector<std::int32_t> experts_in_turn(const Rank& rank) {
  const costmodel::LocalDims& d = rank.dims;
  const std::vector<std::int32_t> positions = local_positions(rank);
  std::vector<std::int32_t> chosen;
  for (const SequenceRows& rows : sequence_rows(rank)) {
    for (std::int64_t i = 0; i < rows.count; ++i) {
      const std::int64_t position = positions[static_cast<std::size_t>(rows.first_place + i)];
      for (std::int64_t k = 0; k < d.top_k; ++k)
        chosen.push_back(static_cast<std::int32_t>((position * d.top_k + k) % d.experts));
    }
  }
  return chosen;
}

std::vector<std::int32_t> choices_of_sequences(const Rank& rank, std::span<const std::int32_t> chosen) {
  const costmodel::LocalDims& d = rank.dims;
  std::vector<std::int32_t> counts(static_cast<std::size_t>(d.micro_batch * d.experts));
  for (const SequenceRows& rows : sequence_rows(rank)) {
    for (std::int64_t i = rows.first * d.top_k; i < (rows.first + rows.count) * d.top_k; ++i)
      ++counts[static_cast<std::size_t>(rows.sequence * d.experts + chosen[static_cast<std::size_t>(i)])];
  }
  return counts;
}

std::vector<double> balance_gradient(const Rank& rank, std::span<const std::int32_t> choices) {
  const costmodel::LocalDims& d = rank.dims;
  const costmodel::Recipe& recipe = rank.scenario.recipe;
  const double factor = rank.loss_scale * rank.scenario.model.moe.balance_coefficient /
                        static_cast<double>(costmodel::tokens_per_step(recipe)) *
                        static_cast<double>(d.experts) / static_cast<double>(d.top_k * recipe.sequence);
  std::vector<double> out;
  out.reserve(choices.size());
  for (const std::int32_t count : choices) out.push_back(factor * count);
  return out;
}

}  // namespace hexaplan::validator
