#pragma once
#include <cstdint>
#include <vector>

#include "costmodel/spec/scenario.h"

namespace hexaplan::validator {

// Small scenarios for proofs: models of a few layers, dense or with experts, and every way of cutting them
// that rules and executor accept, on up to kMostRanks ranks. Drawn is what the cost model knows, whether the
// executor has it or not, so that what it learns is proved without further words here. `base` gives framework
// profile and cluster; its cluster gets as many GPUs as a layout has ranks.
inline constexpr std::int64_t kMostRanks = 16;

/// Scenarios in which every two values of different dimensions that can stand together do so at least once
/// (pairwise coverage, as in D. M. Cohen et al., "The AETG system", IEEE TSE 23(7), 1997). The same for the
/// same seed.
[[nodiscard]] std::vector<costmodel::Scenario> covering_scenarios(const costmodel::Scenario& base,
                                                                  std::uint64_t seed);
/// `count` scenarios drawn at random: the covering ones first, as many as there is room for.
[[nodiscard]] std::vector<costmodel::Scenario> random_scenarios(const costmodel::Scenario& base, int count,
                                                                std::uint64_t seed);

}  // namespace hexaplan::validator
