#pragma once
#include "costmodel/spec/framework_profile.h"
#include "presets/json/json_value.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {

/// The group "abilities" of a framework's profile: keys that are given replace what is there.
void read_abilities(const ValueReader& value, costmodel::FrameworkAbilities& abilities);
[[nodiscard]] JsonValue to_json(const costmodel::FrameworkAbilities& abilities);

}  // namespace hexaplan::presets
