#include "cli/commands/estimate.h"

#include <fmt/format.h>

#include "cli/write_file.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "presets/frameworks/allocator_words.h"
#include "presets/json/input_error.h"
#include "presets/scenario/silent_words.h"
#include "presets/trace/allocation_snapshot.h"

namespace hexaplan::cli {

namespace {

constexpr std::size_t kExplained = 15;

Explanation explain(const EstimateReport& report) {
  const auto& peak = report.estimate.peak();
  return {
      .stage = peak.stage,
      .instant = peak.instant,
      .tensors = costmodel::largest_tensors(report.question.scenario, peak.stage, peak.instant, kExplained),
      .operations = costmodel::largest_operations(report.question.scenario, report.question.calibration,
                                                  peak.stage, kExplained)};
}

/// Each stage with what the card has for the framework's allocator.
AllocatorReport run_allocator(const EstimateReport& report, const std::string& words,
                              costmodel::AllocatorSettings settings) {
  const costmodel::Scenario& sc = report.question.scenario;
  AllocatorReport out{.words = words};
  if (const auto reason = costmodel::program::not_simulated(sc)) {
    out.not_simulated = *reason;
    return out;
  }
  for (const costmodel::StageMemory& stage : report.estimate.stages) {
    settings.capacity = presets::allocator_capacity(report.estimate, stage);
    const auto calls =
        costmodel::program::step_allocations(sc, stage.stage, costmodel::program::kSimulatedSteps);
    if (!calls) {
      out.not_simulated = "a step makes more than a million calls";
      out.stages.clear();
      return out;
    }
    AllocatorReport::Stage row{.stage = stage.stage,
                               .asked = costmodel::program::run_calls(*calls, settings)};
    if (!settings.expandable_segments) {
      costmodel::AllocatorSettings expandable = settings;
      expandable.expandable_segments = true;
      row.expandable = costmodel::program::run_calls(*calls, expandable);
    }
    out.stages.push_back(row);
  }
  return out;
}

void write_snapshot(const EstimateReport& report, const std::string& file,
                    const costmodel::AllocatorSettings& settings) {
  write_file(file, [&](const auto& sink) {
    const auto refused =
        presets::write_allocation_snapshot(report.question.scenario, report.estimate, settings, sink);
    if (refused)
      throw presets::InputError({.field = "--memory-snapshot",
                                 .hint = fmt::format("the allocator is not simulated: {}", *refused)});
  });
}

}  // namespace

void suggest_changes(EstimateReport& report) {
  if (report.priced() && (!report.fits() || report.at_risk()))
    report.changes =
        planner::fitting_changes(report.question.scenario, report.question.calibration, kSuggestedChanges);
}

EstimateReport run_estimate(const EstimateOptions& options) {
  EstimateReport report;
  costmodel::AllocatorSettings allocator;
  if (!options.allocator.empty()) allocator = presets::allocator_settings(options.allocator, "--allocator");
  report.question = ask(options.question);
  const costmodel::Scenario& scenario = report.question.scenario;
  const costmodel::Calibration& calibration = report.question.calibration;
  report.parameters = costmodel::count_parameters(scenario.model).total;
  report.estimate = costmodel::estimate_step(scenario, calibration);
  if (!report.priced()) return report;
  for (std::string& note :
       presets::notes_of_silent_words(report.question.request, scenario, calibration, report.estimate))
    report.question.notes.push_back(std::move(note));
  if (scenario.recipe.tokens > 0) report.training = costmodel::training_cost(scenario, report.estimate);
  if (options.suggest) suggest_changes(report);
  if (options.explain) report.explanation = explain(report);
  if (!options.allocator.empty()) report.allocator = run_allocator(report, options.allocator, allocator);
  if (!options.memory_snapshot.empty()) write_snapshot(report, options.memory_snapshot, allocator);
  return report;
}

}  // namespace hexaplan::cli
