// A number that is none is put into one parameter: the fault names the operation that reads it, under any
// layout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/validator/communicator/fault_of.h"
#include "tests/validator/step/layout_cases.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/checkpoint/weights.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"

namespace hexaplan::tests {
namespace {

using testing::HasSubstr;

/// Where a parameter of the tiny model goes wrong.
struct Plant {
  int unit;
  const char* parameter;
  const char* found;
};
const Plant kPlants[] = {
    {2, "mlp.down.weight", "first wrong in mlp.down of layer 2 (forward, micro-batch 0), whose parameters"},
    {1, "attention.output.weight",
     "first wrong in attention.output of layer 1 (forward, micro-batch 0), whose parameters"},
};

/// The run's fault: all of the parameter's elements are infinite before the first step.
validator::RankFault fault_after(const costmodel::Scenario& scenario, const Plant& plant) {
  validator::RunOptions options{.steps = 2, .routing = validator::Routing::InTurn};
  options.make_device = [](int /*rank*/) { return validator::make_cpu_device(validator::Element::F64); };
  options.loaded = [&](const validator::RankView& view) {
    const double infinite = std::numeric_limits<double>::infinity();
    view.visit_state(validator::State::Master, [&](const validator::OwnedPart& part) {
      if (part.unit != plant.unit || part.tensor->name != plant.parameter) return;
      const std::vector<double> values(static_cast<std::size_t>(part.view.elements()), infinite);
      view.rank.device.upload(part.view, std::span<const double>{values});
    });
    view.state_changed();
  };
  int saved = 0;
  options.stepped = [&](const validator::RankView& /*view*/) { ++saved; };
  validator::ThreadRanks ranks;
  const validator::RankFault fault = validator::fault_of([&] { (void)run_steps(scenario, options, ranks); });
  EXPECT_EQ(saved, 0) << "nobody is shown a step that failed";
  return fault;
}

class NotFinite : public testing::TestWithParam<LayoutCase> {};

TEST_P(NotFinite, names_the_first_operation_and_its_layer) {
  for (const Plant& plant : kPlants) {
    const validator::RankFault fault = fault_after(GetParam().scenario(), plant);
    EXPECT_THAT(fault.what(), HasSubstr(plant.found));
    ASSERT_TRUE(fault.fault.place) << "reports have fields for it";
    EXPECT_EQ(fault.fault.place->layer, plant.unit);
    EXPECT_EQ(fault.fault.place->operation + ".weight", plant.parameter);
  }
}

std::vector<LayoutCase> some_layouts() {
  using costmodel::Layout;
  return {{"one_rank", {}},
          {"tp2_pp2", Layout{.tp = 2, .pp = 2}},
          {"dp2_zero3", Layout{.dp = 2, .sharding = {.stage = 3}}},
          {"cp2", Layout{.cp = 2}}};
}
INSTANTIATE_TEST_SUITE_P(Step, NotFinite, testing::ValuesIn(some_layouts()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace hexaplan::tests
