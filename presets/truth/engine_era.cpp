#include "presets/truth/engine_era.h"

#include "costmodel/units/parse_number.h"

namespace hexaplan::presets {

std::optional<int> year_of_era(std::string_view era) {
  constexpr std::string_view kRound = "mlperf-v";
  constexpr int kRoundsBegin = 2020, kCentury = 2000;
  const bool round = era.starts_with(kRound);
  if (round) era.remove_prefix(kRound.size());
  const auto number = costmodel::parse_number<int>(era.substr(0, era.find_first_of("-.")));
  if (!number || *number < 1 || *number > 9999) return std::nullopt;
  if (round) return kRoundsBegin + *number;
  return *number < 100 ? kCentury + *number : *number;
}

bool before_transformer_engine(const TruthRow& row) {
  const int first = row.engine == "megatron-lm" ? 2025 : 2024;
  return year_of_era(row.engine_era).value_or(first) < first;
}

}  // namespace hexaplan::presets
