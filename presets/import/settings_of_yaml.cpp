#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "presets/import/setting.h"
#include "presets/json/input_error.h"

namespace hexaplan::presets {
namespace {

constexpr int kDeepestYaml = 64;
constexpr std::size_t kMostYamlValues = 100'000;

struct YamlReading {
  const std::string& file;
  std::vector<Setting>& settings;
  std::size_t visited = 0;

  [[noreturn]] void refuse(int line, const std::string& expected) const {
    throw InputError({.file = fmt::format("{}:{}", file, line), .value = "YAML", .expected = expected});
  }
  void visit(int line) {
    if (++visited > kMostYamlValues) refuse(line, fmt::format("at most {} values", kMostYamlValues));
  }
};

JsonValue scalar_of(const YAML::Node& node) {
  if (node.IsNull()) return {};
  const std::string& text = node.Scalar();
  return node.Tag() == "!" ? JsonValue{text}
                           : value_of_word(text);  // in quotes: text, whatever it looks like
}

void append_yaml_node(const YAML::Node& node, const std::string& path, int depth, int line,
                      YamlReading& into) {
  const int here = node.Mark().line >= 0 && node.Mark().line + 1 > line ? node.Mark().line + 1 : line;
  into.visit(here);
  if (depth > kDeepestYaml) into.refuse(here, fmt::format("at most {} levels", kDeepestYaml));
  if (node.IsMap()) {
    for (const auto& member : node) {
      if (!member.first.IsScalar()) into.refuse(here, "keys that are plain words");
      const std::string& key = member.first.Scalar();
      append_yaml_node(member.second, path.empty() ? key : fmt::format("{}.{}", path, key), depth + 1,
                       member.first.Mark().line + 1, into);
    }
    return;
  }
  if (!node.IsSequence()) {
    into.settings.push_back({path, scalar_of(node), into.file, here});
    return;
  }
  JsonArray list;
  bool plain = true;
  for (const auto& element : node) {
    into.visit(here);
    plain = plain && !element.IsMap() && !element.IsSequence();
    if (plain) list.push_back(scalar_of(element));
  }
  if (plain) {
    into.settings.push_back({path, std::move(list), into.file, line});
    return;
  }
  std::size_t index = 0;
  for (const auto& element : node)
    append_yaml_node(element, path + "." + std::to_string(index++), depth + 1, here, into);
}

/// yaml-cpp's own guard against deep nesting comes late for a thread's stack.
void refuse_deep_flow(std::string_view text, const std::string& file) {
  int depth = 0, line = 1;
  for (const char c : text) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    line += c == '\n' ? 1 : 0;
    if (depth > 8 * kDeepestYaml)
      throw InputError({.file = fmt::format("{}:{}", file, line),
                        .value = "YAML",
                        .expected = fmt::format("at most {} levels", kDeepestYaml)});
  }
}

}  // namespace

std::vector<Setting> settings_of_yaml(std::string_view text, const std::string& file) {
  refuse_deep_flow(text, file);
  std::vector<Setting> settings;
  YamlReading into{file, settings};
  try {
    append_yaml_node(YAML::Load(std::string{text}), {}, 0, 1, into);
  } catch (const YAML::Exception& error) {
    throw InputError({.file = fmt::format("{}:{}", file, error.mark.line + 1),
                      .value = "YAML",
                      .expected = "another one here: " + error.msg});
  }
  return settings;
}

}  // namespace hexaplan::presets
