#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/program/not_modelled.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/training_cost.h"
#include "planner/fitting/faster_changes.h"
#include "planner/fitting/fitting_changes.h"
#include "planner/problem/problem.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::gui {

/// A value that a field of the setup offers, why it cannot be chosen now, and what choosing it would leave
/// out of the numbers.
struct FieldOption {
  std::string value;
  std::string reason;     // empty: it can
  std::string note = {};  // "not modelled: …", "no effect: …"; empty: nothing
  friend bool operator==(const FieldOption&, const FieldOption&) = default;
};

/// What an answer says about memory, for people and colours.
enum class Standing : std::uint8_t {
  None,        // no numbers: not asked, not understood, or a rule forbids it
  Fits,        // with a chance of running out of memory of at most planner::kDefaultRisk
  AtRisk,      // fits as predicted, but the estimate may be wrong by more than what is left
  DoesNotFit,  // even as predicted
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
  std::vector<costmodel::KnobNote> not_modelled;                 // what the numbers leave out
  std::vector<costmodel::KnobNote> without_effect;               // what was said and changes nothing
  std::optional<costmodel::TrainingCost> training;               // only for a token budget
  std::vector<planner::FittingChange> changes;                   // only when it does not fit safely
  std::vector<planner::FasterChange> faster;                     // only when it does
  std::map<std::string_view, std::vector<FieldOption>> options;  // by Field::id
  /// What the framework's launch files call a field, by Field::id: "Megatron-LM:
  /// --tensor-model-parallel-size".
  std::map<std::string_view, std::string> launch_keys;

  /// The question was understood; a rule may have rejected the layout all the same.
  [[nodiscard]] bool understood() const { return !problem && has_model && has_cluster; }
  /// Memory and time are there.
  [[nodiscard]] bool priced() const { return understood() && !estimate.stages.empty(); }
  [[nodiscard]] bool fits() const {
    return priced() && std::holds_alternative<costmodel::Fits>(estimate.verdict);
  }
  [[nodiscard]] Standing standing() const {
    if (!priced()) return Standing::None;
    if (!fits()) return Standing::DoesNotFit;
    return estimate.out_of_memory_probability > planner::kDefaultRisk ? Standing::AtRisk : Standing::Fits;
  }
  [[nodiscard]] const costmodel::StageMemory& peakStage() const { return estimate.peak(); }
};
using EvaluationPtr = std::shared_ptr<const Evaluation>;

}  // namespace hexaplan::gui
