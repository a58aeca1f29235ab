#pragma once
#include <span>

#include "presets/import/dialect.h"

namespace hexaplan::presets {

/// TRL and the Trainer below it, accelerate's configuration, Axolotl, LLaMA-Factory.
[[nodiscard]] std::span<const Dialect> trainer_dialects();

}  // namespace hexaplan::presets
