#include "cli/render/presets.h"

#include <fmt/format.h>

#include <utility>

#include "costmodel/units/format_units.h"

namespace hexaplan::cli {

using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;

namespace {

std::string cell_text(const JsonValue& value) {
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (const auto* number = value.get_if<std::int64_t>())
    return costmodel::format_short(static_cast<double>(*number));
  return presets::to_text(value, presets::JsonStyle::Compact);
}

/// "key: value" per member; nested objects are indented.
void append_members(const JsonValue& value, int depth, std::string& text) {
  const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  for (const auto& [key, member] : *value.get_if<JsonObject>()) {
    if (member.get_if<JsonObject>() != nullptr) {
      text += fmt::format("{}{}:\n", indent, key);
      append_members(member, depth + 1, text);
      continue;
    }
    const auto* words = member.get_if<std::string>();
    text += fmt::format("{}{}: {}\n", indent, key,
                        words != nullptr ? *words : presets::to_text(member, presets::JsonStyle::Compact));
  }
}

}  // namespace

std::string presets_text(const std::vector<PresetList>& lists, const TextStyle& style) {
  std::string text;
  for (const PresetList& list : lists) {
    std::vector<std::vector<std::string>> rows;
    if (!list.rows.empty()) rows.push_back(list.columns);
    for (const JsonObject& facts : list.rows) {
      std::vector<std::string>& cells = rows.emplace_back();
      for (const auto& [column, value] : facts) cells.push_back(cell_text(value));
    }
    if (lists.size() > 1)
      text += fmt::format("{}{} ({})\n", text.empty() ? "" : "\n", style.bold(list.kind), list.rows.size());
    // Words flush left, numbers flush right: tables of names and descriptions hold no numbers.
    const bool words = list.columns.size() <= 4;
    text += format_table(rows, words ? list.columns.size() : 2);
    for (const UnreadablePreset& preset : list.unreadable)
      text += fmt::format("{} cannot be read: {}\n", preset.name, preset.problem);
  }
  return text;
}

std::string preset_text(const PresetContent& preset, const TextStyle& style) {
  std::string text = fmt::format("{} {}\n", style.bold(preset.name), style.dim(preset.file));
  if (!preset.aliases.empty()) text += fmt::format("also: {}\n", fmt::join(preset.aliases, ", "));
  append_members(preset.content, 0, text);
  return text;
}

JsonValue presets_json(const std::vector<PresetList>& lists) {
  JsonObject object{{"schema", "hexaplan/presets/1"}};
  JsonArray unreadable;
  for (const PresetList& list : lists) {
    for (const UnreadablePreset& preset : list.unreadable)
      unreadable.emplace_back(
          JsonObject{{"kind", list.kind}, {"name", preset.name}, {"problem", preset.problem}});
    JsonArray rows;
    for (const JsonObject& facts : list.rows) rows.emplace_back(facts);
    object.emplace_back(list.kind, std::move(rows));
  }
  object.emplace_back("unreadable", std::move(unreadable));
  return object;
}

JsonValue preset_json(const PresetContent& preset) {
  JsonArray aliases;
  for (const std::string& alias : preset.aliases) aliases.emplace_back(alias);
  return JsonObject{{"schema", "hexaplan/preset/1"}, {"kind", preset.kind},
                    {"name", preset.name},           {"file", preset.file},
                    {"aliases", std::move(aliases)}, {"content", preset.content}};
}

}  // namespace hexaplan::cli
