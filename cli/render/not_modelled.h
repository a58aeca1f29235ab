#pragma once
#include <string>
#include <vector>

#include "cli/render/terminal.h"
#include "costmodel/program/not_modelled.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

/// "Not modelled …" with a line per word; empty when there are none. Starts with an empty line.
[[nodiscard]] std::string not_modelled_text(const std::vector<costmodel::KnobNote>& words,
                                            const TextStyle& style);
/// [{"knob", "effect"}, …]
[[nodiscard]] presets::JsonValue not_modelled_json(const std::vector<costmodel::KnobNote>& words);

}  // namespace hexaplan::cli
