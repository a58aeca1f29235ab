#include "presets/json/read_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>

#include "presets/json/input_error.h"
#include "presets/json/json_pointer.h"
#include "presets/json/read_text_file.h"

namespace hexaplan::presets {
namespace {

constexpr auto kLargestInteger = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
constexpr int kNumberOutOfRange = 406;  // nlohmann-json's error id
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct Position {
  std::size_t line = 1, column = 1;
};

Position position_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t last_break = before.rfind('\n');
  return {.line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')),
          .column = last_break == std::string_view::npos ? offset + 1 : offset - last_break};
}

/// Where the word or number that `offset` lies in begins.
std::size_t start_of_token(std::string_view text, std::size_t offset) {
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '+' || c == '.';
  };
  while (offset > 0 && in_word(text[offset]) && in_word(text[offset - 1])) {
    --offset;
  }
  return offset;
}

struct Advice {
  std::string_view starts_with;
  std::string_view hint;
};
// What people write that JSON does not know.
constexpr Advice kAdvice[] = {
    {"NaN", "JSON has no NaN; write a number or null"},
    {"nan", "JSON has no NaN; write a number or null"},
    {"Infinity", "JSON has no Infinity; write a number or null"},
    {"-Infinity", "JSON has no Infinity; write a number or null"},
    {"inf", "JSON has no Infinity; write a number or null"},
    {"//", "JSON has no comments; remove it"},
    {"/*", "JSON has no comments; remove it"},
    {"#", "JSON has no comments; remove it"},
    {"'", "strings take double quotes"},
    {"True", "write true"},
    {"False", "write false"},
    {"None", "write null"},
    {"+", "numbers take no plus sign"},
    {".", "numbers start with a digit: 0.5"},
};

std::string_view advice_for(std::string_view text, std::size_t start) {
  const std::string_view rest = text.substr(start);
  for (const Advice& advice : kAdvice) {
    if (rest.starts_with(advice.starts_with)) {
      return advice.hint;
    }
  }
  if (rest.starts_with('}') || rest.starts_with(']')) {
    const std::size_t before = text.substr(0, start).find_last_not_of(" \t\r\n");
    if (before != std::string_view::npos && text[before] == ',') {
      return "remove the comma before it";
    }
  }
  return {};
}

/// The reason inside nlohmann's message, which reads "[…] parse error at …: syntax error while … - REASON".
std::string reason_of(std::string message) {
  if (const std::size_t dash = message.find(" - "); dash != std::string::npos) {
    message.erase(0, dash + 3);
  }
  if (const std::size_t last = message.find("; last read"); last != std::string::npos) {
    message.erase(last);
  }
  return message;
}

/// Builds a JsonValue from the parser's events and stops at the first breach of a limit.
class Builder {
 public:
  Builder(std::string_view text, std::string file) : text_{text}, file_{std::move(file)} {}

  bool null() { return add({}); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) {
    return value <= kLargestInteger ? add(static_cast<std::int64_t>(value)) : add(static_cast<double>(value));
  }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(std::vector<std::uint8_t>&) { return false; }  // not in JSON text

  bool start_object(std::size_t) { return open(JsonObject{}); }
  bool start_array(std::size_t) { return open(JsonArray{}); }
  bool end_array() { return close(); }
  bool end_object() {
    require_unique_keys(*open_.back().container.get_if<JsonObject>());
    return close();
  }
  bool key(std::string& name) {
    open_.back().key = std::move(name);
    return true;
  }

  bool parse_error(std::size_t read, const std::string&, const nlohmann::detail::exception& error) {
    const bool at_end = read > text_.size() || text_.empty();
    const std::size_t start = at_end ? text_.size() : start_of_token(text_, read - 1);
    const std::string_view token = at_end ? std::string_view{} : text_.substr(start, read - start);
    const Position at = position_of(text_, start);
    const std::string where = fmt::format("{}:{}:{}", file_, at.line, at.column);
    if (error.id == kNumberOutOfRange) {
      throw InputError(
          {.file = where, .value = std::string{token}, .expected = "a number between -1.8e308 and 1.8e308"});
    }
    const std::string_view advice = advice_for(text_, start);
    throw InputError({.file = where,
                      .value = at_end ? std::string{"the end of the text"} : in_quotes(token),
                      .expected = "JSON",
                      .hint = advice.empty() ? reason_of(error.what()) : std::string{advice}});
  }

