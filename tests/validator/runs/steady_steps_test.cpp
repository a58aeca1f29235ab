#include "validator/measure/runs/steady_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hexaplan::validator {
namespace {

using costmodel::Seconds;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<TimedStep> steps_of(const std::vector<double>& times) {
  std::vector<TimedStep> steps;
  for (const double time : times)
    steps.push_back({static_cast<std::int64_t>(steps.size()) + 1, 1, Seconds{time}});
  return steps;
}

TEST(steady_steps, first_steps_that_are_slower_than_later_ones_are_warm_up) {
  const SteadySteps steady = steady_steps(steps_of({9, 3, 1.01, 1, 1.02, 1, 0.99, 1, 1.01, 1}));
  EXPECT_THAT(steady.warm_up, ElementsAre(0, 1));
  EXPECT_THAT(steady.disturbed, IsEmpty());
  EXPECT_DOUBLE_EQ(steady.median.value(), 1.0);
  EXPECT_EQ(steady.used.size(), 8U);
}

TEST(steady_steps, a_log_that_begins_in_the_middle_has_no_warm_up) {
  EXPECT_THAT(steady_steps(steps_of({1, 1.01, 1, 0.99, 1})).warm_up, IsEmpty());
}

TEST(steady_steps, a_run_that_was_started_again_warms_up_again) {
  std::vector<TimedStep> steps = steps_of({5, 1, 1, 1, 1, 1, 4, 1, 1, 1, 1, 1});
  for (std::size_t i = 6; i < steps.size(); ++i) steps[i].iteration -= 3;
  EXPECT_THAT(steady_steps(steps).warm_up, ElementsAre(0, 6));
}

TEST(steady_steps, a_checkpoint_or_an_evaluation_disturbs_its_step) {
  const SteadySteps steady = steady_steps(steps_of({1, 1, 1.01, 1, 3, 1, 0.99, 1, 1, 1.4, 1, 1}));
  EXPECT_THAT(steady.disturbed, ElementsAre(4, 9));
  EXPECT_LT(steady.high.value(), 1.02);
}

TEST(steady_steps, spread_and_drift_are_those_of_the_steps_used) {
  const SteadySteps steady = steady_steps(steps_of({1, 1, 1, 1.03, 1.03, 1.03, 1.06, 1.06, 1.06}));
  EXPECT_NEAR(steady.drift, 0.06, 1e-12);
  EXPECT_NEAR(steady.spread, 0.03 / 1.03 / 0.6745, 1e-3);
}

TEST(steady_steps, one_step_is_what_it_is) {
  const SteadySteps steady = steady_steps(steps_of({2.5}));
  EXPECT_DOUBLE_EQ(steady.median.value(), 2.5);
  EXPECT_THAT(steady.used, ElementsAre(0));
  EXPECT_EQ(steady.spread, 0);
}

}  // namespace
}  // namespace hexaplan::validator
