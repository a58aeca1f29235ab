#pragma once
#include <string>
#include <vector>

#include "costmodel/step/estimate.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::presets {

/// Words of `request` without which every number of its answer is the same: each is left out, the step is
/// estimated again and compared with `estimate`, of the scenario that `request` became. As notes, "order
/// changes nothing: …". Left out: words of whose silence `words_without_effect` and `not_modelled` know the
/// reason, and those that say what the framework does anyway. Some tens of estimates.
[[nodiscard]] std::vector<std::string> notes_of_silent_words(const ScenarioRequest& request,
                                                             const costmodel::Scenario& scenario,
                                                             const costmodel::Calibration& calibration,
                                                             const costmodel::Estimate& estimate);

}  // namespace hexaplan::presets
