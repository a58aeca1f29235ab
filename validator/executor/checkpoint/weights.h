#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "validator/executor/step/run_steps.h"

namespace hexaplan::validator {

/// Elements [first, first + values.size()) of an unsharded parameter: of a layer in model order, or of an end
/// (UnitPlan::kEmbedding, kHead). Called by all ranks at the same time.
using ReadWeights =
    std::function<void(int unit, std::string_view name, std::int64_t first, std::span<double> values)>;
using WriteWeights =
    std::function<void(int unit, std::string_view name, std::int64_t first, std::span<const double> values)>;

/// Overwrites the master parameters that this rank owns, under any layout; the compute copies follow.
/// Adapters stay as they are: they stand beside a model, not in it; magnitudes are those of its rows. Call on
/// every rank, before the first step.
void load_weights(const ReadWeights& read, const RankView& rank);

/// Hands over the master parameters that this rank owns: on all ranks together every element once.
void store_weights(const WriteWeights& write, const RankView& rank);

}  // namespace hexaplan::validator
