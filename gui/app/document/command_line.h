#pragma once
#include <QString>

#include "presets/scenario/scenario_request.h"

namespace hexaplan::gui {

/// The shell command that asks the same question: flags where flags can say it, else the scenario as a
/// here-document.
[[nodiscard]] QString commandLine(const presets::ScenarioRequest& request);

}  // namespace hexaplan::gui
