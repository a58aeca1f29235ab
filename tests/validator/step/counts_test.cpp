// What the executor allocates, sends and computes is what the cost model says, to the byte.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "costmodel/program/replay_memory.h"
#include "costmodel/schedule/schedule.h"
#include "costmodel/spec/rules.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/step_counts.h"
#include "tests/validator/step/layout_cases.h"
#include "tests/validator/step/tiny_scenario.h"

namespace hexaplan::tests {
namespace {

using costmodel::Scenario;
using costmodel::ScheduleKind;
using costmodel::TensorKind;

class ExecutedCounts : public testing::TestWithParam<LayoutCase> {};

std::string name_of(costmodel::Pass pass) {
  return std::to_string(static_cast<int>(pass));
}

using Messages = std::map<std::string, std::pair<double, double>>;  // messages, bytes
Messages predicted_messages(const Scenario& sc, int stage) {
  Messages out;
  for (const auto& c : costmodel::count_step(sc, stage).collectives) {
    auto& row =
        out[std::string{c.operation} + " pass " + name_of(c.pass) + " kind " +
            std::to_string(static_cast<int>(c.kind)) + " group " + std::to_string(static_cast<int>(c.group))];
    row.first += c.messages;
    row.second += c.bytes.value();
  }
  return out;
}
Messages executed_messages(const validator::RankReport& rank) {
  Messages out;
  for (const auto& t : rank.traffic) {
    auto& row =
        out[t.operation + " pass " + name_of(t.pass) + " kind " + std::to_string(static_cast<int>(t.kind)) +
            " group " + std::to_string(static_cast<int>(t.group))];
    row.first += static_cast<double>(t.count.messages);
    row.second += t.count.bytes.value();
  }
  return out;
}

std::map<std::string, double> predicted_flops(const Scenario& sc, int stage) {
  std::map<std::string, double> out;
  for (const auto& f : costmodel::count_step(sc, stage).flops)
    out[std::string{f.operation} + " pass " + name_of(f.pass)] += f.flops.value();
  return out;
}
std::map<std::string, double> executed_flops(const validator::RankReport& rank) {
  std::map<std::string, double> out;
  for (const auto& o : rank.operations) out[o.name + " pass " + name_of(o.pass)] += o.flops.value();
  return out;
}

TEST_P(ExecutedCounts, are_the_cost_models) {
  const Scenario sc = GetParam().scenario();
  const TinyRun run = run_tiny(sc, 1);
  ASSERT_EQ(run.report.ranks.size(), static_cast<std::size_t>(sc.layout.world_size()));
  for (const validator::RankReport& rank : run.report.ranks) {
    SCOPED_TRACE("rank " + std::to_string(rank.rank) + ", stage " + std::to_string(rank.stage));
    EXPECT_EQ(executed_messages(rank), predicted_messages(sc, rank.stage));
    EXPECT_EQ(executed_flops(rank), predicted_flops(sc, rank.stage));
    const auto memory = costmodel::replay_memory(sc, rank.stage);
    for (int kind = 0; kind < costmodel::kTensorKinds; ++kind) {
      EXPECT_EQ(static_cast<double>(rank.memory.peak_by_kind[static_cast<std::size_t>(kind)]),
                memory.peak().of(static_cast<TensorKind>(kind)).value())
          << "kind " << kind << " at " << costmodel::name_of(memory.peak_instant);
    }
  }
}

TEST_P(ExecutedCounts, peak_in_the_estimate_is_the_replayed_one) {
  const Scenario sc = GetParam().scenario();
  const auto estimate = costmodel::estimate_step(sc, {});
  for (int stage = 0; stage < sc.layout.pp; ++stage) {
    const auto replayed = costmodel::replay_memory(sc, stage);
    costmodel::MemoryBreakdown estimated = estimate.stages[static_cast<std::size_t>(stage)].at_peak;
    estimated.communication = estimated.overhead = costmodel::Bytes{0};
    for (int kind = 0; kind < costmodel::kTensorKinds; ++kind) {
      EXPECT_NEAR(estimated.of(static_cast<TensorKind>(kind)).value(),
                  replayed.peak().of(static_cast<TensorKind>(kind)).value(), 1e-6)
          << "stage " << stage << ", kind " << kind << ", estimated "
          << costmodel::name_of(estimate.stages[static_cast<std::size_t>(stage)].instant) << ", replayed "
          << costmodel::name_of(replayed.peak_instant);
    }
  }
}

struct Pipeline {
  ScheduleKind schedule;
  int pp, vpp;
};
constexpr Pipeline kPipelines[] = {
    {ScheduleKind::OneFOneB, 1, 1},    {ScheduleKind::OneFOneB, 4, 1},    {ScheduleKind::GPipe, 4, 1},
    {ScheduleKind::Interleaved, 2, 2}, {ScheduleKind::Interleaved, 4, 2}, {ScheduleKind::Interleaved, 2, 4},
    {ScheduleKind::ZbH1, 2, 1},        {ScheduleKind::ZbH1, 4, 1},        {ScheduleKind::Zb2p, 4, 1},
    {ScheduleKind::Zbv, 2, 1},         {ScheduleKind::Zbv, 4, 1},         {ScheduleKind::VHalf, 4, 1},
    {ScheduleKind::DualPipe, 2, 1},    {ScheduleKind::DualPipe, 4, 1},    {ScheduleKind::DualPipeV, 2, 1},
    {ScheduleKind::DualPipeV, 4, 1}};

/// Calls `visit` for every combination of pipeline, ZeRO stage, recomputation, tensor and context
/// parallelism, number of micro-batches, dense or with experts, that the rules accept and the executor runs.
template <class Visit>
void for_all_layouts(const Visit& visit) {
  for (const Pipeline& pipeline : kPipelines) {
    // Bits: ZeRO stage, recomputation, tensor, context, experts, micro-batches.
    for (int draw = 0; draw < 4 * 4 * 2 * 2 * 2 * 3; ++draw) {
      Scenario sc = tiny_scenario({.dp = 2,
                                   .tp = draw / 16 % 2 + 1,
                                   .cp = draw / 32 % 2 + 1,
                                   .pp = pipeline.pp,
                                   .vpp = pipeline.vpp,
                                   .sp = draw / 16 % 2 == 1,
                                   .sharding = {.stage = draw % 4},
                                   .schedule = pipeline.schedule});
      constexpr costmodel::RecomputeMode kModes[] = {
          costmodel::RecomputeMode::None, costmodel::RecomputeMode::Selective,
          costmodel::RecomputeMode::Layers, costmodel::RecomputeMode::Full};
      sc.recipe.recompute = {.mode = kModes[draw / 4 % 4], .layers = 1};
      if (draw / 64 % 2 == 1) sc.model.moe = {.experts = 4, .top_k = 2, .expert_ffn = 8};
      sc.model.layers = 8;
      constexpr std::int64_t kMicrobatches[] = {4, 12, 40};
      sc.recipe.global_batch = 2 * kMicrobatches[draw / 128];
      if (!costmodel::first_rejection(sc) && !validator::first_not_executable(sc)) visit(sc);
    }
  }
}

// What ExecutedCounts proves of the replay holds for what is printed: peaks by kind of every stage, whether
// they come from the ledger or from a replay that leaves out micro-batches.
TEST(estimate_of_the_executors_profile, is_the_whole_replay) {
  int compared = 0;
  for_all_layouts([&](const Scenario& sc) {
    const auto estimate = costmodel::estimate_step(sc, {});
    for (int stage = 0; stage < sc.layout.pp; ++stage) {
      const auto replayed = costmodel::replay_memory(sc, stage);
      const auto& printed = estimate.stages[static_cast<std::size_t>(stage)];
      ASSERT_EQ(printed.allocated, replayed.peak().allocated())
          << "schedule " << static_cast<int>(sc.layout.schedule) << ", pp " << sc.layout.pp << ", vpp "
          << sc.layout.vpp << ", ZeRO-" << sc.layout.sharding.stage << ", recompute "
          << static_cast<int>(sc.recipe.recompute.mode) << ", tp " << sc.layout.tp << ", cp " << sc.layout.cp
          << ", experts " << sc.model.moe.experts << ", batch " << sc.recipe.global_batch << ", stage "
          << stage;
      for (const TensorKind kind : {TensorKind::Parameter, TensorKind::Gradient, TensorKind::OptimizerState,
                                    TensorKind::Activation, TensorKind::Logits, TensorKind::Transient})
        ASSERT_EQ(printed.at_peak.of(kind), replayed.peak().of(kind)) << static_cast<int>(kind);
      ++compared;
    }
  });
  EXPECT_GT(compared, 5000);
}

INSTANTIATE_TEST_SUITE_P(validator, ExecutedCounts, testing::ValuesIn(layout_cases()),
                         [](const testing::TestParamInfo<LayoutCase>& which) { return which.param.name; });

}  // namespace
}  // namespace hexaplan::tests
