#include "presets/launch/launch_fields.h"

namespace hexaplan::presets {

std::span<const LaunchField> launch_fields() {
  static const std::vector<LaunchField> all = [] {
    std::vector<LaunchField> fields;
    for (const auto part : {launch_layout_fields(), launch_recipe_fields(), launch_model_fields()})
      fields.insert(fields.end(), part.begin(), part.end());
    return fields;
  }();
  return all;
}

}  // namespace hexaplan::presets
