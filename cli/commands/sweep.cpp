#include "cli/commands/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "cli/commands/search_space.h"
#include "cli/options/command_row.h"
#include "cli/search_progress.h"
#include "costmodel/units/nearest_name.h"
#include "costmodel/units/trimmed.h"
#include "presets/json/input_error.h"
#include "presets/scenario/swept_values.h"

namespace hexaplan::cli {

using presets::InputError;

namespace {

constexpr std::size_t kMostAxes = 2;

/// What answers and files are asked for with: no question differs by it.
constexpr std::array kNotSwept{"--sweep",   "--scenario", "--from", "--save-scenario",
                               "--explain", "--threads",  "--html", "--top"};
/// Shorter words of options.
constexpr std::pair<std::string_view, std::string_view> kShort[] = {{"batch", "global-batch"},
                                                                    {"bandwidth", "network"}};

InputError sweep_error(std::string_view text, std::string expected, std::string hint = {}) {
  return InputError({.field = "--sweep",
                     .value = presets::in_quotes(text),
                     .expected = std::move(expected),
                     .hint = std::move(hint)});
}

/// Options that take a value and make another question.
std::vector<std::string> sweepable_flags() {
  SearchOptions options;
  std::vector<std::string> flags;
  for (const OptionRow& row : search_options(options)) {
    const bool text = std::holds_alternative<std::string*>(row.target);
    if (text && std::find(kNotSwept.begin(), kNotSwept.end(), row.flags) == kNotSwept.end())
      flags.push_back(row.flags);
  }
  return flags;
}

/// The flag of an axis: "--seq" of "seq".
std::string flag_of(std::string_view word, const std::vector<std::string>& flags) {
  for (const auto& [name, whole] : kShort) {
    if (word == name) word = whole;
  }
  std::string flag = fmt::format("--{}", word);
  if (std::find(flags.begin(), flags.end(), flag) != flags.end()) return flag;
  const std::string_view nearest = costmodel::nearest_name(flag, flags);
  throw sweep_error(
      word, "an option of search without its dashes, such as seq, gpus, gpu, batch, micro-batch or network",
      nearest.empty() ? "" : presets::did_you_mean(nearest.substr(2)));
}

/// The search of one cell: the options with a value in the place of each axis.
SearchOptions cell_of(const SearchOptions& options, const std::vector<SweepAxis>& axes,
                      const std::vector<std::string_view>& values) {
  SearchOptions cell = options;
  cell.sweep.clear();
  std::vector<OptionRow> rows = search_options(cell);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const OptionRow& option) { return option.flags == axes[i].flag; });
    *std::get<std::string*>(row->target) = std::string{values[i]};
  }
  return cell;
}

void refuse(const char* flag, bool given) {
  if (given)
    throw InputError(
        {.field = flag, .value = "given", .expected = "one search: --sweep makes many, and lists no more"});
}

}  // namespace

bool SweepReport::stopped() const {
  return std::any_of(cells.begin(), cells.end(),
                     [](const SearchReport& cell) { return cell.ranking.stopped; });
}

bool SweepReport::found_any() const {
  return std::any_of(cells.begin(), cells.end(),
                     [](const SearchReport& cell) { return !cell.ranking.plans.empty(); });
}

std::vector<std::string_view> SweepReport::at(std::size_t index) const {
  std::vector<std::string_view> values(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    values[i] = axes[i].values[index % axes[i].values.size()];
    index /= axes[i].values.size();
  }
  return values;
}

std::vector<SweepAxis> read_sweep(std::string_view text) {
  const std::vector<std::string> flags = sweepable_flags();
  std::vector<SweepAxis> axes;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string_view part = costmodel::trimmed(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (const std::size_t equals = part.find('='); equals != std::string_view::npos) {
      axes.push_back({.flag = flag_of(costmodel::trimmed(part.substr(0, equals)), flags), .values = {}});
      part = costmodel::trimmed(part.substr(equals + 1));
    }
    if (axes.empty() || part.empty()) throw sweep_error(text, "axes such as seq=4k..128k,gpus=64..4096");
    presets::append_swept_values(part, "--sweep", axes.back().flag == "--seq", axes.back().values);
  }
  const bool same = axes.size() == 2 && axes[0].flag == axes[1].flag;
  if (axes.empty() || axes.size() > kMostAxes || same)
    throw sweep_error(text, "one or two different options, such as seq=4k..128k,gpus=64..4096");
  const std::size_t cells = axes[0].values.size() * (axes.size() > 1 ? axes[1].values.size() : 1);
  if (cells > presets::kMostSweptCells)
    throw sweep_error(text, fmt::format("at most {} cells, not {}", presets::kMostSweptCells, cells));
  return axes;
}

SweepReport run_sweep(const SearchOptions& options, bool quiet) {
  refuse("--explain", !options.explain.empty());
  refuse("--sensitivity", options.sensitivity);
  SweepReport report{.axes = read_sweep(options.sweep), .cells = {}, .elapsed = {}};
  SearchOptions each = options;
  if (!each.question.memory) each.question.memory = std::make_shared<presets::PresetMemory>();
  std::size_t cells = 1;
  for (const SweepAxis& axis : report.axes) cells *= axis.values.size();
  std::vector<planner::SearchProblem> problems;
  for (std::size_t i = 0; i < cells; ++i) {
    report.cells.push_back(read_search(cell_of(each, report.axes, report.at(i))));
    problems.push_back(report.cells.back().problem);
  }
  planner::SearchOptions how{.threads = threads_of(options), .progress = {}, .stop = {}};
  const SearchProgressBar bar{how, quiet};
  const auto begin = std::chrono::steady_clock::now();
  std::vector<planner::Ranking> rankings = planner::search_each(problems, how);
  report.elapsed =
      costmodel::Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
  for (std::size_t i = 0; i < cells; ++i) report.cells[i].ranking = std::move(rankings[i]);
  return report;
}

}  // namespace hexaplan::cli
