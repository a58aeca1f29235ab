#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hexaplan::presets {

enum class PresetKind : std::uint8_t { Model, Gpu, Cluster, Framework, Calibration };
inline constexpr int kPresetKinds = 5;
/// "model", "gpu", …: for messages and commands.
[[nodiscard]] std::string_view name_of(PresetKind kind);

/// Folders that presets are looked for in, first match wins: the one in the environment variable
/// HEXAPLAN_PRESETS (the user's own; InputError when it is no folder), then the built-in one: the first of
/// built_in_folders() that is there.
[[nodiscard]] std::vector<std::filesystem::path> preset_roots();

/// Names of all presets of a kind, sorted. Reads directories only.
[[nodiscard]] std::vector<std::string> list_presets(PresetKind kind);

/// File of a preset. `name` is a file's name without ".json", or an alias (aliases.json of the folder); case,
/// '_' and blanks do not matter. What ends in ".json" is a file of the user's own, of the same form.
/// InputError with the nearest name when there is no such preset. Opens at most aliases.json.
[[nodiscard]] std::filesystem::path find_preset(PresetKind kind, std::string_view name);

/// Aliases of one preset, in the order of aliases.json.
[[nodiscard]] std::vector<std::string> aliases_of(PresetKind kind, std::string_view name);

/// What aliases.json says of an alias whose preset is not quite the same: "… trains through …". Empty for
/// other names.
[[nodiscard]] std::string note_of_alias(PresetKind kind, std::string_view name);
/// What an alias stands for where states are sharded `by` "zero" or "fsdp"; empty: the same as elsewhere.
[[nodiscard]] std::string preset_where_sharded(PresetKind kind, std::string_view name, std::string_view by);

}  // namespace hexaplan::presets
