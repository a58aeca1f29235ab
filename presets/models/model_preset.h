#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "costmodel/spec/model_spec.h"
#include "presets/json/read_json.h"

namespace hexaplan::presets {

/// How a published model is called, and where its config.json is.
struct ModelNames {
  std::string name;
  std::string source;
  std::vector<std::string> same_config;  // names on the hub of further models with this config.json
};
/// A published model: `config` as its config.json has it.
struct ModelPreset : ModelNames {
  costmodel::ModelSpec spec;
};

/// {"name", "source", "same_config", "config"}: our own file, unknown keys are errors.
[[nodiscard]] ModelPreset read_model_preset(const std::filesystem::path& path);
[[nodiscard]] ModelPreset model_preset_from_document(const JsonDocument& document);
/// Without the model itself, which takes longer to read.
[[nodiscard]] ModelNames names_of_model_preset(const JsonDocument& document);
/// True for our own wrapper, false for a bare config.json.
[[nodiscard]] bool is_model_preset(const JsonDocument& document);

}  // namespace hexaplan::presets
