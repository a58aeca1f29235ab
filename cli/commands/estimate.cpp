#include "cli/commands/estimate.h"

#include <charconv>
#include <iostream>
#include <iterator>
#include <utility>

#include "cli/commands/fitting_changes.h"
#include "cli/write_file.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "presets/json/input_error.h"
#include "presets/json/read_json.h"
#include "presets/scenario/recipe_fields.h"

namespace hexaplan::cli {

using presets::InputError;
using presets::ScenarioRequest;

namespace {

constexpr std::size_t kExplained = 15;
constexpr std::size_t kSuggested = 3;

std::string read_stdin() {
  return {std::istreambuf_iterator<char>{std::cin}, {}};
}

presets::JsonDocument read_document(const std::string& path) {
  return path == "-" ? presets::parse_json(read_stdin(), "stdin") : presets::read_json_file(path);
}

double price_of(const std::string& text) {
  double price = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), price);
  if (error != std::errc{} || end != text.data() + text.size() || !(price >= 0 && price <= 1e6)) {
    throw InputError({.field = "--price",
                      .value = presets::in_quotes(text),
                      .expected = "US dollars per GPU-hour, such as 2.50"});
  }
  return price;
}

/// The scenario file, if any, with the flags on top.
ScenarioRequest request_of(const EstimateOptions& options) {
  ScenarioRequest request;
  if (!options.scenario.empty()) request = presets::read_scenario(read_document(options.scenario));
  if (options.model == "-") {
    request.model = read_document("-").root;
  } else if (!options.model.empty()) {
    request.model = options.model;
  }
  if (!options.cluster.empty()) request.cluster = options.cluster;
  if (!options.framework.empty()) request.framework = options.framework;
  if (!options.calibration.empty()) request.calibration = options.calibration;
  if (!options.layout.empty()) request.layout = presets::parse_layout(options.layout, "--layout");
  if (!options.price.empty()) request.price_per_hour = price_of(options.price);
  for (const auto& [key, flag, text] : options.recipe)
    presets::set_recipe_field(request.recipe, key, flag, text);
  return request;
}

/// Says which flag or file a request came from that could not be resolved.
presets::ResolvedScenario resolve(const ScenarioRequest& request, const EstimateOptions& options) {
  try {
    return presets::resolve(request);
  } catch (const InputError& error) {
    presets::InputProblem problem = error.problem;
    const bool flag = (problem.field == "cluster" && !options.cluster.empty()) ||
                      (problem.field == "layout" && (!options.layout.empty() || options.scenario.empty()));
    if (!problem.file.empty() || problem.field.compare(0, 2, "--") == 0) throw;
    if (flag) {
      problem.field.insert(0, "--");
    } else if (!options.scenario.empty()) {
      problem.file = options.scenario;
    }
    throw InputError{std::move(problem)};
  }
}

Explanation explain(const EstimateReport& report) {
  const auto& peak = report.estimate.stages[static_cast<std::size_t>(report.estimate.peak_stage)];
  return {.stage = peak.stage,
          .instant = peak.instant,
          .tensors = costmodel::largest_tensors(report.scenario, peak.stage, peak.instant, kExplained),
          .operations =
              costmodel::largest_operations(report.scenario, report.calibration, peak.stage, kExplained)};
}

}  // namespace

EstimateReport run_estimate(const EstimateOptions& options) {
  EstimateReport report;
  report.request = request_of(options);
  if (!options.save_scenario.empty())
    write_file(options.save_scenario, presets::to_text(to_json(report.request)) + "\n");
  auto [scenario, notes] = resolve(report.request, options);
  report.scenario = std::move(scenario);
  report.notes = std::move(notes);
  report.parameters = costmodel::count_parameters(report.scenario.model).total;
  auto [calibration, fabric] = presets::calibration_for(report.request, report.scenario.cluster);
  report.calibration = std::move(calibration);
  report.fabric = std::move(fabric);
  report.estimate = costmodel::estimate_step(report.scenario, report.calibration);
  if (!report.priced()) return report;
  if (report.scenario.recipe.tokens > 0)
    report.training = costmodel::training_cost(report.scenario, report.estimate);
  if (!report.fits()) report.changes = fitting_changes(report.scenario, report.calibration, kSuggested);
  if (options.explain) report.explanation = explain(report);
  return report;
}

}  // namespace hexaplan::cli
