#include "cli/options/command_of_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "costmodel/units/nearest_name.h"

namespace hexaplan::cli {

using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;

namespace {

std::string text_of_plain(const std::string& flag, const JsonValue& value) {
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (value.is_null() || value.get_if<JsonArray>() != nullptr || value.get_if<JsonObject>() != nullptr)
    throw UsageError{
        fmt::format("{}: got {}, expected a text, a number, true or false", flag, value.type_name())};
  return presets::to_text(value, presets::JsonStyle::Compact);
}

std::vector<std::string> texts_of(const std::string& flag, const JsonValue& value) {
  const auto* list = value.get_if<JsonArray>();
  if (list == nullptr) return {text_of_plain(flag, value)};
  std::vector<std::string> texts;
  for (const JsonValue& each : *list) texts.push_back(text_of_plain(flag, each));
  return texts;
}

/// Writes a value into the target of its option.
struct ValueWriter {
  const OptionRow& row;
  const JsonValue& value;
  void operator()(bool* target) const {
    const auto* on = value.get_if<bool>();
    if (on == nullptr)
      throw UsageError{
          fmt::format("{}: got {}, expected true or false", row.flags, text_of_plain(row.flags, value))};
    *target = *on;
  }
  void operator()(std::string* target) const {
    *target = fmt::format("{}", fmt::join(texts_of(row.flags, value), ","));
  }
  void operator()(std::vector<std::string>* target) const { *target = texts_of(row.flags, value); }
};

UsageError unknown_option(const CommandRow& row, const std::string& flag) {
  std::vector<std::string> flags;
  for (const OptionRow& option : row.options) flags.push_back(option.flags);
  const std::string_view nearest = costmodel::nearest_name(flag, flags);
  return UsageError{fmt::format("{} has no option {}{}", row.name, flag,
                                nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest))};
}

}  // namespace

Command command_of_values(CommandRow row, const JsonValue& options) {
  const auto* values = options.get_if<JsonObject>();
  if (values == nullptr) return row.finish();
  for (const auto& [flag, value] : *values) {
    const auto found =
        std::find_if(row.options.begin(), row.options.end(),
                     [&, name = flag](const OptionRow& option) { return option.flags == name; });
    if (found == row.options.end()) throw unknown_option(row, flag);
    if (!value.is_null()) std::visit(ValueWriter{*found, value}, found->target);
  }
  return row.finish();
}

}  // namespace hexaplan::cli
