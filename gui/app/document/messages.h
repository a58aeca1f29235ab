#pragma once
#include <QString>
#include <exception>

#include "presets/json/input_error.h"

namespace hexaplan::gui {

/// A problem with an input as one sentence for a person: where, what was found, what was expected, what to
/// do.
[[nodiscard]] QString problemText(const presets::InputProblem& problem);
/// What was thrown, in the same words where it is an InputError.
[[nodiscard]] QString problemText(const std::exception& error);

}  // namespace hexaplan::gui
