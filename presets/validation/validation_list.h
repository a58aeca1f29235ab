#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "presets/scenario/scenario_request.h"

namespace hexaplan::presets {

/// One scenario of a list that `hexaplan validate` works off.
struct ListedScenario {
  std::string name;       // unique in the list
  bool held_out = false;  // never used for fitting: what accuracy is claimed on
  bool solo = false;      // one rank at a time, messages imitated
  ScenarioRequest request;
};

/// Scenarios to measure, as data: {"schema": "hexaplan/validation-list/1", "description", "models": {name:
/// config.json object}, "scenarios": [{"name", "use": "fitted" or "held-out", "solo", "model", "layout",
/// "recipe"}]}. A scenario's model is a name of `models`, else a preset. No cluster: the hardware is what is
/// there.
struct ValidationList {
  std::string name;
  std::string description;
  std::vector<ListedScenario> scenarios;
};

/// By name in presets/validation, or the path of a file. InputError when there is none, or a member is
/// missing, unknown or something else.
[[nodiscard]] ValidationList find_validation_list(std::string_view name);
[[nodiscard]] std::vector<std::string> validation_list_names();

/// Where the steps are that the executor's hand-written layers ran, one file that the validator reads
/// (StepRecord). InputError when no folder of presets has it.
[[nodiscard]] std::filesystem::path recorded_steps_file();

}  // namespace hexaplan::presets
