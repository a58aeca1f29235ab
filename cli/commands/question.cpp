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
using presets::JsonArray;
using presets::JsonMember;
using presets::JsonObject;
using presets::JsonValue;
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

/// Whether a refused value, in quotes, was typed as a flag, on top of a scenario's file.
bool is_typed(const std::string& value, const ScenarioOptions& options) {
  if (value.size() < 3) return false;
  const std::string refused = value.substr(1, value.size() - 2);
  const auto& texts = {options.model, options.cluster, options.framework, options.calibration};
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& text) { return text.find(refused) != std::string::npos; });
}

/// Whether flags ask something else than the file.
bool changes_question(const ScenarioOptions& options) {
  const auto& texts = {options.model,     options.cluster,     options.layout, options.schedule,
                       options.framework, options.calibration, options.fabric};
  return std::any_of(texts.begin(), texts.end(), [](const std::string& text) { return !text.empty(); }) ||
         std::any_of(options.recipe.begin(), options.recipe.end(),
                     [](const auto& flag) { return !flag.text.empty(); });
}

/// Members of a scenario or of its recipe, "layout", "recipe.sequence".
struct ScenarioMember {
  JsonObject* object = nullptr;
  std::string_view key;
};
ScenarioMember member_of(JsonObject& scenario, std::string_view name) {
  constexpr std::string_view kRecipe = "recipe.";
  if (!name.starts_with(kRecipe)) return {&scenario, name};
  for (auto& [key, value] : scenario) {
    if (key == "recipe") return {value.get_if<JsonObject>(), name.substr(kRecipe.size())};
  }
  return {};
}

/// Member of the layout's words: dp, where it followed from the GPUs.
constexpr std::string_view kDataParallel = "layout.dp";

/// The layout without its dp.
void follow_from_gpus(JsonObject& scenario) {
  for (auto& [key, value] : scenario) {
    const auto* words = value.get_if<std::string>();
    if (key != "layout" || words == nullptr) continue;
    presets::LayoutRequest layout = presets::parse_layout(*words, "/layout");
    layout.dp_given = false;
    value = presets::to_layout_text(layout);
  }
}

}  // namespace

void ask_anew(JsonValue& root) {
  auto* scenario = root.get_if<JsonObject>();
  const JsonValue* filled = root.find("filled");
  if (scenario == nullptr || filled == nullptr || filled->get_if<JsonArray>() == nullptr) return;
  const JsonArray names = *filled->get_if<JsonArray>();
  for (const JsonValue& name : names) {
    const auto* text = name.get_if<std::string>();
    if (text != nullptr && *text == kDataParallel) {
      follow_from_gpus(*scenario);
      continue;
    }
    const ScenarioMember member = text == nullptr ? ScenarioMember{} : member_of(*scenario, *text);
    if (member.object != nullptr)
      std::erase_if(*member.object, [&](const JsonMember& each) { return each.first == member.key; });
  }
}

