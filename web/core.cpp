// What the page asks and hears: one function that takes JSON and gives JSON. The questions are those of the
// command line, option by option (cli/options), and so are the answers.
#include <emscripten.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "cli/commands/compare.h"
#include "cli/commands/estimate.h"
#include "cli/commands/presets.h"
#include "cli/commands/report.h"
#include "cli/commands/search.h"
#include "cli/commands/simulate.h"
#include "cli/commands/sweep.h"
#include "cli/failure.h"
#include "cli/options/command_of_values.h"
#include "cli/render/compare_text.h"
#include "cli/render/estimate_json.h"
#include "cli/render/search_text.h"
#include "cli/render/simulate_json.h"
#include "cli/render/sweep.h"
#include "cli/version.h"
#include "presets/import/import_plan.h"
#include "presets/json/input_error.h"
#include "presets/json/read_json.h"
#include "presets/scenario/recipe_fields.h"
#include "presets/scenario/scenario_page.h"
#include "report/html.h"
#include "report/plan_page.h"
#include "report/sweep_page.h"

namespace hexaplan::web {
namespace {

using cli::CommandRow;
using cli::OptionRow;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;
using presets::ScenarioRequest;

constexpr std::string_view kModelFile = "/files/model.json";

std::string text_of(const JsonValue& value) {
  const auto* text = value.get_if<std::string>();
  return text != nullptr ? *text : presets::to_text(value, presets::JsonStyle::Compact);
}

// ---- questions ----

/// An option of a command as a form shows it.
JsonValue row_json(const OptionRow& row) {
  JsonArray choices;
  for (const std::string& choice : row.choices) choices.emplace_back(choice);
  return JsonObject{
      {"flag", row.flags}, {"value", row.value}, {"help", row.help}, {"choices", std::move(choices)}};
}
JsonValue rows_json(const CommandRow& command) {
  JsonArray rows;
  for (const OptionRow& row : command.options) rows.push_back(row_json(row));
  return rows;
}

/// The command with the options of `question`. UsageError for one that it has not.
cli::Command command_of(CommandRow row, const JsonValue& question) {
  const JsonValue* options = question.find("options");
  return command_of_values(std::move(row), options == nullptr ? JsonValue{} : *options);
}

/// Files that the question refers to, as the page holds them.
void write_files(const JsonValue& question) {
  const JsonValue* files = question.find("files");
  if (files == nullptr) return;
  std::filesystem::create_directories("/files");
  for (const auto& [path, text] : *files->get_if<JsonObject>()) std::ofstream{path} << text_of(text);
}

// ---- answers ----

JsonValue parts_json(const report::Answer& answer) {
  JsonObject parts{
      {"title", title_of(answer)}, {"summary", summary_part(answer)}, {"inputs", inputs_part(answer)}};
  if (!answer.priced()) return parts;
  parts.emplace_back("memory", memory_part(answer));
  parts.emplace_back("ledger", ledger_part(answer));
  parts.emplace_back("time", time_part(answer));
  parts.emplace_back("evidence", evidence_part(answer));
  parts.emplace_back("formulas", formulas_part(answer));
  return parts;
}

JsonValue estimate(const JsonValue& question) {
  cli::EstimateReport estimated =
      run_estimate(std::get<cli::EstimateOptions>(command_of(cli::estimate_row(), question)));
  JsonObject out{{"json", estimate_json(estimated)}};
  const report::Answer answer = cli::answer_of(std::move(estimated), {});
  out.emplace_back("request", to_json(answer.request));
  out.emplace_back("parts", parts_json(answer));
  return out;
}

JsonValue simulate(const JsonValue& question) {
  const auto options = std::get<cli::SimulateOptions>(command_of(cli::simulate_row(), question));
  const cli::SimulateReport simulated = run_simulate(options, true);
  JsonObject out{{"json", simulate_json(simulated)}};
  if (!simulated.simulation) return out;
  const report::Answer answer = cli::answer_of(cli::run_estimate({.question = options.question}), {});
  const costmodel::Simulation drawn =
      costmodel::simulate_step(answer.resolved.scenario, answer.resolved.calibration);
  out.emplace_back("parts", JsonObject{{"timeline", timeline_part(answer, drawn)}});
  return out;
}

JsonValue compare(const JsonValue& question) {
  const auto options = std::get<cli::CompareOptions>(command_of(cli::compare_row(), question));
  const cli::CompareReport compared = run_compare(options);
  JsonValue json = compare_json(compared);
  std::vector<report::Answer> answers;
  const auto* names =
      question.find("names") == nullptr ? nullptr : question.find("names")->get_if<JsonArray>();
  for (std::size_t i = 0; i < compared.sides.size(); ++i)
    answers.push_back(cli::answer_of(compared.sides[i].report, names != nullptr && i < names->size()
                                                                   ? text_of((*names)[i])
                                                                   : std::string{}));
  return JsonObject{{"json", std::move(json)},
                    {"parts", JsonObject{{"comparison", comparison_part(answers)}}}};
}

JsonValue sweep(const cli::SearchOptions& options) {
  const cli::SweepReport swept = run_sweep(options, true);
  return JsonObject{{"json", sweep_json(swept)},
                    {"parts", JsonObject{{"plans", sweep_part(cli::report_of(swept))}}}};
}

JsonValue search(const JsonValue& question) {
  const auto options = std::get<cli::SearchOptions>(command_of(cli::search_row(), question));
  if (!options.sweep.empty()) return sweep(options);
  cli::SearchReport found = run_search(options, true);
  JsonValue json = search_json(found);
  const report::Found told{std::move(found.problem), std::move(found.ranking), std::move(found.sensitivity)};
  return JsonObject{{"json", std::move(json)}, {"parts", JsonObject{{"plans", found_part(told)}}}};
}

JsonValue report_page(const JsonValue& question) {
  const auto options = std::get<cli::ReportOptions>(command_of(cli::report_row(), question));
  return JsonObject{{"page", report::plan_page(run_report(options, true))}};
}

/// What a form shows of a request, option by option; what no option says stays in `rest`, a scenario.
JsonValue asked(const ScenarioRequest& request) {
  JsonObject options, files;
  JsonValue json = to_json(request);
  auto& members = *json.get_if<JsonObject>();
  const auto take = [](JsonObject& from, std::string_view key) {
    std::erase_if(from, [&](const presets::JsonMember& member) { return member.first == key; });
  };
  if (request.model.get_if<std::string>() != nullptr) {
    options.emplace_back("--model", request.model);
  } else if (!request.model.is_null()) {
    files.emplace_back(kModelFile, presets::to_text(request.model));
    options.emplace_back("--model", kModelFile);
  }
  take(members, "model");
  if (request.cluster.get_if<std::string>() != nullptr) {
    options.emplace_back("--cluster", request.cluster);
    take(members, "cluster");
  }
  if (!request.framework.empty()) options.emplace_back("--framework", request.framework);
  const std::string layout = to_layout_text(request.layout);
  if (!layout.empty()) options.emplace_back("--layout", layout);
  for (const char* key : {"framework", "layout"}) take(members, key);
  for (auto& [key, value] : members) {
    auto* recipe = key == "recipe" ? value.get_if<JsonObject>() : nullptr;
    if (recipe == nullptr) continue;
    for (const presets::RecipeField& field : presets::recipe_fields()) {
      const JsonValue said = field.write(request.recipe);
      const bool plain =
          !said.is_null() && said.get_if<JsonArray>() == nullptr && said.get_if<JsonObject>() == nullptr;
      if (field.flag.empty() || !plain) continue;
      options.emplace_back(field.flag, text_of(said));
      take(*recipe, field.key);
    }
  }
  std::erase_if(members, [](const presets::JsonMember& member) {
    const auto* recipe = member.second.get_if<JsonObject>();
    return recipe != nullptr && recipe->empty();
  });
  return JsonObject{{"options", std::move(options)},
                    {"files", std::move(files)},
                    {"rest", members.size() > 1 ? JsonValue{presets::to_text(json)} : JsonValue{}}};
}

/// A scenario, a report, a model or launch files, by what is in the text.
JsonValue read(const JsonValue& question) {
  const std::string text = text_of(*question.find("text"));
  const std::string name = question.find("name") == nullptr ? "pasted text" : text_of(*question.find("name"));
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool markup = first != std::string::npos && text[first] == '<';
  if (markup || (first != std::string::npos && text[first] == '{')) {
    const presets::JsonDocument document = presets::parse_scenario_document(text, name);
    if (document.root.find("schema") != nullptr)
      return JsonObject{{"asked", asked(presets::read_scenario(document))}};
    if (document.root.find("model_type") != nullptr || document.root.find("config") != nullptr) {
      ScenarioRequest model;
      model.model = document.root;
      (void)presets::look_up_model(model.model);
      return JsonObject{{"asked", asked(model)}, {"model", true}};
    }
  }
  const presets::ImportedPlan plan = presets::import_plan({{name, text}}, "");
  JsonArray notes;
  for (const std::string& note : plan.notes) notes.emplace_back(note);
  return JsonObject{{"asked", asked(plan.request)}, {"notes", std::move(notes)}};
}

JsonValue fields() {
  JsonObject presets_by_kind;  // names alone: reading every file takes half of the time to the first answer
  for (const char* kind : {"models", "gpus", "clusters", "frameworks"}) {
    JsonArray names;
    for (const std::string& name : cli::preset_names(kind)) names.emplace_back(name);
    presets_by_kind.emplace_back(kind, std::move(names));
  }
  JsonArray words;
  for (const std::string_view word : presets::known_layout_words()) words.emplace_back(word);
  return JsonObject{{"version", cli::version_text()},         {"estimate", rows_json(cli::estimate_row())},
                    {"search", rows_json(cli::search_row())}, {"layout_words", std::move(words)},
                    {"presets", std::move(presets_by_kind)},  {"style", report::page_style()}};
}

/// The question as a command line would have it, for what names the option of a refused value.
std::vector<std::string> words_of(const JsonValue& question) {
  std::vector<std::string> words;
  if (const JsonValue* command = question.find("command")) words.push_back(text_of(*command));
  const JsonValue* options = question.find("options");
  const auto* typed = options == nullptr ? nullptr : options->get_if<JsonObject>();
  if (typed == nullptr) return words;
  for (const auto& [flag, value] : *typed) words.push_back(flag + "=" + text_of(value));
  return words;
}

JsonValue answer(const JsonValue& question) {
  write_files(question);
  const std::string command = text_of(*question.find("command"));
  if (command == "fields") return fields();
  if (command == "read") return read(question);
  if (command == "estimate") return estimate(question);
  if (command == "simulate") return simulate(question);
  if (command == "compare") return compare(question);
  if (command == "search") return search(question);
  if (command == "report") return report_page(question);
  throw std::invalid_argument{"no command " + command};
}

}  // namespace
}  // namespace hexaplan::web

/// The answer to `question`, to be freed by the caller; {"error": "…"} where it cannot be used.
extern "C" EMSCRIPTEN_KEEPALIVE char* hexaplan_answer(const char* question) {
  using hexaplan::presets::JsonObject;
  hexaplan::presets::JsonValue out, asked;
  try {
    asked = hexaplan::presets::parse_json(question, "question").root;
    out = hexaplan::web::answer(asked);
  } catch (...) {
    out = JsonObject{{"error", hexaplan::cli::current_failure(hexaplan::web::words_of(asked)).message}};
  }
  const std::string text = to_text(out, hexaplan::presets::JsonStyle::Compact);
  return strdup(text.c_str());
}
