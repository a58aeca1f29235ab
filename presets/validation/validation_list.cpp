#include "presets/validation/validation_list.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "costmodel/units/nearest_name.h"
#include "presets/catalog/catalog.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kListSchema = "hexaplan/validation-list/1";
constexpr const char* kFolder = "validation";
constexpr Named<bool> kUses[] = {{"fitted", false}, {"held-out", true}};
/// What a listed scenario has of a scenario file.
constexpr const char* kScenarioKeys[] = {"model", "layout", "recipe", "framework"};

ListedScenario read_scenario_row(ObjectReader row, const JsonValue* models, const std::string& file) {
  ListedScenario out;
  out.name = row.required("name").text();
  out.held_out = row.required("use").choice(kUses);
  if (const auto solo = row.optional("solo")) out.solo = solo->boolean();
  JsonDocument scenario{file, JsonObject{{"schema", kScenarioSchema}}};
  auto& members = *scenario.root.get_if<JsonObject>();
  for (const char* key : kScenarioKeys) {
    if (const auto value = row.optional(key)) members.emplace_back(key, value->json());
  }
  row.finish();
  out.request = read_scenario(scenario);
  const auto* name = out.request.model.get_if<std::string>();
  const JsonValue* model = name == nullptr || models == nullptr ? nullptr : models->find(*name);
  if (model != nullptr) out.request.model = *model;
  return out;
}

ValidationList read_list(const fs::path& path) {
  const JsonDocument document = read_json_file(path);
  ObjectReader root{document};
  const ValueReader schema = root.required("schema");
  if (schema.text() != kListSchema) throw schema.error(in_quotes(kListSchema));
  ValidationList list{.name = path.stem().string(), .description = {}, .scenarios = {}};
  if (const auto text = root.optional("description")) list.description = text->text();
  const auto models = root.optional("models");
  for (const ValueReader& row : root.required("scenarios").elements()) {
    list.scenarios.push_back(
        read_scenario_row(row.object(), models ? &models->json() : nullptr, document.file));
    const std::string& name = list.scenarios.back().name;
    const auto same = std::count_if(list.scenarios.begin(), list.scenarios.end(),
                                    [&](const ListedScenario& s) { return s.name == name; });
    if (same > 1) throw row.error("a name that no other scenario of the list has");
  }
  root.finish();
  return list;
}

}  // namespace

std::vector<std::string> validation_list_names() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::path& root : preset_roots()) {
    for (fs::directory_iterator file{root / kFolder, ignored}, end; file != end; file.increment(ignored)) {
      if (file->path().extension() == ".json") names.push_back(file->path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

ValidationList find_validation_list(std::string_view name) {
  std::error_code ignored;
  const fs::path path{name};
  if (path.has_extension() && fs::is_regular_file(path, ignored)) return read_list(path);
  for (const fs::path& root : preset_roots()) {
    const fs::path file = root / kFolder / (std::string{name} + ".json");
    if (fs::is_regular_file(file, ignored)) return read_list(file);
  }
  const std::vector<std::string> names = validation_list_names();
  const std::vector<std::string_view> views{names.begin(), names.end()};
  throw InputError({.field = "--list",
                    .value = in_quotes(name),
                    .expected = "a file, or one of " + listed(views),
                    .hint = did_you_mean(costmodel::nearest_name(name, names))});
}

fs::path recorded_steps_file() {
  const fs::path name = fs::path{kFolder} / "recorded.steps";
  std::error_code ignored;
  for (const fs::path& root : preset_roots()) {
    if (fs::is_regular_file(root / name, ignored)) return root / name;
  }
  throw InputError({.field = name.string(), .expected = "a file among the built-in presets"});
}

}  // namespace hexaplan::presets
