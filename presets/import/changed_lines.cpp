#include "presets/import/changed_lines.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "presets/launch/launch_fields.h"

namespace hexaplan::presets {
namespace {

/// Spellings that say what an exported key says.
struct SameSetting {
  std::string_view key, exported;
};
constexpr SameSetting kSame[] = {
    {"--recompute-activations", "--recompute-granularity"},
    {"--checkpoint-activations", "--recompute-granularity"},
    {"--num-layers-per-virtual-pipeline-stage", "--num-virtual-stages-per-pipeline-rank"},
    {"--use-torch-fsdp2", "--use-megatron-fsdp"},
    {"training.compile", "compile.enable"},
    {"bfloat16.enabled", "bf16.enabled"},
};

const ImportedSetting* written(const ImportedPlan& plan, std::string_view exported) {
  const ImportedSetting* last = nullptr;  // later settings override
  for (const ImportedSetting& setting : plan.settings) {
    const bool same = setting.key == exported ||
                      std::any_of(std::begin(kSame), std::end(kSame), [&](const SameSetting& row) {
                        return row.exported == exported && row.key == setting.key;
                      });
    if (same) last = &setting;
  }
  return last;
}

/// "--key value", "path.of.keys: value"; a list's values stand behind the flag.
std::string line_of(std::string_view key, const JsonValue& value) {
  const bool flag = key.starts_with("--");
  if (flag && value == JsonValue{true}) return std::string{key};
  std::string text;
  if (const auto* list = value.get_if<JsonArray>(); flag && list != nullptr) {
    for (const JsonValue& element : *list)
      text += (text.empty() ? "" : " ") + (element.get_if<std::string>() != nullptr
                                               ? *element.get_if<std::string>()
                                               : to_text(element, JsonStyle::Compact));
  } else {
    const auto* word = value.get_if<std::string>();
    text = flag && word != nullptr ? *word : to_text(value, JsonStyle::Compact);
  }
  return std::string{key} + (flag ? " " : ": ") + text;
}

}  // namespace

std::vector<ChangedLine> lines_to_change(const ImportedPlan& plan, const costmodel::Scenario& now,
                                         const costmodel::Scenario& then) {
  std::vector<ChangedLine> lines;
  for (const LaunchField& field : launch_fields()) {
    const std::string_view key = field.keys[static_cast<std::size_t>(plan.format.launcher)];
    if (key.empty()) continue;
    const JsonValue before = field.value(now), after = field.value(then);
    if (before == after) continue;
    const ImportedSetting* place = written(plan, key);
    if (place == nullptr && after.is_null()) continue;  // it was the framework's default all along
    ChangedLine line{.after = after.is_null() ? std::string{} : line_of(key, after)};
    if (place != nullptr) {
      line.file = place->file;
      line.line = place->line;
      line.before = place->key.starts_with("--")
                        ? place->key + (place->value.empty() ? "" : " " + place->value)
                        : place->key + ": " + place->value;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace hexaplan::presets
