// What the search takes for the memory of a replayed step, against the step itself.
#include <gtest/gtest.h>

#include "costmodel/spec/rules.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/stage_memory.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

/// The example's model on one GPU a stage, with dense and expert layers and a prediction module if `mixed`.
Scenario pipeline(bool mixed, ScheduleKind schedule, int stages, std::int64_t microbatches) {
  Scenario sc = example_scenario();
  sc.layout = {.dp = 1, .pp = stages, .schedule = schedule};
  sc.cluster.gpus = stages;
  sc.recipe.micro_batch = 1;
  sc.recipe.global_batch = microbatches;
  if (!mixed) return sc;
  sc.model.moe.experts = 8;
  sc.model.moe.top_k = 2;
  sc.model.moe.expert_ffn = 1024;
  sc.model.moe.first_k_dense = 3;
  sc.model.mtp_layers = 1;
  return sc;
}

Bytes fullest_stage(const Scenario& sc) {
  Bytes most;
  for (const StageMemory& stage : estimate_step(sc, {}).stages) most = larger(most, stage.needed);
  return most;
}

/// Orders from one micro-batch per stage to many, by pipeline.
int compare_orders(bool mixed, ScheduleKind schedule, int stages, RecomputeMode recompute) {
  int compared = 0;
  for (const std::int64_t per_stage : {1, 2, 4, 5, 6, 9, 16, 33}) {
    for (const std::int64_t more : {0, 2}) {
      Scenario sc = pipeline(mixed, schedule, stages, per_stage * stages + more);
      sc.recipe.recompute.mode = recompute;
      if (first_rejection(sc)) continue;
      ++compared;
      EXPECT_EQ(replayed_need(sc, {}), fullest_stage(sc))
          << (mixed ? "mixed" : "dense") << ", schedule " << static_cast<int>(schedule) << ", " << stages
          << " stages, " << sc.recipe.global_batch << " micro-batches, recompute "
          << static_cast<int>(recompute);
    }
  }
  return compared;
}

/// The search prices thousands of orders: it replays no more of each than has something new.
TEST(replayed_need, of_a_long_order_is_that_of_the_whole_step) {
  constexpr ScheduleKind kSplit[] = {ScheduleKind::ZbH1, ScheduleKind::Zbv, ScheduleKind::DualPipe,
                                     ScheduleKind::DualPipeV};
  int compared = 0;
  for (const ScheduleKind schedule : kSplit) {
    for (const int stages : {2, 4, 8}) {
      for (const bool mixed : {false, true}) {
        compared += compare_orders(mixed, schedule, stages, RecomputeMode::None);
        compared += compare_orders(mixed, schedule, stages, RecomputeMode::Full);
      }
    }
  }
  EXPECT_GT(compared, 200);
}

}  // namespace
}  // namespace hexaplan::costmodel
