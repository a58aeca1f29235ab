#pragma once
#include <string>
#include <vector>

#include "cli/options.h"
#include "costmodel/posttrain/plan_post_training.h"
#include "planner/fitting/fitting_post_training.h"
#include "presets/posttrain/post_training_request.h"

namespace hexaplan::cli {

/// Everything `hexaplan posttrain` has to say.
struct PostTrainReport {
  presets::PostTrainingRequest request;
  costmodel::PostTraining question;
  std::vector<std::string> notes;  // what was not said and which value it got
  costmodel::PostTrainingPlan plan;
  std::vector<planner::PostTrainingChange> changes;  // only when it does not fit
};

/// Reads the file and flags, writes --save-scenario, prices. InputError when something cannot be used.
[[nodiscard]] PostTrainReport run_posttrain(const PostTrainOptions& options);

}  // namespace hexaplan::cli
