#include "presets/models/model_origin.h"

#include <filesystem>

#include "presets/json/input_error.h"
#include "presets/json/read_json.h"
#include "presets/models/find_model.h"
#include "presets/models/hub_models.h"

namespace hexaplan::presets {
namespace {

const JsonValue* member_of(const JsonObject& object, std::string_view key) {
  for (const auto& [name, value] : object) {
    if (name == key) return &value;
  }
  return nullptr;
}

/// The config of a file: itself, or what our own presets have under "config".
JsonObject config_in(const JsonValue& root) {
  const auto* object = root.get_if<JsonObject>();
  if (object == nullptr) return {};
  const JsonValue* inner = member_of(*object, "config");
  const auto* config = inner != nullptr ? inner->get_if<JsonObject>() : nullptr;
  return config != nullptr ? *config : *object;
}

}  // namespace

ModelOrigin model_origin(const JsonValue& model) {
  if (model.get_if<JsonObject>() != nullptr) return {.config = config_in(model), .load_by = {}};
  const auto* name = model.get_if<std::string>();
  if (name == nullptr || name->find('=') != std::string::npos) return {};
  const std::filesystem::path file = model_file(*name);
  ModelOrigin origin{.config = config_in(read_json_file(file, JsonDialect::Python).root), .load_by = {}};
  if (is_hub_name(*name)) {
    origin.load_by = *name;
  } else if (file.filename() == "config.json") {
    origin.load_by = file.has_parent_path() ? file.parent_path().string() : std::string{"."};
  }
  return origin;
}

JsonValue config_value(const ModelOrigin& origin, std::string_view key) {
  if (const JsonValue* value = member_of(origin.config, key)) return *value;
  const JsonValue* text = member_of(origin.config, "text_config");
  const auto* inner = text != nullptr ? text->get_if<JsonObject>() : nullptr;
  const JsonValue* value = inner != nullptr ? member_of(*inner, key) : nullptr;
  return value != nullptr ? *value : JsonValue{};
}

}  // namespace hexaplan::presets
