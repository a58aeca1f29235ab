#pragma once
#include <filesystem>
#include <string_view>

#include "costmodel/spec/model_spec.h"

namespace hexaplan::presets {

/// A model by the name or alias of a preset ("llama-3.1-8b"; case does not matter), by its name on the hub
/// ("meta-llama/Llama-3.1-8B": hub_models.h), or by a path: a config.json, a folder that holds one, or a
/// preset file. What has a '/' or ends in ".json" is no preset's name.
/// InputError with the nearest names when there is no such preset.
[[nodiscard]] costmodel::ModelSpec find_model(std::string_view name_or_path);

/// The file that find_model reads.
[[nodiscard]] std::filesystem::path model_file(std::string_view name_or_path);

}  // namespace hexaplan::presets
