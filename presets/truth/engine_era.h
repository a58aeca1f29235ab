#pragma once
#include <optional>
#include <string_view>

#include "presets/truth/truth_row.h"

namespace hexaplan::presets {

/// Year of `engine_era`: a year (2022), month (2023-11), release of NeMo's containers (24.07) or MLPerf round
/// (mlperf-v5.1: rounds 4.x were 2024, 5.x 2025). Nothing for other words.
[[nodiscard]] std::optional<int> year_of_era(std::string_view era);

/// The row's Megatron is of the time before Transformer Engine's kernels and overlapped data-parallel
/// collectives: NeMo and Megatron-Core had them from 2024 on; Megatron-LM's legacy models, on which forks are
/// built, did not for a year more (--use-legacy-models, --transformer-impl local). An unknown era is today's.
[[nodiscard]] bool before_transformer_engine(const TruthRow& row);

}  // namespace hexaplan::presets
