// What the executor allocates, sends and computes is what the cost model says, to the byte.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "costmodel/memory/explicit_step.h"
#include "costmodel/schedule/schedule.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/step_counts.h"
#include "tests/validator/step/layout_cases.h"
#include "tests/validator/step/tiny_scenario.h"

namespace hexaplan::tests {
namespace {

using costmodel::Scenario;
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

/// Equal chunks of equal layers, whole backward, and no gathered end of the model that outgrows what a layer
/// keeps.
bool closed_form_is_exact(const Scenario& sc) {
  const auto chunks = costmodel::chunk_layers(sc);
  return std::adjacent_find(chunks.begin(), chunks.end(), std::not_equal_to<>{}) == chunks.end() &&
         !costmodel::splits_backward(sc.layout.schedule) && sc.layout.sharding.stage < 2 &&
         sc.model.moe.first_k_dense == 0;
}

TEST_P(ExecutedCounts, peak_in_the_estimate_is_the_replayed_one) {
  const Scenario sc = GetParam().scenario();
  if (!closed_form_is_exact(sc)) GTEST_SKIP() << "replay only";
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

INSTANTIATE_TEST_SUITE_P(validator, ExecutedCounts, testing::ValuesIn(layout_cases()),
                         [](const testing::TestParamInfo<LayoutCase>& which) { return which.param.name; });

}  // namespace
}  // namespace hexaplan::tests
