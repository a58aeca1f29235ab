#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace hexaplan::presets {

inline constexpr std::int64_t kLargestFile = 256'000'000;

/// Whole content of a regular file of at most `largest` bytes. InputError for anything else: directories,
/// devices and pipes would block or never end.
[[nodiscard]] std::string read_text_file(const std::filesystem::path& path,
                                         std::int64_t largest = kLargestFile);

}  // namespace hexaplan::presets
