#pragma once
#include <string>
#include <vector>

#include "costmodel/spec/scenario.h"
#include "presets/json/json_value.h"
#include "presets/oracle/framework_step.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::presets {

/// A case of tests/golden/oracle/answers.json (scripts/oracle/answers.py).
struct RecordedAnswer {
  std::string name;
  ScenarioRequest request;  // as the oracle asks it
  costmodel::Scenario scenario;
  JsonValue question;  // that PyTorch was asked
  JsonValue answer;
  [[nodiscard]] FrameworkStep step() const;
};
[[nodiscard]] const std::vector<RecordedAnswer>& recorded_answers();
[[nodiscard]] const RecordedAnswer& recorded_answer(const std::string& name);

}  // namespace hexaplan::presets
