#include "cli/commands/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "costmodel/spec/rules.h"
#include "costmodel/units/format_units.h"
#include "planner/fitting/faster_changes.h"
#include "planner/problem/problem.h"
#include "planner/search/search.h"
#include "presets/launch/launch_fields.h"
#include "presets/scenario/layout_text.h"

namespace hexaplan::cli {

using costmodel::Estimate;
using costmodel::Scenario;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;

namespace {

constexpr std::size_t kMostSuggestions = 6;
constexpr std::size_t kPlansAsked = 20;

/// Whether the framework's file can say `scenario` as well as it says the present one.
bool can_be_said(const DiffReport& report, const Scenario& scenario) {
  const presets::Launcher launcher = report.plan.format.launcher;
  if (presets::launch_rejection(scenario, launcher)) return false;
  const auto said_now = presets::launch_gaps(report.question.scenario, launcher);
  const auto gaps = presets::launch_gaps(scenario, launcher);
  return std::all_of(gaps.begin(), gaps.end(), [&](const std::string& gap) {
    return std::find(said_now.begin(), said_now.end(), gap) != said_now.end();
  });
}

double step_of(const Estimate& estimate) {
  return estimate.time.total().value();
}

/// With the lines that change; nothing where none does.
std::optional<Suggestion> suggestion_of(const DiffReport& report, std::string what, Scenario scenario,
                                        Estimate estimate) {
  auto lines = presets::lines_to_change(report.plan, report.question.scenario, scenario);
  if (lines.empty()) return std::nullopt;
  return Suggestion{.what = std::move(what),
                    .scenario = std::move(scenario),
                    .estimate = std::move(estimate),
                    .lines = std::move(lines)};
}

void add_single_changes(DiffReport& report) {
  const auto changes = planner::faster_changes(
      report.question.scenario, report.estimate, report.question.calibration, kMostSuggestions,
      [&](const Scenario& changed) {
        return can_be_said(report, changed) &&
               !presets::lines_to_change(report.plan, report.question.scenario, changed).empty();
      });
  for (const planner::FasterChange& change : changes) {
    if (auto suggestion = suggestion_of(report, std::string{change.what}, change.scenario, change.estimate))
      report.suggestions.push_back(std::move(*suggestion));
  }
}

/// The best plan of a search that the file can say.
void add_best_plan(DiffReport& report) {
  planner::SearchProblem problem{
      .base = report.question.scenario, .hardware = {}, .space = {}, .constraints = {}};
  problem.hardware.push_back({report.question.scenario.cluster, report.question.calibration});
  problem.space.split = {costmodel::StageSplit::Even};
  problem.top = kPlansAsked;
  problem.refine_winners = false;
  problem.simulate_winners = false;
  for (const planner::RankedPlan& ranked : planner::search(problem).plans) {
    Scenario scenario = planner::scenario_of(problem, ranked.plan);
    if (costmodel::first_rejection(scenario) || !can_be_said(report, scenario)) continue;
    Estimate estimate = costmodel::estimate_step(scenario, report.question.calibration);
    if (!planner::fits_safely(estimate)) continue;
    auto suggestion = suggestion_of(
        report, "all at once: " + presets::to_layout_text({.layout = ranked.plan.layout, .dp_given = true}),
        std::move(scenario), std::move(estimate));
    if (!suggestion) continue;
    const bool known = std::any_of(
        report.suggestions.begin(), report.suggestions.end(),
        [&](const Suggestion& other) { return step_of(other.estimate) <= step_of(suggestion->estimate); });
    if (!known && planner::worth_saying(report.estimate, suggestion->estimate))
      report.suggestions.push_back(std::move(*suggestion));
    return;
  }
}

std::string price_text(const Estimate& estimate) {
  if (estimate.stages.empty()) return "cannot run";
  return fmt::format("{} a step, {} of {}, chance of running out {:.1f} %",
                     costmodel::format_duration(estimate.time.total()),
                     costmodel::format_binary(estimate.peak().needed),
                     costmodel::format_binary(estimate.capacity), 100 * estimate.out_of_memory_probability);
}

JsonValue price_json(const Estimate& estimate) {
  if (estimate.stages.empty()) return {};
  return JsonObject{{"step_seconds", step_of(estimate)},
                    {"needed_bytes", estimate.peak().needed.value()},
                    {"out_of_memory_probability", estimate.out_of_memory_probability}};
}

}  // namespace

DiffReport run_diff(const DiffOptions& options) {
  DiffReport report;
  report.plan = presets::import_files(options.files, options.question.cluster);
  ScenarioOptions asked = options.question;
  asked.from = options.files;
  report.question = ask(asked);
  report.estimate = costmodel::estimate_step(report.question.scenario, report.question.calibration);
  add_single_changes(report);
  add_best_plan(report);
  return report;
}

std::string diff_text(const DiffReport& report) {
  const Scenario& now = report.question.scenario;
  std::string text =
      fmt::format("{} on {} x {}, {}: {}\nnow: {}\n", now.model.name, now.cluster.gpus, now.cluster.gpu.name,
                  report.plan.format.title, presets::to_layout_text({.layout = now.layout, .dp_given = true}),
                  price_text(report.estimate));
  if (const auto rejected = costmodel::first_rejection(now))
    text += fmt::format("cannot run: {}; {}\n", rejected->reason, rejected->advice);
  if (report.suggestions.empty())
    text += "\nNothing faster was found that fits and that these files can say.\n";
  for (const Suggestion& suggestion : report.suggestions) {
    const double gain =
        report.estimate.stages.empty() ? 0 : 1 - step_of(suggestion.estimate) / step_of(report.estimate);
    text += fmt::format("\n{}: {:+.1f} % time, {}\n", suggestion.what, -100 * gain,
                        price_text(suggestion.estimate));
    for (const presets::ChangedLine& line : suggestion.lines) {
      if (!line.before.empty()) text += fmt::format("  - {}    ({}:{})\n", line.before, line.file, line.line);
      if (!line.after.empty()) text += fmt::format("  + {}\n", line.after);
    }
  }
  return text;
}

JsonValue diff_json(const DiffReport& report) {
  JsonArray suggestions;
  for (const Suggestion& suggestion : report.suggestions) {
    JsonArray lines;
    for (const presets::ChangedLine& line : suggestion.lines)
      lines.push_back(JsonObject{
          {"file", line.file.empty() ? JsonValue{} : JsonValue{line.file}},
          {"line", line.file.empty() ? JsonValue{} : JsonValue{static_cast<std::int64_t>(line.line)}},
          {"before", line.before},
          {"after", line.after}});
    suggestions.push_back(JsonObject{
        {"what", suggestion.what},
        {"layout", presets::to_layout_text({.layout = suggestion.scenario.layout, .dp_given = true})},
        {"price", price_json(suggestion.estimate)},
        {"lines", std::move(lines)}});
  }
  return JsonObject{
      {"schema", "hexaplan/diff/1"},
      {"framework", report.plan.format.name},
      {"layout", presets::to_layout_text({.layout = report.question.scenario.layout, .dp_given = true})},
      {"price", price_json(report.estimate)},
      {"suggestions", std::move(suggestions)}};
}

}  // namespace hexaplan::cli
