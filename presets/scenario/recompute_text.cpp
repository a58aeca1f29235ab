#include "presets/scenario/recompute_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "costmodel/units/nearest_name.h"
#include "costmodel/units/parse_number.h"
#include "presets/json/vocabulary.h"

namespace hexaplan::presets {

using costmodel::Recompute;
using costmodel::RecomputeMode;

namespace {

constexpr std::string_view kLayersPrefix = "layers=";
constexpr std::string_view kModules = "modules=";
constexpr int kMaxLayers = 1'000'000;

[[noreturn]] void reject(std::string_view text, std::string_view field, std::string expected,
                         std::string hint = {}) {
  throw InputError{{.field = std::string{field},
                    .value = in_quotes(text),
                    .expected = std::move(expected),
                    .hint = std::move(hint)}};
}

int layer_count(std::string_view digits, std::string_view field, int least = 1) {
  const auto layers = costmodel::parse_number<int>(digits);
  if (!layers || *layers < least || *layers > kMaxLayers) {
    reject(
        digits, field,
        fmt::format("layers= with the layers of every model chunk that are recomputed, at least {}", least));
  }
  return *layers;
}

/// "4/0/2/0": a count for every pipeline stage.
std::vector<int> stage_counts(std::string_view list, std::string_view field) {
  std::vector<int> counts;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find('/', at), list.size());
    counts.push_back(layer_count(list.substr(at, end - at), field, 0));
    at = end + 1;
  }
  return counts;
}

}  // namespace

std::uint16_t parse_recompute_modules(std::string_view list, char separator, std::string_view field) {
  std::vector<std::string_view> names;
  for (const auto& row : kRecomputeModuleNames) names.push_back(row.name);
  std::uint16_t modules = 0;
  while (true) {
    const std::string_view name = list.substr(0, list.find(separator));
    const auto bit = value_in(kRecomputeModuleNames, name);
    if (!bit) {
      reject(name, field, "one of " + listed(names), did_you_mean(costmodel::nearest_name(name, names)));
    }
    modules = static_cast<std::uint16_t>(modules | *bit);
    if (name.size() == list.size()) return modules;
    list.remove_prefix(name.size() + 1);
  }
}

Recompute parse_recompute(std::string_view text, std::string_view field) {
  if (text.substr(0, kLayersPrefix.size()) == kLayersPrefix) {
    const std::string_view counts = text.substr(kLayersPrefix.size());
    if (counts.find('/') != std::string_view::npos)
      return {.mode = RecomputeMode::Layers, .stage_layers = stage_counts(counts, field)};
    return {.mode = RecomputeMode::Layers, .layers = layer_count(counts, field)};
  }
  if (text.substr(0, kModules.size()) == kModules) {
    return {.mode = RecomputeMode::SelectiveModules,
            .modules = parse_recompute_modules(text.substr(kModules.size()), ',', field)};
  }
  if (const auto mode = value_in(kRecomputeNames, text)) return {.mode = *mode};
  std::vector<std::string_view> names;
  for (const auto& row : kRecomputeNames) names.push_back(row.name);
  const std::string hint = did_you_mean(costmodel::nearest_name(text, names));
  names.insert(names.end(), {"layers=N", "modules=A,B"});
  reject(text, field, "one of " + listed(names), hint);
}

std::string to_recompute_text(const Recompute& recompute) {
  if (recompute.mode == RecomputeMode::Layers)
    return recompute.stage_layers.empty() ? fmt::format("layers={}", recompute.layers)
                                          : fmt::format("layers={}", fmt::join(recompute.stage_layers, "/"));
  if (recompute.mode != RecomputeMode::SelectiveModules)
    return std::string{name_in(kRecomputeNames, recompute.mode)};
  std::vector<std::string_view> modules;
  std::uint16_t written = 0;
  for (const auto& row : kRecomputeModuleNames) {
    if ((recompute.modules & row.value) == 0 || (written & row.value) != 0) continue;
    written = static_cast<std::uint16_t>(written | row.value);
    modules.push_back(row.name);
  }
  return fmt::format("modules={}", fmt::join(modules, ","));
}

}  // namespace hexaplan::presets
