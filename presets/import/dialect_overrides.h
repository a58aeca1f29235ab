#pragma once
#include <span>

#include "presets/import/dialect.h"

namespace hexaplan::presets {

/// Megatron-Bridge and MaxText: YAML, and "key=value" behind a script's name.
[[nodiscard]] std::span<const Dialect> override_dialects();

}  // namespace hexaplan::presets
