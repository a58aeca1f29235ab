#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/search.h"
#include "costmodel/units/quantity.h"

namespace hexaplan::cli {

/// An option of `search` and the values that a sweep gives it.
struct SweepAxis {
  std::string flag;  // "--seq"
  std::vector<std::string> values;
  /// "seq": the flag without its dashes.
  [[nodiscard]] std::string_view word() const { return std::string_view{flag}.substr(2); }
};

/// The best plan for each value of one or two options.
struct SweepReport {
  std::vector<SweepAxis> axes;
  std::vector<SearchReport> cells;  // the last axis runs fastest
  costmodel::Seconds elapsed;
  [[nodiscard]] bool stopped() const;
  [[nodiscard]] bool found_any() const;
  /// Values of cell `index`, one for each axis.
  [[nodiscard]] std::vector<std::string_view> at(std::size_t index) const;
};

/// "seq=4k..128k,gpus=64..4096,gpu=h100,h200": one or two options of `search`, each with values between
/// commas; "a..b" doubles from a on. InputError.
[[nodiscard]] std::vector<SweepAxis> read_sweep(std::string_view text);

/// One search for each cell of `options.sweep`, several at a time; progress and Ctrl-C as run_search has
/// them. InputError when something cannot be used.
[[nodiscard]] SweepReport run_sweep(const SearchOptions& options, bool quiet);

}  // namespace hexaplan::cli
