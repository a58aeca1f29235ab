#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/spec/model_spec.h"

namespace hexaplan::presets {

/// True for "meta-llama/Llama-3.1-8B": one slash between two names, and no such file or folder here.
[[nodiscard]] bool is_hub_name(std::string_view text);

/// Hugging Face's name of the model that a preset was made of; empty where its source is another.
[[nodiscard]] std::string hub_name_of_source(std::string_view source);

/// Hugging Face's name of this very model; empty where no preset made from the hub is it.
[[nodiscard]] std::string hub_name_of_model(const costmodel::ModelSpec& model);

/// config.json of a model in the local cache of huggingface_hub: $HF_HUB_CACHE, $HF_HOME/hub or
/// ~/.cache/huggingface/hub, models--ORG--NAME, the revision that refs/main names or else any that has the
/// file. Nothing where it is not there. Nothing is ever downloaded.
[[nodiscard]] std::optional<std::filesystem::path> cached_config(std::string_view hub_name);

/// The preset whose config.json this model of the hub has: the one that it was made of, or one that names it
/// under "same_config".
[[nodiscard]] std::optional<std::filesystem::path> preset_with_config_of(std::string_view hub_name);

/// The file of a model by its name on the hub: the preset that has its config.json, else config.json in the
/// local cache. InputError with the nearest of the presets' hub names where there is neither.
[[nodiscard]] std::filesystem::path find_hub_model(std::string_view hub_name);

}  // namespace hexaplan::presets
