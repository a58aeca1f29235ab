#include "cli/commands/import.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <vector>

#include "cli/commands/question.h"
#include "cli/write_file.h"

namespace hexaplan::cli {

using presets::ImportedPlan;
using presets::ImportedSetting;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;

namespace {

/// By presets::SettingFate.
constexpr std::array<std::string_view, 3> kFates = {"understood", "ignored", "not known"};

std::string_view fate_of(const ImportedSetting& setting) {
  return kFates[static_cast<std::size_t>(setting.fate)];
}

JsonValue setting_json(const ImportedSetting& setting) {
  return JsonObject{
      {"file", setting.file},     {"line", static_cast<std::int64_t>(setting.line)},
      {"key", setting.key},       {"value", setting.value},
      {"fate", fate_of(setting)}, {"why", setting.why.empty() ? JsonValue{} : JsonValue{setting.why}}};
}

}  // namespace

ImportedPlan run_import(const ImportOptions& options) {
  const ScenarioOptions& question = options.question;
  ImportedPlan plan = presets::import_files(options.files, question.cluster, asked_model(question));
  override_request(plan.request, question, true);
  if (!question.save_scenario.empty())
    write_file(question.save_scenario, presets::to_text(to_json(plan.request)) + "\n");
  return plan;
}

std::string import_report(const ImportedPlan& plan) {
  std::string text;
  std::array<int, kFates.size()> counts{};
  for (const ImportedSetting& setting : plan.settings) {
    ++counts[static_cast<std::size_t>(setting.fate)];
    text += fmt::format("{}:{}: {}: {}{}{}{}\n", setting.file, setting.line, fate_of(setting), setting.key,
                        setting.value.empty() ? "" : " ", setting.value,
                        setting.why.empty() ? "" : ": " + setting.why);
  }
  for (const std::string& note : plan.notes) text += "note: " + note + "\n";
  return text + fmt::format(
                    "{}: {} settings understood, {} ignored (no influence on memory or time), {} not known\n",
                    plan.format.title, counts[0], counts[1], counts[2]);
}

JsonValue import_json(const ImportedPlan& plan) {
  JsonArray settings, notes;
  for (const ImportedSetting& setting : plan.settings) settings.push_back(setting_json(setting));
  for (const std::string& note : plan.notes) notes.emplace_back(note);
  return JsonObject{
      {"schema", "hexaplan/import/1"},     {"framework", plan.format.name},
      {"scenario", to_json(plan.request)}, {"gpus", plan.gpus > 0 ? JsonValue{plan.gpus} : JsonValue{}},
      {"settings", std::move(settings)},   {"notes", std::move(notes)}};
}

}  // namespace hexaplan::cli
