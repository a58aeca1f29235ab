#pragma once
#include <string>

#include "presets/json/json_value.h"

namespace hexaplan::presets {

/// Where a model comes from: all that its config.json says, also what no plan needs.
struct ModelOrigin {
  JsonObject config;    // empty: the model was given by its dimensions
  std::string load_by;  // name on the hub or folder by which it is loaded; empty: a preset, or dimensions
};
/// Of what a question names ("llama-3.1-8b", "org/name", "folder/config.json", or the config itself).
/// InputError when its file cannot be read.
[[nodiscard]] ModelOrigin model_origin(const JsonValue& model);

/// What config.json says under a key, in a wrapper's text_config too; null where it says nothing.
[[nodiscard]] JsonValue config_value(const ModelOrigin& origin, std::string_view key);

}  // namespace hexaplan::presets
