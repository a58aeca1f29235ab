#pragma once
#include <filesystem>
#include <string>

#include "costmodel/spec/model_spec.h"
#include "presets/json/read_json.h"

namespace hexaplan::presets {

/// A published model: `config` as its config.json has it, and where that is.
struct ModelPreset {
  std::string name;
  std::string source;
  costmodel::ModelSpec spec;
};

/// {"name", "source", "config"}: our own file, unknown keys are errors.
[[nodiscard]] ModelPreset read_model_preset(const std::filesystem::path& path);
[[nodiscard]] ModelPreset model_preset_from_document(const JsonDocument& document);
/// True for our own wrapper, false for a bare config.json.
[[nodiscard]] bool is_model_preset(const JsonDocument& document);

}  // namespace hexaplan::presets
