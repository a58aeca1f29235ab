#pragma once
#include <optional>
#include <variant>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/posttrain/post_training.h"
#include "costmodel/spec/verdict.h"

namespace hexaplan::costmodel {

/// What one GPU holds of one model, and what the model's own phases take beside it.
struct ModelMemory {
  // Between phases.
  Bytes parameters;  // with gradients that stay allocated
  Bytes optimizer;
  // While it works: everything of the framework's allocator, the above included.
  Bytes train, score;
  Bytes outside;  // context and communicators
  Bytes context;  // … of which the context, which models in one process share
  Bytes host;     // that the recipe's own offloading keeps there
  [[nodiscard]] constexpr Bytes idle() const { return parameters + optimizer; }
};

/// Times of one model for all sequences of a step.
struct ModelTimes {
  Seconds score;  // forward alone
  Seconds train;  // all optimizer steps; 0 for what is not trained
};

struct ModelPhases {
  ModelMemory memory;
  ModelTimes times;
};

/// Prices the model of `role`: memory with the longest sequences, times with mean ones where passes are
/// packed. Rejected when its layout breaks a rule.  [docs/formulas.md#M10, T14]
[[nodiscard]] std::variant<ModelPhases, Rejected> model_phases(const PostTraining& question, ModelRole role,
                                                               const Calibration& calibration);

/// A forward pass over the scenario's global batch, without backward.  [docs/formulas.md#T14]
/// Precondition: the rules accepted the scenario.
[[nodiscard]] Seconds scoring_time(const Scenario& scenario, const Calibration& calibration);

}  // namespace hexaplan::costmodel
