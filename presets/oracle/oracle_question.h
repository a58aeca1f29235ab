#pragma once
#include "costmodel/spec/scenario.h"
#include "presets/json/json_value.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::presets {

/// `request` as the oracle asks it: Hugging Face's eager Trainer where no framework is named; as many GPUs as
/// the layout has ranks, of whatever type, where no cluster is; layers that are not compiled, since the
/// scripts run none that are. InputError for a framework that no script runs.
[[nodiscard]] ScenarioRequest with_oracle_defaults(ScenarioRequest request);

/// The question that scripts/oracle/answer.py reads: config.json as it is, the layout and the recipe in the
/// scripts' own words. `scenario` is what `request` was resolved to. InputError names the first word that
/// they cannot run, and what they can.
[[nodiscard]] JsonValue oracle_question(const ScenarioRequest& request, const costmodel::Scenario& scenario);

}  // namespace hexaplan::presets
