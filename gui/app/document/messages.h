#pragma once
#include <QString>

#include "presets/json/input_error.h"

namespace hexaplan::gui {

/// A problem with an input as one sentence for a person: where, what was found, what was expected, what to
/// do.
[[nodiscard]] QString problemText(const presets::InputProblem& problem);

}  // namespace hexaplan::gui
