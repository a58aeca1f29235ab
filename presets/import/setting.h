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
  JsonValue value;  // null: known only when the script runs, or "auto"
  std::string file;
  int line = 0;
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
