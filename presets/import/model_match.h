#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "presets/json/json_value.h"
#include "presets/launch/launch_reading.h"

namespace hexaplan::presets {

/// The preset that a hub's name means: "meta-llama/Llama-3.1-8B-Instruct" is llama-3.1-8b.
[[nodiscard]] std::optional<std::string> preset_of_hub_name(std::string_view name);

/// Layers of the model that the files name; 0 where no preset is called so.
[[nodiscard]] std::int64_t layers_of_named_model(const LaunchReading& reading);

/// … and its hidden size.
[[nodiscard]] std::int64_t hidden_of_named_model(const LaunchReading& reading);

/// The model of a reading as a scenario names it: a preset that is the same in everything the framework's
/// file can say; else one that has the same memory and time, with what differs in `notes`; else its
/// dimensions. Null: the file says no model, or too little of it (`notes` says what to add).
[[nodiscard]] JsonValue model_of_reading(const LaunchReading& reading, Launcher launcher,
                                         std::vector<std::string>& notes);

}  // namespace hexaplan::presets
