#include "presets/launch/launch_fields.h"

#include <initializer_list>

#include "presets/launch/launch_readers.h"

namespace hexaplan::presets {

namespace {

std::vector<LaunchField> together(std::initializer_list<std::span<const LaunchField>> parts) {
  std::vector<LaunchField> fields;
  for (const auto part : parts) fields.insert(fields.end(), part.begin(), part.end());
  return fields;
}

}  // namespace

std::span<const LaunchField> launch_model_fields() {
  static const std::vector<LaunchField> all =
      together({decoder_fields(), bridge_model_fields(), maxtext_model_fields()});
  return all;
}

std::span<const LaunchField> launch_fields() {
  static const std::vector<LaunchField> all =
      together({launch_layout_fields(), launch_recipe_fields(), launch_model_fields(), launch_bridge_fields(),
                launch_maxtext_fields(), launch_trainer_fields()});
  return all;
}

bool offloads_counted_layers(const costmodel::Scenario& s) {
  return offloads(s, costmodel::kOffloadActivations) && s.recipe.offload_layers > 0 &&
         s.recipe.offload_layers < s.model.layers && s.layout.pp == 1 &&
         s.recipe.recompute.mode == costmodel::RecomputeMode::None;
}

}  // namespace hexaplan::presets
