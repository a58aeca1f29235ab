#include "validator/measure/accuracy/family_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace hexaplan::validator {
namespace {

using testing::ElementsAre;

TimedRun run(std::string id, std::string source, std::string family, double predicted, double measured) {
  return {.id = std::move(id),
          .source = std::move(source),
          .family = std::move(family),
          .predicted = predicted,
          .measured = measured,
          .low = predicted * 0.8,
          .high = predicted * 1.2};
}

TEST(family_error, halves_and_doubles_cost_the_same_and_nothing_costs_more) {
  EXPECT_NEAR(summarise_families({run("a", "s", "f", 2, 1)}).typical_error, 1, 1e-12);
  EXPECT_NEAR(summarise_families({run("a", "s", "f", 1, 2)}).typical_error, 1, 1e-12);
  const FamilyErrors far = summarise_families({run("a", "s", "f", 1, 40)});
  EXPECT_NEAR(far.typical_error, 1, 1e-12);
  EXPECT_THAT(far.beyond_double, ElementsAre("a"));
}

TEST(family_error, a_configuration_measured_six_times_counts_once) {
  std::vector<TimedRun> runs(6, run("again", "s", "f", 1.5, 1));
  runs.push_back(run("once", "s", "g", 1, 1));
  const FamilyErrors errors = summarise_families(runs);
  EXPECT_EQ(errors.families, 2U);
  EXPECT_NEAR(errors.typical_error, std::sqrt(1.5) - 1, 1e-12);
  EXPECT_NEAR(errors.within_10_percent, 0.5, 1e-12);
}

TEST(family_error, sources_weigh_by_the_root_of_their_families_up_to_a_hundred) {
  std::vector<TimedRun> runs{run("one", "small", "f", 2, 1)};
  for (int i = 0; i < 400; ++i) runs.push_back(run("x", "large", std::to_string(i), 1, 1));
  EXPECT_NEAR(summarise_families(runs).typical_error, 1.0 / (1 + 10), 1e-12);
}

TEST(family_error, the_noise_floor_is_what_a_constant_per_configuration_leaves) {
  const FamilyErrors errors = summarise_families(
      {run("a", "s", "f", 9, 1), run("b", "s", "f", 9, 1.21), run("c", "s", "alone", 9, 1)});
  EXPECT_EQ(errors.repeated, 1U);
  EXPECT_NEAR(errors.noise_floor, 0.1, 1e-12);
}

TEST(family_error, a_run_on_the_edge_of_its_interval_is_covered) {
  TimedRun edge = run("a", "s", "f", 1, 1.2);
  EXPECT_EQ(summarise_families({edge}).covered, 1);
  edge.measured = 1.21;
  EXPECT_EQ(summarise_families({edge}).covered, 0);
}

TEST(chances, an_oracle_scores_zero_and_a_coin_a_quarter) {
  EXPECT_EQ(summarise_chances({{1, true}, {0, false}}).brier, 0);
  const ChanceSummary coin = summarise_chances({{0.5, true}, {0.5, false}});
  EXPECT_EQ(coin.brier, 0.25);
  EXPECT_EQ(coin.reliability_gap, 0) << "half of what was said to have even chances happened";
  EXPECT_NEAR(summarise_chances({{0.9, false}}).reliability_gap, 0.9, 1e-12);
}

}  // namespace
}  // namespace hexaplan::validator
