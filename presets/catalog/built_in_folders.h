#pragma once
#include <filesystem>
#include <vector>

namespace hexaplan::presets {

/// Where the presets that come with Hexaplan may lie, absolute, first match wins: ../share/hexaplan/presets
/// beside the executable, then what was compiled in. Not part of the library `presets`: a build of this
/// repository names its source tree and its install prefix; for a program that links the installed package,
/// hexaplanConfig.cmake compiles the definition with the folder in which it found the package, so that the
/// package can be moved; a module that another program loads has a definition of its own.
[[nodiscard]] std::vector<std::filesystem::path> built_in_folders();

}  // namespace hexaplan::presets
