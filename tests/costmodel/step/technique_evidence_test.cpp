// How sure a step time is: what published runs say of the techniques that it uses.
#include "costmodel/step/technique_evidence.h"

#include <gtest/gtest.h>

#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

TEST(technique_evidence, rows_stand_in_the_order_of_the_techniques) {
  for (std::size_t i = 0; i < kTechniqueCount; ++i)
    EXPECT_EQ(static_cast<std::size_t>(technique_evidence()[i].technique), i);
}

TEST(technique_evidence, few_runs_prove_less_than_many) {
  TechniqueEvidence few{.technique = Technique::Offload, .configurations = 5, .spread = 0.1};
  TechniqueEvidence many = few, none = few;
  many.configurations = 500;
  none.configurations = 0;
  EXPECT_LT(many.sigma(), few.sigma());
  EXPECT_LT(few.sigma(), none.sigma());
  EXPECT_NEAR(many.sigma(), 0.1, 0.005);
}

TEST(technique_evidence, names_what_a_scenario_uses) {
  Scenario sc = example_scenario();
  sc.layout = {.dp = 2, .pp = 4};
  EXPECT_EQ(techniques_used(sc), 0U);
  sc.layout.cp = 2;
  sc.recipe.sequence = 8192;
  EXPECT_TRUE(contains(techniques_used(sc), Technique::ContextParallel));
  EXPECT_FALSE(contains(techniques_used(sc), Technique::LongContextParallel));
  sc.recipe.sequence = 32768;
  EXPECT_TRUE(contains(techniques_used(sc), Technique::LongContextParallel));
  sc.layout.schedule = ScheduleKind::ZbH1;
  sc.layout.sharding.stage = 2;
  sc.recipe.offload = kOffloadActivations;
  for (const Technique technique : {Technique::ZeroBubble, Technique::Zero2, Technique::Offload})
    EXPECT_TRUE(contains(techniques_used(sc), technique));
  sc.layout.schedule = ScheduleKind::DualPipe;
  EXPECT_TRUE(contains(techniques_used(sc), Technique::DualPipe));
  EXPECT_FALSE(contains(techniques_used(sc), Technique::ZeroBubble));
}

TEST(technique_evidence, every_technique_makes_a_step_no_more_certain) {
  for (std::size_t i = 0; i < kTechniqueCount; ++i) EXPECT_GE(added_variance(1U << i), 0) << i;
  const Calibration calibration;
  FrameworkProfile exact;
  exact.time_residual = 0;
  const double plain = time_sigma(exact, calibration, 0);
  EXPECT_EQ(plain, calibration.time_sigma);
  const double unmeasured =
      time_sigma(exact, calibration, added_variance(1U << static_cast<unsigned>(Technique::DualPipe)));
  EXPECT_GT(unmeasured, plain);
  EXPECT_GT(ninth_decile(unmeasured), ninth_decile(plain));
  EXPECT_GT(ninth_decile(plain), 1);
}

}  // namespace
}  // namespace hexaplan::costmodel
