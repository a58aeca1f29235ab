#pragma once
#include "costmodel/posttrain/plan_post_training.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {

/// GRPO of the example model on its 16 made-up GPUs, all of them shared.
inline PostTraining example_question() {
  PostTraining q;
  Scenario actor = example_scenario();
  actor.cluster.gpu.pcie = BytesPerSecond{64e9};
  actor.layout = {.dp = 16};
  actor.layout.sharding.stage = 3;
  actor.recipe.recompute.mode = RecomputeMode::Full;
  q.batch = {.prompts = 64,
             .responses = 8,
             .prompt = {.mean = 512, .longest = 512},
             .response = {.mean = 1024, .longest = 4096}};
  q.cluster = actor.cluster;
  q.models[0] = actor;
  q.models[1] = actor;
  q.engine.framework = actor.framework;
  q.engine.memory_share = 0.5;
  q.pools = {{.cluster = actor.cluster, .holds = {true, true, false, false}, .engine = true}};
  return q;
}

inline PostTrainingPlan plan_of(const PostTraining& question) {
  return plan_post_training(question, Calibration{});
}

inline const PhaseMemory& memory_in(const PostTrainingPlan& plan, Phase phase) {
  for (const PhaseMemory& memory : plan.memory) {
    if (memory.phase == phase) return memory;
  }
  return plan.memory.front();
}
inline Seconds time_of(const PostTrainingPlan& plan, Phase phase) {
  for (const PhaseTime& time : plan.times) {
    if (time.phase == phase) return time.total();
  }
  return {};
}

}  // namespace hexaplan::costmodel
