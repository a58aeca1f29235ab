#pragma once
#include <cstdint>

#include "costmodel/spec/framework_profile.h"
#include "presets/json/json_value.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {

/// The group "abilities" of a framework's profile: keys that are given replace what is there.
void read_abilities(const ValueReader& value, costmodel::FrameworkAbilities& abilities);
[[nodiscard]] JsonValue to_json(const costmodel::FrameworkAbilities& abilities);

/// A list of what is offloaded as OffloadTarget bits, and back. InputError for a word that none has.
[[nodiscard]] std::uint8_t read_offload_targets(const ValueReader& list);
[[nodiscard]] JsonArray offload_names(std::uint8_t bits);

}  // namespace hexaplan::presets
