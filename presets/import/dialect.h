#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "presets/import/setting.h"
#include "presets/launch/launch_fields.h"
#include "presets/launch/launch_reading.h"

namespace hexaplan::presets {

/// A setting that people write and that no export does.
struct ForeignSetting {
  std::string_view key;
  void (*read)(const ValueReader& value,
               LaunchReading& into);  // null: understood, and says nothing of a plan
};
/// A setting that changes memory or time and that no word of a scenario says. `key` is a pattern.
struct WordlessSetting {
  std::string_view key, why;
  bool usual = false;  // the value of a switch with which it is what is planned
};

/// How one framework's people write their settings down.
struct Dialect {
  Launcher launcher;
  std::span<const ForeignSetting> more;
  std::span<const WordlessSetting> wordless;
  std::span<const std::string_view> ignored;  // patterns of keys without influence on memory and time
  /// As the tables have the key of a flag: true: with its dashes, false: without them and with '_' for '-'.
  bool flags;
  /// Of something that a trainer stands on: beside a trainer's settings it is not the one that is run.
  bool below = false;
  /// A command says its settings as key=value, and flags are its program's own.
  bool overrides = false;
};
[[nodiscard]] std::span<const Dialect> dialects();

/// What a key means in a dialect.
struct KeyMeaning {
  enum class Kind { Read, Wordless, Ignored, Unknown } kind = Kind::Unknown;
  void (*read)(const ValueReader& value,
               LaunchReading& into) = nullptr;  // of Kind::Read; null: nothing more to do
  std::string_view why = {};                    // of Kind::Wordless
  bool usual = false;                           // … with this value it is what is planned
  bool reads_null = false;                      // of Kind::Read: null is a value
};
[[nodiscard]] KeyMeaning meaning_of_key(const Dialect& dialect, std::string_view key);

/// The dialect that understands most of the settings; nullptr when none understands any.
[[nodiscard]] const Dialect* dialect_of(const std::vector<Setting>& settings);

}  // namespace hexaplan::presets
