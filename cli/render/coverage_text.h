#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "costmodel/spec/scenario.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

/// In how many scenarios a choice was made: {"schedule", "zb-h1", 12}, {"techniques", "hybrid shards", 7}.
struct CoverageRow {
  std::string axis, choice;
  std::int64_t scenarios = 0;
};

/// Axes of model, layout and recipe in the order of the layout's words, then techniques. Choices that nobody
/// made are listed where their number is known: schedules, ways of context parallelism, techniques.
[[nodiscard]] std::vector<CoverageRow> coverage_of(std::span<const costmodel::Scenario> scenarios);

/// A line per axis: its choices and how many scenarios made each.
[[nodiscard]] std::string coverage_text(std::span<const CoverageRow> rows);
[[nodiscard]] presets::JsonValue coverage_json(std::span<const CoverageRow> rows);

}  // namespace hexaplan::cli
