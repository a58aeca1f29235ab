// Compiled with HEXAPLAN_PRESET_FOLDERS, a list of string literals: here by presets/catalog/CMakeLists.txt,
// for users of the installed package by cmake/hexaplanConfig.cmake.in.
#include "presets/catalog/built_in_folders.h"

#include <system_error>

namespace hexaplan::presets {

std::vector<std::filesystem::path> built_in_folders() {
  std::error_code ignored;
  const std::filesystem::path executable = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return {executable.parent_path().parent_path() / "share/hexaplan/presets", HEXAPLAN_PRESET_FOLDERS};
}

}  // namespace hexaplan::presets
