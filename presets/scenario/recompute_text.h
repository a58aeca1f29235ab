#pragma once
#include <string>
#include <string_view>

#include "costmodel/spec/recipe.h"

namespace hexaplan::presets {

/// Reads "none", "selective", "selective-op", "full", "layers=4", "layers=4/0/2/0" (by stage),
/// "modules=core_attn,norm". InputError with `field` for anything else.
[[nodiscard]] costmodel::Recompute parse_recompute(std::string_view text, std::string_view field);
[[nodiscard]] std::string to_recompute_text(const costmodel::Recompute& recompute);

/// Bits of the modules in a list ("core_attn,mlp"); InputError names the nearest module.
[[nodiscard]] std::uint16_t parse_recompute_modules(std::string_view list, char separator,
                                                    std::string_view field);

}  // namespace hexaplan::presets
