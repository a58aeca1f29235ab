#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/spec/model_spec.h"
#include "presets/json/json_value.h"
#include "presets/launch/launch_reading.h"

namespace hexaplan::presets {

/// The preset that a hub's name means: "meta-llama/Llama-3.1-8B-Instruct" is llama-3.1-8b.
[[nodiscard]] std::optional<std::string> preset_of_hub_name(std::string_view name);

/// The preset that the files name their model by; nothing where none is called so.
[[nodiscard]] std::optional<costmodel::ModelSpec> named_model(const LaunchReading& reading);

/// The model of a reading as a scenario names it: a preset that is the same in everything the framework's
/// file can say; else one that has the same memory and time, with what differs in `notes`; else its
/// dimensions. Null: the file says no model, or too little of it (`notes` says what to add).
[[nodiscard]] JsonValue model_of_reading(const LaunchReading& reading, Launcher launcher,
                                         std::vector<std::string>& notes);

}  // namespace hexaplan::presets