  [[nodiscard]] JsonValue take() { return std::move(root_); }

 private:
  struct Open {
    JsonValue container;
    std::string key = {};  // of the member being read
  };

  bool open(JsonValue container) {
    if (open_.size() >= kDeepestJson) {
      throw InputError({.file = file_,
                        .field = pointer(),
                        .value = "deeper nesting",
                        .expected = fmt::format("at most {} levels", kDeepestJson)});
    }
    open_.push_back({std::move(container)});
    return true;
  }
  bool close() {
    JsonValue done = std::move(open_.back().container);
    open_.pop_back();
    return add(std::move(done));
  }
  bool add(JsonValue value) {
    if (++values_ > kMostJsonValues) {
      throw InputError({.file = file_,
                        .value = "more values than that",
                        .expected = fmt::format("at most {} values", kMostJsonValues)});
    }
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (auto* array = open_.back().container.get_if<JsonArray>()) {
      array->push_back(std::move(value));
    } else {
      open_.back().container.get_if<JsonObject>()->emplace_back(std::move(open_.back().key),
                                                                std::move(value));
    }
    return true;
  }
  void require_unique_keys(const JsonObject& object) const {
    std::vector<std::string_view> keys;
    keys.reserve(object.size());
    for (const JsonMember& member : object) {
      keys.emplace_back(member.first);
    }
    std::sort(keys.begin(), keys.end());
    if (const auto twice = std::adjacent_find(keys.begin(), keys.end()); twice != keys.end()) {
      throw InputError({.file = file_,
                        .field = pointer_to(pointer_of_open_object(), *twice),
                        .value = "the key twice",
                        .expected = "each key once"});
    }
  }
  [[nodiscard]] std::string pointer_to_depth(std::size_t depth) const {
    std::string result;
    for (std::size_t i = 0; i < depth; ++i) {
      const auto* array = open_[i].container.get_if<JsonArray>();
      result = array != nullptr ? pointer_to(result, array->size()) : pointer_to(result, open_[i].key);
    }
    return result;
  }
  [[nodiscard]] std::string pointer() const { return pointer_to_depth(open_.size()); }
  [[nodiscard]] std::string pointer_of_open_object() const { return pointer_to_depth(open_.size() - 1); }

  std::string_view text_;
  std::string file_;
  JsonValue root_;
  std::vector<Open> open_;
  std::int64_t values_ = 0;
};

/// What stands for Python's infinite number at the beginning of `rest`: a text of the same length, so that
/// lines and columns stay. Empty: there is none.
std::string_view text_of_infinity(std::string_view rest) {
  if (rest.starts_with("Infinity")) return "\"inf\"   ";
  return rest.starts_with("-Infinity") ? "\"-inf\"   " : "";
}

std::string quote_infinities(std::string_view text) {
  std::string out{text};
  bool inside = false;  // of a string
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') inside = !inside;
    if (inside) {
      i += text[i] == '\\' ? 1 : 0;
      continue;
    }
    const std::string_view quoted = text_of_infinity(text.substr(i));
    out.replace(i, quoted.size(), quoted);
    i += quoted.empty() ? 0 : quoted.size() - 1;
  }
  return out;
}

}  // namespace

JsonDocument parse_json(std::string_view text, std::string file_name, JsonDialect dialect) {
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  std::string quoted;
  if (dialect == JsonDialect::Python) text = quoted = quote_infinities(text);
  Builder builder{text, file_name};
  nlohmann::json::sax_parse(text, &builder);
  return {.file = std::move(file_name), .root = builder.take()};
}

JsonDocument read_json_file(const std::filesystem::path& path, JsonDialect dialect) {
  return parse_json(read_text_file(path), path.string(), dialect);
}

}  // namespace hexaplan::presets
