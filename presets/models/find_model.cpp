#include "presets/models/find_model.h"

#include <filesystem>

#include "presets/catalog/catalog.h"
#include "presets/models/hub_models.h"
#include "presets/models/model_preset.h"
#include "presets/models/read_model_config.h"

namespace hexaplan::presets {
namespace {

bool is_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".json");
}

/// "models/Llama-3.1-8B/" holds its config.json.
std::filesystem::path file_at(std::filesystem::path path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    return path;
  }
  return (path.has_filename() ? path : path.parent_path()) / "config.json";
}

}  // namespace

std::filesystem::path model_file(std::string_view name_or_path) {
  if (is_hub_name(name_or_path)) return find_hub_model(name_or_path);
  return is_path(name_or_path) ? file_at(name_or_path) : find_preset(PresetKind::Model, name_or_path);
}

costmodel::ModelSpec find_model(std::string_view name_or_path) {
  if (!is_path(name_or_path)) {
    return read_model_preset(model_file(name_or_path)).spec;
  }
  const JsonDocument document = read_json_file(model_file(name_or_path), JsonDialect::Python);
  if (is_model_preset(document)) return model_preset_from_document(document).spec;
  costmodel::ModelSpec model = model_from_config(document.file, "", document.root);
  // The cache's folders are named by revisions.
  if (is_hub_name(name_or_path)) model.name = name_or_path.substr(name_or_path.find('/') + 1);
  return model;
}

}  // namespace hexaplan::presets
