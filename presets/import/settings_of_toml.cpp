#include <fmt/format.h>
#include <toml++/toml.h>

#include <cstdint>
#include <string>

#include "presets/import/setting.h"
#include "presets/json/input_error.h"

namespace hexaplan::presets {
namespace {

JsonValue plain_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* number = node.as_integer()) return static_cast<std::int64_t>(number->get());
  if (const auto* number = node.as_floating_point()) return number->get();
  return {};  // dates
}

void append_toml_node(const toml::node& node, const std::string& path, const std::string& file,
                      std::vector<Setting>& settings) {
  const int line = static_cast<int>(node.source().begin.line);
  if (const auto* table = node.as_table()) {
    for (const auto& [key, member] : *table)
      append_toml_node(member, path.empty() ? std::string{key.str()} : fmt::format("{}.{}", path, key.str()),
                       file, settings);
    return;
  }
  const auto* list = node.as_array();
  if (list == nullptr) {
    settings.push_back({path, plain_of(node), file, line});
    return;
  }
  JsonArray values;
  std::size_t index = 0;
  for (const toml::node& element : *list) {
    if (element.is_table() || element.is_array())
      append_toml_node(element, fmt::format("{}.{}", path, index), file, settings);
    else
      values.push_back(plain_of(element));
    ++index;
  }
  if (values.size() == list->size()) settings.push_back({path, std::move(values), file, line});
}

}  // namespace

std::vector<Setting> settings_of_toml(std::string_view text, const std::string& file) {
  std::vector<Setting> settings;
  try {
    append_toml_node(toml::parse(text), {}, file, settings);
  } catch (const toml::parse_error& error) {
    throw InputError({.file = fmt::format("{}:{}", file, error.source().begin.line),
                      .value = "TOML",
                      .expected = "another one here: " + std::string{error.description()}});
  }
  return settings;
}

}  // namespace hexaplan::presets
