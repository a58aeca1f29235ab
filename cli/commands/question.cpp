#include "cli/commands/question.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <utility>

#include "cli/write_file.h"
#include "costmodel/units/parse_number.h"
#include "presets/import/import_plan.h"
#include "presets/json/input_error.h"
#include "presets/json/read_json.h"
#include "presets/json/read_text_file.h"
#include "presets/scenario/recipe_fields.h"
#include "presets/scenario/scenario_page.h"

namespace hexaplan::cli {

using presets::InputError;
using presets::ScenarioRequest;

namespace {

std::string read_stdin() {
  return {std::istreambuf_iterator<char>{std::cin}, {}};
}

/// A report among launch files: it says the whole question by itself.
bool is_report(const std::vector<std::string>& files) {
  return files.size() == 1 &&
         presets::scenario_in_page(presets::read_text_file(files.front()), files.front());
}

double price_of(const std::string& text) {
  const auto price = costmodel::parse_number<double>(text);
  if (!price || !(*price >= 0 && *price <= 1e6)) {
    throw InputError({.field = "--price",
                      .value = presets::in_quotes(text),
                      .expected = "US dollars per GPU-hour, such as 2.50"});
  }
  return *price;
}

/// What an import assumed, less what the flags say now; and how many settings it did not know.
std::vector<std::string> notes_of(const presets::ImportedPlan& plan, const ScenarioOptions& options) {
  std::vector<std::string> notes;
  for (const std::string& note : plan.notes) {
    if (!options.model.empty() && note.find("add --model") != std::string::npos) continue;
    notes.push_back(note);
  }
  const auto unknown = std::count_if(
      plan.settings.begin(), plan.settings.end(),
      [](const presets::ImportedSetting& setting) { return setting.fate == presets::SettingFate::Unknown; });
  if (unknown > 0)
    notes.push_back(fmt::format("{} settings are not known, 'hexaplan import' lists them", unknown));
  return notes;
}

}  // namespace

void override_request(ScenarioRequest& request, const ScenarioOptions& options, bool imported) {
  if (options.model == "-") {
    request.model = read_document("-").root;
  } else if (!options.model.empty()) {
    request.model = options.model;
  }
  if (!options.cluster.empty() && !imported) request.cluster = options.cluster;
  if (!options.framework.empty()) request.framework = options.framework;
  if (!options.calibration.empty()) request.calibration = options.calibration;
  if (!options.fabric.empty()) request.fabric = options.fabric;
  if (!options.layout.empty()) request.layout = presets::parse_layout(options.layout, "--layout");
  if (!options.schedule.empty())
    request.layout.layout.schedule = presets::parse_layout(options.schedule, "--schedule").layout.schedule;
  if (!options.price.empty()) request.price_per_hour = price_of(options.price);
  for (const auto& [key, flag, text] : options.recipe) {
    if (!text.empty()) presets::set_recipe_field(request.recipe, key, flag, text);
  }
}

presets::JsonDocument read_document(const std::string& path) {
  return path == "-" ? presets::parse_scenario_document(read_stdin(), "stdin")
                     : presets::read_scenario_document(path);
}

ScenarioRequest read_request(const ScenarioOptions& options, std::vector<std::string>* notes) {
  const int whole =
      (options.from.empty() ? 0 : 1) + (options.scenario.empty() ? 0 : 1) + (options.request ? 1 : 0);
  if (whole > 1) throw UsageError{"--scenario and --from each say the whole question; give one of them"};
  ScenarioRequest request = options.request.value_or(ScenarioRequest{});
  const bool report = is_report(options.from);
  const bool imported = !options.from.empty() && !report;
  if (!options.scenario.empty()) request = presets::read_scenario(read_document(options.scenario));
  if (report) request = presets::read_scenario(read_document(options.from.front()));
  if (imported) {
    presets::ImportedPlan plan = presets::import_files(options.from, options.cluster);
    request = std::move(plan.request);
    if (notes != nullptr) *notes = notes_of(plan, options);
  }
  override_request(request, options, imported);
  return request;
}

presets::ResolvedScenario resolve_request(const ScenarioRequest& request, const ScenarioOptions& options) {
  try {
    return options.memory ? options.memory->resolve(request) : presets::resolve(request);
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

presets::CalibratedScenario calibrate_request(const ScenarioRequest& request,
                                              const ScenarioOptions& options) {
  presets::ResolvedScenario resolved = resolve_request(request, options);
  return options.memory ? options.memory->calibrate(request, std::move(resolved))
                        : presets::calibrate(request, std::move(resolved));
}

Question ask(const ScenarioOptions& options) {
  Question question;
  question.request = read_request(options, &question.notes);
  if (!options.save_scenario.empty())
    write_file(options.save_scenario, presets::to_text(to_json(question.request)) + "\n");
  presets::CalibratedScenario found = calibrate_request(question.request, options);
  question.scenario = std::move(found.scenario);
  question.notes.insert(question.notes.end(), found.notes.begin(), found.notes.end());
  question.calibration = std::move(found.calibration);
  question.fabric = std::move(found.fabric);
  return question;
}

}  // namespace hexaplan::cli
