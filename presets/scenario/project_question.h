#pragma once
#include <string_view>

#include "presets/json/read_json.h"

namespace hexaplan::presets {

// A project is the file of a window of hexaplan-gui (docs/json.md): its question, and everything that was
// made of it.

inline constexpr std::string_view kProjectSchema = "hexaplan/project/1";

/// Whether a document is a project, of whatever version.
[[nodiscard]] bool is_project(const JsonDocument& document);
/// InputError for a project of another version than this program's.
void check_project_version(const JsonDocument& document);
/// The question of a project, as a scenario file. InputError for a project of another version, or without
/// one.
[[nodiscard]] JsonDocument question_of_project(const JsonDocument& project);

}  // namespace hexaplan::presets
