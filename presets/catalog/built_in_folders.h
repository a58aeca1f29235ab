#pragma once
#include <span>
#include <string_view>

namespace hexaplan::presets {

/// Where the presets that come with Hexaplan may lie, absolute, first match wins. Not part of the library
/// `presets`: a build of this repository names its source tree and its install prefix; for a program that
/// links the installed package, hexaplanConfig.cmake compiles the definition with the folder in which it
/// found the package, so that the package can be moved.
[[nodiscard]] std::span<const std::string_view> built_in_folders();

}  // namespace hexaplan::presets
