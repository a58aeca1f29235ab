#pragma once

#include <span>
#include <string_view>

namespace hexaplan::fuzz {

/// Something that reads what strangers wrote.
struct Reader {
  std::string_view name;  // of its corpus, tests/fuzz/corpus/NAME
  void (*read)(std::string_view text);
};
[[nodiscard]] std::span<const Reader> readers();

/// Reads `text` as `reader` does. Text is read, or refused with an error of one line; another exception, or
/// an error of no or several lines, is thrown on as std::logic_error.
void read_or_refuse(const Reader& reader, std::string_view text);

}  // namespace hexaplan::fuzz
