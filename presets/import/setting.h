#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "presets/json/json_value.h"

namespace hexaplan::presets {

/// One setting of somebody's launch file: a flag ("--seq-length") or a path of keys
/// ("tokens.sequence_length").
struct Setting {
  std::string key;
  JsonValue value;  // null: known only when the script runs, or not set
  std::string file;
  int line = 0;
  /// Of a value that is known only when the script runs: what it comes from ("$STAGE", "a command"). Beside
  /// the value true: what may be this switch's value, or further options behind it.
  std::string unread = {};
};

/// A word as a shell or a plain scalar writes it: 8, 1e-5 and true become numbers and booleans, else text.
[[nodiscard]] JsonValue value_of_word(std::string_view word);

// Each reads one format into settings in the order of the file; lists of plain values are one setting, lists
// of tables have their index in the path. InputError with the line for text that is not of the format, is
// nested more than 64 deep or holds more than 100,000 values.
[[nodiscard]] std::vector<Setting> settings_of_json(std::string_view text, const std::string& file);
[[nodiscard]] std::vector<Setting> settings_of_yaml(std::string_view text, const std::string& file);
[[nodiscard]] std::vector<Setting> settings_of_toml(std::string_view text, const std::string& file);

}  // namespace hexaplan::presets
