#include "presets/machines/machine_lines.h"

#include <fmt/format.h>

#include <algorithm>

namespace hexaplan::presets {
namespace {

constexpr std::size_t kLargestReport = 10'000'000;

/// "\x1b[4mGPU0\x1b[0m" is how nvidia-smi writes its heading to a terminal.
std::string without_escapes(std::string_view line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      if (line[i] != '\r') plain += line[i];
      continue;
    }
    while (i < line.size() && line[i] != 'm') ++i;
  }
  return plain;
}

}  // namespace

std::vector<MachineLine> machine_lines(std::string_view text, const std::string& file) {
  if (text.size() > kLargestReport)
    throw machine_error(file, 1, fmt::format("{} bytes", text.size()), "at most 10 MB of a tool's output");
  std::vector<MachineLine> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back({static_cast<int>(lines.size()) + 1, without_escapes(text.substr(begin, end - begin))});
    begin = end + 1;
  }
  return lines;
}

std::vector<std::string_view> machine_words(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t begin = line.find_first_not_of(" \t", at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    at = end;
  }
  return words;
}

InputError machine_error(const std::string& file, int line, std::string_view value, std::string expected) {
  return InputError(
      {.file = fmt::format("{}:{}", file, line), .value = in_quotes(value), .expected = std::move(expected)});
}

}  // namespace hexaplan::presets
