#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "presets/json/json_value.h"

namespace hexaplan::presets {

inline constexpr int kDeepestJson = 64;
inline constexpr std::int64_t kMostJsonValues = 1'000'000;

struct JsonDocument {
  std::string file;  // as errors name it
  JsonValue root;
};

enum class JsonDialect : std::uint8_t {
  Strict,
  Python,  // Infinity and -Infinity, as its json module writes them, are texts: "inf", "-inf"
};

/// Strict JSON: UTF-8 (a byte order mark is skipped), no comments, no NaN, no duplicate keys, at most
/// kDeepestJson levels and kMostJsonValues values. Throws InputError with line and column.
[[nodiscard]] JsonDocument parse_json(std::string_view text, std::string file_name,
                                      JsonDialect dialect = JsonDialect::Strict);
/// The same from a regular file of at most kLargestFile bytes.
[[nodiscard]] JsonDocument read_json_file(const std::filesystem::path& path,
                                          JsonDialect dialect = JsonDialect::Strict);

}  // namespace hexaplan::presets
