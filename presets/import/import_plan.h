#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "presets/launch/launch_config.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::presets {

// Somebody's launch files as a scenario: the inverse of launch_config().

enum class SettingFate : std::uint8_t {
  Understood,  // it is in the scenario
  Ignored,     // it moves neither memory nor time
  Unknown,     // it may; `why` says what is known about it
};
struct ImportedSetting {
  std::string file;
  int line = 0;
  std::string key, value;  // as written; a switch has no value
  SettingFate fate = SettingFate::Unknown;
  std::string why = {};
};

struct ImportFile {
  std::string name, text;
};

struct ImportedPlan {
  LaunchFormat format{};  // whose files they are
  ScenarioRequest request;
  std::vector<ImportedSetting> settings;  // by file and line
  std::vector<std::string> notes;         // what was assumed, and what to add
  std::int64_t gpus = 0;                  // 0: the files do not say
};

/// The text of a file that another one names; nothing when it is not there.
using FindFile = std::function<std::optional<std::string>(const std::string& name)>;

/// Reads launch scripts and configurations that belong together, and those that they name. `cluster`: what
/// the user says about the machines: a cluster ("64xH100"), a GPU type alone ("H100", of as many as the files
/// say, or as few as hold the model once), or nothing. `model`: the user's, as in a scenario, in place of
/// what the files say; null: they say it. InputError when no file says anything that a framework reads, or is
/// not of its format, and for a model that is not known.
[[nodiscard]] ImportedPlan import_plan(const std::vector<ImportFile>& files, std::string_view cluster,
                                       const FindFile& find_file = {}, const JsonValue& model = {});
/// The same from paths; files that they name are looked for beside them.
[[nodiscard]] ImportedPlan import_files(const std::vector<std::string>& paths, std::string_view cluster,
                                        const JsonValue& model = {});

}  // namespace hexaplan::presets
