#include "presets/json/field_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace hexaplan::presets {

// No stream: the Python module makes rows of options for every estimate.
std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::vector<std::string> offered(const FieldText& text) {
  std::vector<std::string> values = text.words == nullptr ? std::vector<std::string>{} : text.words();
  std::vector<std::string> examples = words_in(text.examples);
  std::move(examples.begin(), examples.end(), std::back_inserter(values));
  return values;
}

std::string help_of(const FieldText& text) {
  std::string help = text.help;
  const std::size_t place = help.find("{}");
  if (place != std::string::npos) help.replace(place, 2, fmt::format("{}", fmt::join(text.words(), ", ")));
  return help;
}

}  // namespace hexaplan::presets
