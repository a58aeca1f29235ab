#include "presets/launch/launch_fields.h"

#include "presets/launch/launch_readers.h"

namespace hexaplan::presets {

std::span<const LaunchField> launch_fields() {
  static const std::vector<LaunchField> all = [] {
    std::vector<LaunchField> fields;
    for (const auto part :
         {launch_layout_fields(), launch_recipe_fields(), launch_model_fields(), launch_trainer_fields()})
      fields.insert(fields.end(), part.begin(), part.end());
    return fields;
  }();
  return all;
}

bool offloads_counted_layers(const costmodel::Scenario& s) {
  return offloads(s, costmodel::kOffloadActivations) && s.recipe.offload_layers > 0 &&
         s.recipe.offload_layers < s.model.layers && s.layout.pp == 1 &&
         s.recipe.recompute.mode == costmodel::RecomputeMode::None;
}

}  // namespace hexaplan::presets
