#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/step/estimate.h"
#include "costmodel/step/training_cost.h"
#include "planner/fitting/fitting_changes.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::gui {

/// A value that a field of the setup offers, and why it cannot be chosen now.
struct FieldOption {
  std::string value;
  std::string reason;  // empty: it can
};

/// A question with everything that follows from it: made on a worker thread, never changed afterwards.
struct Evaluation {
  presets::ScenarioRequest request;
  /// What is missing or cannot be understood; then nothing was estimated.
  std::optional<presets::InputProblem> problem;
  bool has_model = false;    // scenario.model is there
  bool has_cluster = false;  // scenario.cluster is there
  costmodel::Scenario scenario;
  presets::JsonValue model_config;  // null without a model
  std::vector<std::string> notes;   // what was not said and which value it got
  /// Null when the question cannot even be searched around.
  std::shared_ptr<const presets::ClusterCalibration> calibration;
  costmodel::Estimate estimate;
  std::optional<costmodel::TrainingCost> training;               // only for a token budget
  std::vector<planner::FittingChange> changes;                   // only when it does not fit
  std::map<std::string_view, std::vector<FieldOption>> options;  // by Field::id

  /// The question was understood; a rule may have rejected the layout all the same.
  [[nodiscard]] bool understood() const { return !problem && has_model && has_cluster; }
  /// Memory and time are there.
  [[nodiscard]] bool priced() const { return understood() && !estimate.stages.empty(); }
  [[nodiscard]] bool fits() const {
    return priced() && std::holds_alternative<costmodel::Fits>(estimate.verdict);
  }
  [[nodiscard]] const costmodel::StageMemory& peakStage() const { return estimate.peak(); }
};
using EvaluationPtr = std::shared_ptr<const Evaluation>;

}  // namespace hexaplan::gui
