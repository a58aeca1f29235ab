#include <gmock/gmock.h>

#include "tests/validator/step/layout_cases.h"
#include "tests/validator/step/tiny_scenario.h"

namespace hexaplan::tests {
namespace {

class ShardedStep : public testing::TestWithParam<LayoutCase> {};

/// Two steps, so that the second sees what the first updated.
TEST_P(ShardedStep, equals_the_step_of_one_rank) {
  const costmodel::Scenario sc = GetParam().scenario();
  const TinyRun sharded = run_tiny(sc);
  const TinyRun single = run_tiny(on_one_rank(sc));
  ASSERT_EQ(single.report.steps.size(), 2U);
  ASSERT_EQ(sharded.report.steps.size(), 2U);
  ASSERT_FALSE(single.parameters.empty());
  for (std::size_t i = 0; i < single.report.steps.size(); ++i) {
    const auto& a = sharded.report.steps[i];
    const auto& b = single.report.steps[i];
    EXPECT_NEAR(a.loss, b.loss, 1e-10 * b.loss);
    EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 1e-10 * b.gradient_norm);
  }
  const auto worst = validator::largest_difference(sharded.parameters, single.parameters);
  EXPECT_LE(worst.relative, 1e-10) << worst.parameter.second << " of unit " << worst.parameter.first;
}

INSTANTIATE_TEST_SUITE_P(validator, ShardedStep, testing::ValuesIn(layout_cases()),
                         [](const testing::TestParamInfo<LayoutCase>& which) { return which.param.name; });

}  // namespace
}  // namespace hexaplan::tests
