#include "presets/truth/engine_era.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "costmodel/units/parse_number.h"

namespace hexaplan::presets {
namespace {

/// Words of the schema whose models call PyTorch's own attention.
constexpr std::string_view kPyTorchAttention[] = {"ddp", "fsdp1", "fsdp2"};

/// An unknown era is today's.
bool is_older_than(const TruthRow& row, int year) {
  return year_of_era(row.engine_era).value_or(year) < year;
}

}  // namespace

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
  return is_older_than(row, first);
}

bool before_fused_accumulation(const TruthRow& row) {
  constexpr int kFirst = 2023;
  return is_older_than(row, kFirst);
}

bool before_liger(const TruthRow& row) {
  constexpr int kFirst = 2024;
  return is_older_than(row, kFirst);
}

bool before_four_bit_inputs_were_freed(const TruthRow& row) {
  const int first = row.engine == "litgpt" ? 2025 : 2024;
  return is_older_than(row, first);
}

bool before_flash_attention_2(const TruthRow& row) {
  constexpr int kPackage = 2023, kPyTorch = 2024;
  const bool pytorch =
      std::ranges::find(kPyTorchAttention, row.framework_profile) != std::end(kPyTorchAttention);
  return is_older_than(row, pytorch ? kPyTorch : kPackage);
}

}  // namespace hexaplan::presets
