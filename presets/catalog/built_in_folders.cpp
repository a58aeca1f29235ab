// Compiled with HEXAPLAN_PRESET_FOLDERS, a list of string literals: here by presets/catalog/CMakeLists.txt,
// for users of the installed package by cmake/hexaplanConfig.cmake.in.
#include "presets/catalog/built_in_folders.h"

namespace hexaplan::presets {

std::span<const std::string_view> built_in_folders() {
  static constexpr std::string_view kFolders[] = {HEXAPLAN_PRESET_FOLDERS};
  return kFolders;
}

}  // namespace hexaplan::presets
