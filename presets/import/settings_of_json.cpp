#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "costmodel/units/parse_number.h"
#include "presets/import/setting.h"
#include "presets/json/read_json.h"

namespace hexaplan::presets {
namespace {

bool is_plain_list(const JsonArray& list) {
  return std::all_of(list.begin(), list.end(), [](const JsonValue& element) {
    return element.get_if<JsonArray>() == nullptr && element.get_if<JsonObject>() == nullptr;
  });
}

/// Lines of the values that are no objects, in the order of the text, which is known to be JSON. A list of
/// plain values counts once.
class JsonLines {
 public:
  explicit JsonLines(std::string_view text) : text_{text} {}

  /// Moves to the next plain value or to the next opening bracket of a list.
  int next() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (std::string_view{" \t\r\n,:{}]"}.find(c) != std::string_view::npos) continue;
      const int here = line_;
      if (c == '[') {
        ++at_;
        return here;
      }
      if (c != '"') {
        at_ = std::min(text_.find_first_of(" \t\r\n,:{}]", at_), text_.size());
        return here;
      }
      skip_string();
      const std::size_t after = text_.find_first_not_of(" \t\r\n", at_);
      if (after != std::string_view::npos && text_[after] == ':') {
        --at_;
        continue;  // a key
      }
      return here;
    }
    return line_;
  }

 private:
  void skip_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) at_ += text_[at_] == '\\' ? 1 : 0;
    if (at_ < text_.size()) ++at_;
  }
  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

void append_json(const JsonValue& value, const std::string& path, const std::string& file, JsonLines& lines,
                 std::vector<Setting>& settings) {
  if (const auto* object = value.get_if<JsonObject>()) {
    for (const auto& [key, member] : *object)
      append_json(member, path.empty() ? key : fmt::format("{}.{}", path, key), file, lines, settings);
    return;
  }
  const int line = lines.next();
  const auto* list = value.get_if<JsonArray>();
  if (list != nullptr && !is_plain_list(*list)) {
    for (std::size_t i = 0; i < list->size(); ++i)
      append_json((*list)[i], path + "." + std::to_string(i), file, lines, settings);
    return;
  }
  if (list != nullptr) {
    for (std::size_t i = 0; i < list->size(); ++i) (void)lines.next();
  }
  settings.push_back({path, value, file, line});
}

}  // namespace

JsonValue value_of_word(std::string_view word) {
  if (word == "true" || word == "True") return true;
  if (word == "false" || word == "False") return false;
  if (const auto number = costmodel::parse_number<std::int64_t>(word)) return *number;
  if (!word.empty() && std::string_view{"+-.0123456789"}.find(word.front()) != std::string_view::npos) {
    if (const auto number = costmodel::parse_number<double>(word)) return *number;
  }
  return word;
}

std::vector<Setting> settings_of_json(std::string_view text, const std::string& file) {
  const JsonDocument document = parse_json(text, file);
  std::vector<Setting> settings;
  JsonLines lines{text};
  append_json(document.root, {}, file, lines, settings);
  return settings;
}

}  // namespace hexaplan::presets
