#include "cli/render/changes.h"

#include <fmt/format.h>

#include "cli/render/not_modelled.h"
#include "costmodel/units/format_units.h"

namespace hexaplan::cli {

using planner::FittingChange;

std::string change_in_words(const FittingChange& change) {
  std::string text;
  for (const planner::ChangedSetting& setting : change.settings) {
    if (!text.empty()) text += " and ";
    if (setting.name == "layout") {
      text.append(setting.value).append(" in the layout");
    } else {
      text.append("--").append(setting.name).append(" ").append(setting.value);
    }
  }
  return text;
}

std::string changes_lines(std::span<const FittingChange> changes, std::string_view would) {
  std::string text;
  for (const FittingChange& change : changes) {
    text += fmt::format("  {} with {}: {} per GPU, chance of running out {}, {} per step\n", would,
                        change_in_words(change), costmodel::format_binary(change.peak),
                        costmodel::format_percent(change.risk), costmodel::format_duration(change.step));
    for (const auto& [knob, effect] : change.not_modelled)
      text += fmt::format("    not modelled of {}: {}\n", knob, effect);
  }
  return text;
}

presets::JsonArray changes_json(std::span<const FittingChange> changes) {
  presets::JsonArray array;
  for (const FittingChange& change : changes) {
    array.push_back(presets::JsonObject{{"change", change_in_words(change)},
                                        {"peak_bytes", costmodel::whole(change.peak)},
                                        {"step_seconds", change.step.value()},
                                        {"out_of_memory_probability", change.risk},
                                        {"not_modelled", not_modelled_json(change.not_modelled)}});
  }
  return array;
}

}  // namespace hexaplan::cli
