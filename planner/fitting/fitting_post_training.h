#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "costmodel/posttrain/plan_post_training.h"

namespace hexaplan::planner {

/// Other words with which a post-training fits.
struct PostTrainingChange {
  std::vector<std::pair<std::string, std::string>> flags;  // "--offload-idle", "all"
  costmodel::PostTrainingPlan plan;
};

/// One word or two to change so that `question` fits, fastest first, at most `most`. A pair is listed only
/// where neither of its words is enough.
[[nodiscard]] std::vector<PostTrainingChange> fitting_post_training(const costmodel::PostTraining& question,
                                                                    const costmodel::Calibration& calibration,
                                                                    std::size_t most);

}  // namespace hexaplan::planner
