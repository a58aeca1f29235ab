#include "presets/json/json_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "presets/json/number_text.h"
#include "presets/json/utf8.h"

namespace hexaplan::presets {
namespace {

std::string escaped(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    default:
      return static_cast<unsigned char>(c) < 0x20 ? fmt::format("\\u{:04x}", static_cast<unsigned>(c))
                                                  : std::string(1, c);
  }
}

void append_string(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 1) {
      out += escaped(text.front());
    } else {
      // Names of files may be any bytes; JSON is UTF-8 (RFC 8259 §8.1): U+FFFD stands for what is not.
      out += length == 0 ? std::string_view{"\xEF\xBF\xBD"} : text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  out += '"';
}

// In the order of JsonValue's variant.
constexpr std::string_view kTypeNames[] = {"null",     "true or false", "a whole number", "a number",
                                           "a string", "an array",      "an object"};

bool is_plain(const JsonValue& value) {
  return value.get_if<JsonArray>() == nullptr && value.get_if<JsonObject>() == nullptr;
}

struct Writer {
  JsonStyle style;
  std::string out = {};

  void break_line(int depth) {
    if (style == JsonStyle::Indented) {
      out += '\n';
      out.append(static_cast<std::size_t>(depth) * 2, ' ');
    }
  }
  void write_array(const JsonArray& array, int depth) {
    const bool one_line = std::all_of(array.begin(), array.end(), is_plain);
    out += '[';
    for (std::size_t i = 0; i < array.size(); ++i) {
      out += i == 0 ? "" : one_line && style == JsonStyle::Indented ? ", " : ",";
      if (!one_line) {
        break_line(depth + 1);
      }
      write(array[i], depth + 1);
    }
    if (!one_line) {
      break_line(depth);
    }
    out += ']';
  }
  void write_object(const JsonObject& object, int depth) {
    out += '{';
    for (std::size_t i = 0; i < object.size(); ++i) {
      out += i == 0 ? "" : ",";
      break_line(depth + 1);
      append_string(object[i].first, out);
      out += style == JsonStyle::Indented ? ": " : ":";
      write(object[i].second, depth + 1);
    }
    if (!object.empty()) {
      break_line(depth);
    }
    out += '}';
  }
  void write_real(double real) {
    std::array<char, kLongestNumber> text{};
    out.append(text.data(), write_number(real, text.data()));
  }
  void write(const JsonValue& value, int depth) {
    if (const auto* boolean = value.get_if<bool>()) {
      out += *boolean ? "true" : "false";
    } else if (const auto* integer = value.get_if<std::int64_t>()) {
      fmt::format_to(std::back_inserter(out), "{}", *integer);
    } else if (const auto* real = value.get_if<double>()) {
      write_real(*real);
    } else if (const auto* text = value.get_if<std::string>()) {
      append_string(*text, out);
    } else if (const auto* array = value.get_if<JsonArray>()) {
      write_array(*array, depth);
    } else if (const auto* object = value.get_if<JsonObject>()) {
      write_object(*object, depth);
    } else {
      out += "null";
    }
  }
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
  if (const auto* object = get_if<JsonObject>()) {
    const auto member =
        std::find_if(object->begin(), object->end(), [&](const auto& m) { return m.first == key; });
    return member == object->end() ? nullptr : &member->second;
  }
  return nullptr;
}

std::string_view JsonValue::type_name() const {
  return kTypeNames[data_.index()];
}

std::string to_text(const JsonValue& value, JsonStyle style) {
  Writer writer{style};
  writer.write(value, 0);
  return std::move(writer.out);
}

}  // namespace hexaplan::presets
