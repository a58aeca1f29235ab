#include "presets/scenario/scenario_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "presets/json/input_error.h"
#include "presets/json/read_text_file.h"
#include "presets/scenario/project_question.h"

namespace hexaplan::presets {
namespace {

constexpr std::string_view kBegin = "<script type=\"application/json\" id=\"hexaplan-scenario";
constexpr std::string_view kEnd = "</script>";

/// Whether a text begins as HTML does, in any case.
bool is_page(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF", kStarts[] = {"<!doctype html", "<html"};
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return std::any_of(std::begin(kStarts), std::end(kStarts), [&](std::string_view start) {
    return text.size() >= start.size() &&
           std::equal(start.begin(), start.end(), text.begin(), [](char a, char b) {
             return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
           });
  });
}

constexpr std::pair<std::string_view, char> kEntities[] = {
    {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&amp;", '&'}};  // the last one last

std::string in_attribute(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto* const entity = std::find_if(std::begin(kEntities), std::end(kEntities),
                                            [&](const auto& row) { return row.second == c; });
    if (entity != std::end(kEntities)) {
      out += entity->first;
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      out += c;
    }
  }
  return out;
}

/// The value of data-name in a tag.
std::string name_of_tag(std::string_view tag) {
  constexpr std::string_view kName = "data-name=\"";
  const std::size_t begin = tag.find(kName);
  if (begin == std::string_view::npos) return {};
  tag.remove_prefix(begin + kName.size());
  std::string name{tag.substr(0, tag.find('"'))};
  for (const auto& [entity, letter] : kEntities) {
    for (std::size_t at = name.find(entity); at != std::string::npos; at = name.find(entity, at + 1))
      name.replace(at, entity.size(), 1, letter);
  }
  return name;
}

}  // namespace

bool names_a_file(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".json");
}

ScenarioRequest portable(ScenarioRequest request, const JsonValue& model_config) {
  const auto* model = request.model.get_if<std::string>();
  if (model != nullptr && names_a_file(*model) && !model_config.is_null()) request.model = model_config;
  if (names_a_file(request.calibration)) request.calibration.clear();
  if (names_a_file(request.fabric)) request.fabric.clear();
  return request;
}

std::string scenario_script(const ScenarioRequest& request, std::size_t number, std::string_view name) {
  std::string json;
  for (const char c : to_text(to_json(request))) {
    // A name may hold "</script>", "<!--" or "&"; inside JSON, these letters stand in strings only.
    if (c == '<' || c == '&') {
      json += c == '<' ? "\\u003c" : "\\u0026";
    } else {
      json += c;
    }
  }
  return fmt::format("{}{}\" data-name=\"{}\">\n{}\n{}\n", kBegin,
                     number == 1 ? std::string{} : fmt::format("-{}", number), in_attribute(name), json,
                     kEnd);
}

std::vector<PageScenario> scenarios_in_page(std::string_view text, const std::string& file) {
  std::vector<PageScenario> found;
  if (!is_page(text)) return found;
  for (std::size_t at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin, at + 1)) {
    const std::size_t content = text.find('>', at), end = text.find(kEnd, at);
    if (content > end || end == std::string_view::npos) break;
    found.push_back(
        {name_of_tag(text.substr(at, content - at)),
         parse_json(text.substr(content + 1, end - content - 1), file + " (scenario in the page)")});
  }
  if (found.empty())
    throw InputError({.file = file,
                      .value = "a page without a scenario",
                      .expected = "a scenario file, or a page that 'hexaplan report' wrote"});
  return found;
}

std::optional<JsonDocument> scenario_in_page(std::string_view text, const std::string& file) {
  std::vector<PageScenario> found = scenarios_in_page(text, file);
  if (found.empty()) return std::nullopt;
  return std::move(found.front().document);
}

JsonDocument parse_scenario_document(std::string_view text, const std::string& file) {
  if (auto document = scenario_in_page(text, file)) return *std::move(document);
  JsonDocument document = parse_json(text, file);
  return is_project(document) ? question_of_project(document) : document;
}

JsonDocument read_scenario_document(const std::filesystem::path& path) {
  return parse_scenario_document(read_text_file(path), path.string());
}

}  // namespace hexaplan::presets
