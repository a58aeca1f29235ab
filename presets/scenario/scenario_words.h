#pragma once
#include <string>
#include <string_view>

#include "costmodel/spec/scenario.h"

namespace hexaplan::presets {

/// A word that a shell reads back as it is: in single quotes where it has other letters than plain ones.
[[nodiscard]] std::string shell_word(std::string_view word);

/// Model, layout and recipe of a scenario as the command line reads them: --model "layers=4 hidden=16 …"
/// --layout "dp2 tp4 zero1" --seq 64 --global-batch 8. Models that to_model_text cannot say in full are named
/// by what it can.
[[nodiscard]] std::string to_command_words(const costmodel::Scenario& scenario);

/// The other way: model, layout and recipe of such words on top of `base`, which gives framework and cluster;
/// its cluster gets as many GPUs as there are ranks. InputError that names the option.
[[nodiscard]] costmodel::Scenario read_command_words(const std::string& words, costmodel::Scenario base);

}  // namespace hexaplan::presets
