#pragma once
#include <span>
#include <string>
#include <string_view>

#include "planner/fitting/fitting_changes.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

// Changes that make a plan fit, as estimate and search show them.

/// "--recompute full", "zero1 in the layout": what to write on the command line.
[[nodiscard]] std::string change_in_words(const planner::FittingChange& change);
/// "  would fit with …: 60 GiB per GPU, chance of running out 0.1 %, 5 s per step", a line each; what is not
/// modelled of it below.
[[nodiscard]] std::string changes_lines(std::span<const planner::FittingChange> changes,
                                        std::string_view would);
[[nodiscard]] presets::JsonArray changes_json(std::span<const planner::FittingChange> changes);

}  // namespace hexaplan::cli