namespace {

/// Names of the members of `whole` that `asked` does not have.
void append_filled(const JsonValue& asked, const JsonValue& whole, const std::string& prefix,
                   JsonArray& names) {
  for (const auto& [key, value] : *whole.get_if<JsonObject>()) {
    const JsonValue* said = asked.find(key);
    if (said == nullptr) {
      names.emplace_back(prefix + key);
    } else if (key == "recipe") {
      append_filled(*said, value, "recipe.", names);
    }
  }
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

/// What an import assumed, and how many settings it did not know.
std::vector<std::string> notes_of(const presets::ImportedPlan& plan) {
  std::vector<std::string> notes = plan.notes;
  const auto unknown = std::count_if(
      plan.settings.begin(), plan.settings.end(),
      [](const presets::ImportedSetting& setting) { return setting.fate == presets::SettingFate::Unknown; });
  if (unknown > 0)
    notes.push_back(fmt::format("{} settings are not known, 'hexaplan import' lists them", unknown));
  return notes;
}

}  // namespace

JsonValue asked_model(const ScenarioOptions& options) {
  if (options.model.empty()) return {};
  return options.model == "-" ? read_document("-").root : JsonValue{options.model};
}

void override_request(ScenarioRequest& request, const ScenarioOptions& options, bool imported) {
  if (!options.model.empty() && !imported) request.model = asked_model(options);
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
  if (!options.scenario.empty()) {
    presets::JsonDocument document = read_document(options.scenario);
    if (changes_question(options)) ask_anew(document.root);
    request = presets::read_scenario(document);
  }
  if (report) request = presets::read_scenario(read_document(options.from.front()));
  if (imported) {
    presets::ImportedPlan plan = presets::import_files(options.from, options.cluster, asked_model(options));
    request = std::move(plan.request);
    if (notes != nullptr) *notes = notes_of(plan);
  }
  override_request(request, options, imported);
  return request;
}

namespace {

/// What `look` finds for the question; a problem is told of the flag or the file that said it.
template <class Look>
auto said_where(const ScenarioOptions& options, const Look& look) {
  try {
    return look();
  } catch (const InputError& error) {
    presets::InputProblem problem = error.problem;
    const bool flag = (problem.field == "cluster" && !options.cluster.empty()) ||
                      (problem.field == "layout" && (!options.layout.empty() || options.scenario.empty()));
    if (!problem.file.empty() || problem.field.compare(0, 2, "--") == 0) throw;
    if (flag) {
      problem.field.insert(0, "--");
    } else if (!options.scenario.empty() && !is_typed(problem.value, options)) {
      problem.file = options.scenario;
    }
    throw InputError{std::move(problem)};
  }
}

}  // namespace

presets::ResolvedScenario resolve_request(const ScenarioRequest& request, const ScenarioOptions& options) {
  return said_where(
      options, [&] { return options.memory ? options.memory->resolve(request) : presets::resolve(request); });
}

presets::CalibratedScenario calibrate_request(const ScenarioRequest& request,
                                              const ScenarioOptions& options) {
  presets::ResolvedScenario resolved = resolve_request(request, options);
  return said_where(options, [&] {
    return options.memory ? options.memory->calibrate(request, std::move(resolved))
                          : presets::calibrate(request, std::move(resolved));
  });
}

ScenarioRequest filled_request(const Question& question) {
  ScenarioRequest filled = question.request;
  filled.layout.layout = question.scenario.layout;
  filled.layout.dp_given = true;
  filled.recipe = question.scenario.recipe;
  filled.framework = question.scenario.framework.name;
  return filled;
}

JsonValue filled_document(const Question& question) {
  ScenarioRequest whole = filled_request(question);
  // A framework may be a file of one's own, which a name would not find.
  if (!question.request.framework.empty()) whole.framework = question.request.framework;
  JsonValue document = to_json(whole);
  JsonArray filled;
  const JsonValue asked = to_json(question.request);
  append_filled(asked, document, {}, filled);
  if (asked.find("layout") != nullptr && !question.request.layout.dp_given)
    filled.emplace_back(kDataParallel);
  if (!filled.empty()) document.get_if<JsonObject>()->emplace_back("filled", std::move(filled));
  return document;
}

void save_scenario(const std::string& file, const Question& question) {
  if (!file.empty()) write_file(file, presets::to_text(filled_document(question)) + "\n");
}

Question ask(const ScenarioOptions& options) {
  Question question;
  question.request = read_request(options, &question.notes);
  presets::CalibratedScenario found = calibrate_request(question.request, options);
  question.scenario = std::move(found.scenario);
  question.notes.insert(question.notes.end(), found.notes.begin(), found.notes.end());
  question.calibration = std::move(found.calibration);
  question.fabric = std::move(found.fabric);
  save_scenario(options.save_scenario, question);
  return question;
}

}  // namespace hexaplan::cli
