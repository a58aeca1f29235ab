// What each mechanism adds to the step, by switching it alone.
#include <gtest/gtest.h>

#include "costmodel/step/estimate.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

StepTime time_of(const Scenario& sc) {
  return estimate_step(sc, Calibration{}).time;
}

TEST(step_time, slices_between_stages_are_cheaper_than_whole_tensors) {
  Scenario whole = example_scenario();
  whole.layout.sp = false;
  Scenario slices = whole;
  slices.framework.pipeline_scatter_gather = true;
  EXPECT_LT(time_of(slices).pipeline_p2p, time_of(whole).pipeline_p2p);
  slices.layout.sp = whole.layout.sp = true;
  EXPECT_EQ(time_of(slices).pipeline_p2p, time_of(whole).pipeline_p2p) << "SP has cut them already";
}

TEST(step_time, a_slow_host_shows_only_where_the_device_is_faster) {
  Scenario sc = example_scenario();
  EXPECT_EQ(time_of(sc).launch.value(), 0.0);
  sc.framework.layer_host_forward = sc.framework.layer_host_backward = Seconds{1e-3};
  EXPECT_EQ(time_of(sc).launch.value(), 0.0) << "a layer of 8,192 tokens takes longer";
  sc.recipe.sequence = 128;
  EXPECT_GT(time_of(sc).launch.value(), 0.0);
}

TEST(step_time, a_norm_written_out_has_its_own_rule) {
  Scenario sc = example_scenario();
  sc.framework.elementwise[static_cast<std::size_t>(Elementwise::UnfusedNorm)] = {11, 50, 7, 16};
  const Seconds fused = time_of(sc).memory_bound;
  sc.recipe.fused_norm = false;
  EXPECT_GT(time_of(sc).memory_bound, fused);
}

}  // namespace
}  // namespace hexaplan::costmodel
