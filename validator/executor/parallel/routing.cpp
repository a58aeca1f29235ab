#include "validator/executor/parallel/routing.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

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

std::vector<std::vector<std::int32_t>> routed_together(const Rank& rank) {
  const costmodel::LocalDims& d = rank.dims;
  if (!rank.drops_as) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(d.router_tokens));
    std::iota(all.begin(), all.end(), 0);
    return {std::move(all)};
  }
  const costmodel::Layout& cut = *rank.drops_as;
  const auto parts = static_cast<std::ptrdiff_t>(cut.sp ? cut.tp : 1);
  std::vector<std::vector<std::int32_t>> groups;
  for (int place = 0; place < cut.cp; ++place) {
    std::vector<std::int32_t> rows;
    for (std::int64_t sequence = 0; sequence < d.micro_batch; ++sequence) {
      for (const std::int32_t position : positions_of(cut, d.sequence, place))
        rows.push_back(static_cast<std::int32_t>(sequence * d.sequence) + position);
    }
    const std::ptrdiff_t length = std::ssize(rows) / parts;
    for (std::ptrdiff_t part = 0; part < parts; ++part) {
      const auto first = rows.begin() + part * length;
      groups.emplace_back(first, first + length);
    }
  }
  return groups;
}

namespace {

/// Of one expert's copies at `places`, those that it takes. Tokens that begin a sequence alike have the same
/// weights, but for the order of sums that tensor parallelism cuts otherwise: rounding must not choose.
void take_most_probable(std::vector<std::int32_t>& places, std::int64_t capacity,
                        std::span<const double> weights) {
  if (std::ssize(places) <= capacity) return;
  const auto last = places.begin() + static_cast<std::ptrdiff_t>(capacity);
  const auto weight = [&](std::int32_t place) {
    return static_cast<float>(weights[static_cast<std::size_t>(place)]);
  };
  std::stable_sort(places.begin(), places.end(),
                   [&](std::int32_t a, std::int32_t b) { return weight(a) > weight(b); });
  places.erase(last, places.end());
}

}  // namespace

std::vector<std::int32_t> within_capacity(const Rank& rank, std::span<const std::int32_t> chosen,
                                          std::span<const double> weights) {
  const auto k = static_cast<std::int32_t>(rank.dims.top_k);
  std::vector<std::int32_t> kept;
  for (const std::vector<std::int32_t>& rows : routed_together(rank)) {
    const std::int64_t capacity = costmodel::expert_capacity(rank.scenario, std::ssize(rows));
    std::vector<std::vector<std::int32_t>> of_experts(static_cast<std::size_t>(rank.dims.experts));
    for (const std::int32_t row : rows) {
      for (std::int32_t place = row * k; place < (row + 1) * k; ++place)
        of_experts[static_cast<std::size_t>(chosen[static_cast<std::size_t>(place)])].push_back(place);
    }
    for (std::vector<std::int32_t>& places : of_experts) {
      take_most_probable(places, capacity, weights);
      kept.insert(kept.end(), places.begin(), places.end());
    }
  }
  std::sort(kept.begin(), kept.end());
  return kept;
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
                        static_cast<double>(rank.sequences_of_replica() * recipe.sequence) *
                        static_cast<double>(d.experts) / static_cast<double>(d.top_k * recipe.sequence);
  std::vector<double> out;
  out.reserve(choices.size());
  for (const std::int32_t count : choices) out.push_back(factor * count);
  return out;
}

}  // namespace hexaplan::validator
