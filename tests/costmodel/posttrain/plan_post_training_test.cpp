// Several models on the same GPUs: who holds what in which phase, and what a step takes.
#include "costmodel/posttrain/plan_post_training.h"

#include <gtest/gtest.h>

#include "costmodel/compute/host_time.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/step/estimate.h"
#include "question.h"

namespace hexaplan::costmodel {
namespace {

constexpr std::size_t kActor = 0, kReference = 1, kCritic = 2;

TEST(post_training, states_of_what_does_not_work_stay_where_they_are) {
  const PostTraining q = example_question();
  const PostTrainingPlan plan = plan_of(q);
  const double parameters = static_cast<double>(count_parameters(q.actor().model).total) / 16;
  const PhaseMemory& generating = memory_in(plan, Phase::Generate);
  // 16-bit weights, fp32 gradients in a buffer, fp32 master and moments; the reference has weights alone.
  EXPECT_NEAR(generating.models[kActor].value(), parameters * (2 + 4 + 12), 1e7);
  EXPECT_NEAR(generating.models[kReference].value(), parameters * 2, 1e7);
  EXPECT_EQ(memory_in(plan, Phase::TrainActor).models[kReference], generating.models[kReference]);
}

TEST(post_training, trains_in_the_memory_that_the_estimate_of_the_actor_alone_has) {
  const PostTraining q = example_question();
  Scenario alone = q.actor();
  alone.recipe.sequence = 512 + 4096;
  alone.recipe.global_batch = 512;
  const PostTrainingPlan plan = plan_of(q);
  const PhaseMemory& training = memory_in(plan, Phase::TrainActor);
  const double other = training.models[kReference].value() + training.engine.value();
  const ModelMemory& memory = plan.models[kReference]->memory;
  EXPECT_NEAR(training.total().value() - other - (memory.outside - memory.context).value(),
              estimate_step(alone, Calibration{}).peak().needed.value(), 1e3);
}

TEST(post_training, an_engine_that_sleeps_leaves_its_graphs) {
  PostTraining q = example_question();
  const PostTrainingPlan asleep = plan_of(q);
  EXPECT_EQ(memory_in(asleep, Phase::TrainActor).engine, asleep.engine->graphs);
  EXPECT_EQ(memory_in(asleep, Phase::TrainActor).cache, Bytes{});
  EXPECT_EQ(asleep.host, Bytes{});
  q.engine.sleep = EngineSleep::Awake;
  const PostTrainingPlan awake = plan_of(q);
  EXPECT_EQ(memory_in(awake, Phase::TrainActor).cache, memory_in(awake, Phase::Generate).cache);
  q.engine.sleep = EngineSleep::Offloaded;
  EXPECT_EQ(plan_of(q).host.value(), 8 * asleep.engine->weights.value());
}

TEST(post_training, the_engine_takes_its_share_of_the_gpu) {
  const PostTrainingPlan plan = plan_of(example_question());
  const PhaseMemory& generating = memory_in(plan, Phase::Generate);
  EXPECT_NEAR((generating.engine - plan.engine->graphs + generating.cache).value(), 0.5 * 85e9, 1);
}

TEST(post_training, without_a_share_the_engine_takes_nine_tenths_of_what_is_left) {
  PostTraining q = example_question();
  q.engine.memory_share.reset();
  const PostTrainingPlan plan = plan_of(q);
  const PhaseMemory& generating = memory_in(plan, Phase::Generate);
  const Bytes engine = generating.engine - plan.engine->graphs + generating.cache;
  EXPECT_NEAR(engine.value(), 0.9 * (plan.capacity - (generating.total() - engine)).value(), 1);
}

TEST(post_training, offloading_frees_the_gpu_fills_the_host_and_takes_two_copies) {
  PostTraining q = example_question();
  const PostTrainingPlan before = plan_of(q);
  q.offload_idle = kIdleActorOptimizer;
  const PostTrainingPlan after = plan_of(q);
  const Bytes optimizer = before.models[kActor]->memory.optimizer;
  EXPECT_GT(optimizer.value(), 1e9);
  EXPECT_EQ(memory_in(before, Phase::Generate).total() - memory_in(after, Phase::Generate).total(),
            optimizer);
  EXPECT_EQ(memory_in(before, Phase::TrainActor).total(), memory_in(after, Phase::TrainActor).total());
  EXPECT_EQ(after.host.value(), 8 * optimizer.value());
  EXPECT_NEAR((after.step - before.step).value(), host_copy_time(2 * optimizer, false, q.cluster).value(),
              1e-9);
}

TEST(post_training, the_fullest_phase_binds) {
  PostTraining q = example_question();
  PostTrainingPlan plan = plan_of(q);
  EXPECT_FALSE(plan.rejected);
  for (const PhaseMemory& memory : plan.memory) EXPECT_LE(memory.total(), plan.memory[plan.fullest].total());
  q.engine.memory_share = 0.95;
  plan = plan_of(q);
  ASSERT_TRUE(plan.rejected);
  EXPECT_EQ(plan.rejected->rule, "fits-in-memory");
  EXPECT_EQ(plan.memory[plan.fullest].phase, Phase::Generate);
}

TEST(post_training, an_engine_without_room_for_one_sequence_is_refused) {
  PostTraining q = example_question();
  q.engine.memory_share = 0.2;
  const PostTrainingPlan plan = plan_of(q);
  ASSERT_TRUE(plan.rejected);
  EXPECT_EQ(plan.rejected->rule, "cache-holds-a-sequence");
}

TEST(post_training, phases_of_one_pool_follow_one_another) {
  const PostTrainingPlan plan = plan_of(example_question());
  Seconds sum;
  for (const PhaseTime& time : plan.times) sum += time.total();
  EXPECT_NEAR(plan.step.value(), sum.value(), 1e-9);
  EXPECT_EQ(plan.times.size(), 5U);  // generate, two scores, training, weights
}

TEST(post_training, training_takes_as_long_as_its_optimizer_steps) {
  PostTraining q = example_question();
  q.batch.response = {.mean = 4096, .longest = 4096};
  Scenario alone = q.actor();
  alone.recipe.sequence = 512 + 4096;
  alone.recipe.global_batch = 512;
  const double step = estimate_step(alone, Calibration{}).time.total().value();
  EXPECT_NEAR(time_of(plan_of(q), Phase::TrainActor).value(), step, 1e-9);
  q.batch.epochs = 2;
  EXPECT_NEAR(time_of(plan_of(q), Phase::TrainActor).value(), 2 * step, 1e-9);
}

TEST(post_training, scoring_is_a_forward_pass) {
  PostTraining q = example_question();
  q.batch.response = {.mean = 4096, .longest = 4096};
  const PostTrainingPlan plan = plan_of(q);
  // Forward, recomputed forward and a backward twice as long.
  const double share = time_of(plan, Phase::ScoreReference) / time_of(plan, Phase::TrainActor);
  EXPECT_GT(share, 0.2);
  EXPECT_LT(share, 0.3);
}

/// Actor and reference on the first node, the engine on the second.
PostTraining apart() {
  PostTraining q = example_question();
  ClusterSpec node = q.cluster;
  node.gpus = 8;
  node.levels.resize(1);
  q.pools = {{.cluster = node, .holds = {true, true, false, false}}, {.cluster = node, .engine = true}};
  for (const std::size_t role : {kActor, kReference}) {
    q.models[role]->cluster = node;
    q.models[role]->layout.dp = 8;
  }
  return q;
}

TEST(post_training, an_engine_on_gpus_of_its_own_shares_no_memory) {
  const PostTrainingPlan plan = plan_of(apart());
  EXPECT_EQ(memory_in(plan, Phase::TrainActor).engine, Bytes{});
  EXPECT_EQ(memory_in(plan, Phase::Generate).models[kActor], Bytes{});
}

TEST(post_training, one_step_off_the_policy_generation_and_training_run_side_by_side) {
  PostTraining q = apart();
  const PostTrainingPlan in_turn = plan_of(q);
  q.asynchronous = true;
  const PostTrainingPlan beside = plan_of(q);
  const auto& [rollout, scoring, training, sync] = beside.parts;
  EXPECT_NEAR(beside.step.value(), (larger(rollout, scoring + training) + sync).value(), 1e-9);
  EXPECT_LT(beside.step, in_turn.step);
}

TEST(post_training, weights_of_another_pool_cross_the_network) {
  const double payload = 2.0 * static_cast<double>(count_parameters(example_question().actor().model).total);
  EXPECT_GT(time_of(plan_of(apart()), Phase::SyncWeights).value(), payload / 50e9);
}

TEST(post_training, a_critic_has_one_output_and_no_logits) {
  const ModelSpec actor = example_scenario().model;
  const ModelSpec critic = with_value_head(actor);
  EXPECT_EQ(count_parameters(actor).total - count_parameters(critic).total, (128256 - 1) * 4096);
  PostTraining q = example_question();
  q.algorithm = PostTrainingAlgorithm::Ppo;
  q.models[kCritic] = q.models[kActor];
  q.models[kCritic]->model = critic;
  q.pools.front().holds[kCritic] = true;
  const PostTrainingPlan plan = plan_of(q);
  EXPECT_LT(plan.models[kCritic]->memory.train, plan.models[kActor]->memory.train);
  EXPECT_LT(time_of(plan, Phase::TrainCritic), time_of(plan, Phase::TrainActor));
  EXPECT_GT(time_of(plan, Phase::ScoreValues), Seconds{});
}

TEST(post_training, dpo_generates_nothing) {
  PostTraining q = example_question();
  q.algorithm = PostTrainingAlgorithm::Dpo;
  q.pools.front().engine = false;
  const PostTrainingPlan plan = plan_of(q);
  EXPECT_FALSE(plan.generation);
  EXPECT_EQ(plan.times.size(), 2U);  // log-probabilities of the reference, training
}

TEST(post_training, a_rule_that_a_model_breaks_is_told_with_its_name) {
  PostTraining q = example_question();
  q.models[kReference]->layout = {.dp = 5, .tp = 3};
  const PostTrainingPlan plan = plan_of(q);
  ASSERT_TRUE(plan.rejected);
  EXPECT_EQ(plan.rejected->reason.substr(0, 10), "reference:");
  EXPECT_FALSE(plan.priced());
}

TEST(post_training, a_reference_that_is_the_actor_holds_what_it_works_with_alone) {
  PostTraining q = example_question();
  const PostTrainingPlan apart = plan_of(q);
  q.reference_in_actor = true;
  const PostTrainingPlan together = plan_of(q);
  EXPECT_EQ(memory_in(together, Phase::Generate).models[kReference], Bytes{});
  const Bytes weights = memory_in(apart, Phase::Generate).models[kReference];
  EXPECT_NEAR((memory_in(apart, Phase::ScoreReference).models[kReference] -
               memory_in(together, Phase::ScoreReference).models[kReference])
                  .value(),
              weights.value(), 1);
  // What waits on the host comes back for it.
  q.offload_idle = kIdleActorParameters;
  const PostTrainingPlan away = plan_of(q);
  EXPECT_GT(memory_in(away, Phase::ScoreReference).models[kReference],
            memory_in(together, Phase::ScoreReference).models[kReference]);
}

}  // namespace
}  // namespace hexaplan::costmodel
