#pragma once
#include <string>
#include <vector>

#include "cli/options.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

/// A preset that is there and cannot be used: most likely a file of the user's own.
struct UnreadablePreset {
  std::string name, problem;  // the problem names the file
};
/// Presets of one kind: a name and some facts each.
struct PresetList {
  std::string kind;                       // "models"
  std::vector<std::string> columns;       // "name" first
  std::vector<presets::JsonObject> rows;  // keys are the columns
  std::vector<UnreadablePreset> unreadable;
};
/// One preset as its file has it.
struct PresetContent {
  std::string kind, name, file;
  std::vector<std::string> aliases;
  presets::JsonValue content;
};

/// The names of a kind. UsageError for an unknown kind.
[[nodiscard]] std::vector<std::string> preset_names(const std::string& kind);
/// Every kind, or the one asked for; one preset that cannot be read hides no other. UsageError for an unknown
/// kind.
[[nodiscard]] std::vector<PresetList> list_presets(const PresetsOptions& options);
[[nodiscard]] PresetContent show_preset(const PresetsOptions& options);

}  // namespace hexaplan::cli
