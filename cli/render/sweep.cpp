#include "cli/render/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "cli/render/numbers.h"
#include "cli/render/search_text.h"
#include "costmodel/units/format_units.h"
#include "planner/search/ranking.h"
#include "presets/scenario/recompute_text.h"

namespace hexaplan::cli {

using charts::Cells;
using costmodel::format_count;
using costmodel::format_duration;
using costmodel::format_percent;
using planner::RankedPlan;
using planner::reason_for_nothing;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;

namespace {

const RankedPlan* best_of(const SearchReport& cell) {
  return cell.ranking.plans.empty() ? nullptr : &cell.ranking.plans.front();
}

std::string throughput_of(const SearchReport& cell) {
  const RankedPlan* best = best_of(cell);
  return best == nullptr ? "-"
                         : format_count(static_cast<std::int64_t>(
                               std::llround(best->plan.price.tokens_per_second_per_gpu)));
}

/// Tokens per second and GPU: the first axis goes down, the second across.
std::string grid(const SweepReport& report, const TextStyle& style) {
  if (report.axes.size() < 2) return {};
  const SweepAxis &down = report.axes[0], &across = report.axes[1];
  Cells rows{{fmt::format("{} \\ {}", down.word(), across.word())}};
  rows[0].insert(rows[0].end(), across.values.begin(), across.values.end());
  for (std::size_t i = 0; i < down.values.size(); ++i) {
    std::vector<std::string> row{down.values[i]};
    for (std::size_t j = 0; j < across.values.size(); ++j)
      row.push_back(throughput_of(report.cells[i * across.values.size() + j]));
    rows.push_back(std::move(row));
  }
  return fmt::format("{}\n", style.bold("Tokens per second and GPU of the best plan")) +
         fitted_table(std::move(rows), style) + "\n";
}

std::string list(const SweepReport& report, const TextStyle& style) {
  const bool trained = report.cells.front().problem.base.recipe.tokens > 0;
  Cells rows{{}};
  for (const SweepAxis& axis : report.axes) rows[0].emplace_back(axis.word());
  for (const char* head : {"layout", "recompute", "micro-batch", "step", "tokens/s/GPU", "GiB", "risk"})
    rows[0].emplace_back(head);
  if (trained) rows[0].insert(rows[0].end(), {"training", "cost"});
  std::string reasons;
  for (std::size_t i = 0; i < report.cells.size(); ++i) {
    const SearchReport& cell = report.cells[i];
    const auto place = report.at(i);
    std::vector<std::string> row{place.begin(), place.end()};
    const RankedPlan* best = best_of(cell);
    if (best == nullptr) {
      reasons += fmt::format("  {}: {}\n", fmt::join(place, ", "), reason_for_nothing(cell.ranking));
      continue;
    }
    const planner::Plan& plan = best->plan;
    row.insert(row.end(),
               {presets::to_layout_text(plan.layout), presets::to_recompute_text(plan.recipe.recompute),
                format_count(plan.recipe.micro_batch), step_text(plan.price.step), throughput_of(cell),
                gib_digits(plan.price.peak), format_percent(plan.price.risk)});
    if (trained) {
      const costmodel::TrainingCost cost = training_of(cell, *best);
      row.push_back(format_duration(cost.wall));
      row.push_back(cost.dollars > 0 ? "$" + costmodel::format_short(cost.dollars) : "");
    }
    rows.push_back(std::move(row));
  }
  std::string text = fmt::format("{}\n", style.bold("The best plan of each"));
  if (rows.size() > 1)
    text += fitted_table(std::move(rows), style,
                         {.left = report.axes.size() + 2, .expendable = {"tokens/s/GPU", "risk", "cost"}});
  return reasons.empty() ? text : text + fmt::format("\n{}\n", style.bad("Nothing found")) + reasons;
}

}  // namespace

std::string sweep_text(const SweepReport& report, const TextStyle& style) {
  return fmt::format("{} searches in {}{}\n\n", report.cells.size(), format_duration(report.elapsed),
                     report.stopped() ? ", stopped before the end" : "") +
         grid(report, style) + list(report, style);
}

Cells sweep_cells(const SweepReport& report) {
  const std::vector<std::string> heads = plan_heads();
  Cells rows{{}};
  for (const SweepAxis& axis : report.axes) rows[0].push_back(fmt::format("sweep_{}", axis.word()));
  rows[0].insert(rows[0].end(), heads.begin(), heads.end());
  rows[0].emplace_back("nothing_because");
  for (std::size_t i = 0; i < report.cells.size(); ++i) {
    const SearchReport& cell = report.cells[i];
    const auto place = report.at(i);
    std::vector<std::string> row{place.begin(), place.end()};
    const RankedPlan* best = best_of(cell);
    const std::vector<std::string> plan =
        best == nullptr ? std::vector<std::string>(heads.size()) : plan_row(cell, *best);
    row.insert(row.end(), plan.begin(), plan.end());
    row.push_back(best == nullptr ? reason_for_nothing(cell.ranking) : "");
    rows.push_back(std::move(row));
  }
  return rows;
}

JsonValue sweep_json(const SweepReport& report) {
  JsonArray axes, cells, notes;
  for (const SweepAxis& axis : report.axes) {
    JsonArray values;
    for (const std::string& value : axis.values) values.emplace_back(value);
    axes.push_back(JsonObject{{"option", axis.word()}, {"values", std::move(values)}});
  }
  for (std::size_t i = 0; i < report.cells.size(); ++i) {
    const SearchReport& cell = report.cells[i];
    JsonArray place;
    for (const std::string_view value : report.at(i)) place.emplace_back(value);
    const RankedPlan* best = best_of(cell);
    cells.push_back(JsonObject{
        {"at", std::move(place)},
        {"plan", best == nullptr ? JsonValue{} : ranked_json(cell, *best)},
        {"nothing_because", best == nullptr ? JsonValue{reason_for_nothing(cell.ranking)} : JsonValue{}}});
  }
  for (const std::string& note : report.cells.front().question.notes) notes.emplace_back(note);
  return JsonObject{{"schema", "hexaplan/sweep/1"},
                    {"stopped", report.stopped()},
                    {"axes", std::move(axes)},
                    {"cells", std::move(cells)},
                    {"notes", std::move(notes)}};
}

}  // namespace hexaplan::cli
