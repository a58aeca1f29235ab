#include "presets/scenario/swept_values.h"

#include <fmt/format.h>

#include "costmodel/units/parse_units.h"
#include "presets/json/input_error.h"

namespace hexaplan::presets {

void append_swept_values(std::string_view text, std::string_view field, bool lengths,
                         std::vector<std::string>& values) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    values.emplace_back(text);
    return;
  }
  const auto parse = lengths ? costmodel::parse_length : costmodel::parse_count;
  const auto first = parse(text.substr(0, dots)), last = parse(text.substr(dots + 2));
  if (!first || !last || *first < 1 || *last < *first)
    throw InputError({.field = std::string{field},
                      .value = in_quotes(text),
                      .expected = "a range of whole numbers that doubles, such as 64..4096"});
  for (std::int64_t value = *first;; value *= 2) {
    values.push_back(fmt::format("{}", value));
    if (value > *last / 2 || values.size() > kMostSweptCells) return;
  }
}

}  // namespace hexaplan::presets
