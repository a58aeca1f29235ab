#include "validator/measure/runs/compare_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "presets/scenario/scenario_request.h"

namespace hexaplan::validator {
namespace {

using costmodel::CollectiveKind;
using costmodel::MeasuredWork;
using costmodel::WorkKind;

/// Llama-3.1-8B over two ranks: hidden 4096, ffn 14336, 32 layers, 4096 tokens at once, one micro-batch.
presets::CalibratedScenario question() {
  presets::ScenarioRequest request;
  request.model = "llama-3.1-8b";
  request.cluster = "2xH100";
  request.layout = presets::parse_layout("tp2 sp", "layout");
  request.recipe.sequence = 4096;
  request.recipe.global_batch = 1;
  return presets::resolve_calibrated(request);
}

const ComparedOperation& operation(const ComparedWork& work, const std::string& shape) {
  const auto found = std::find_if(work.operations.begin(), work.operations.end(),
                                  [&](const auto& op) { return op.shape == shape; });
  if (found == work.operations.end()) throw std::runtime_error{"no operation " + shape};
  return *found;
}

TEST(compare_work, a_product_and_its_two_gradients_are_matched_by_their_dimensions) {
  const auto asked = question();
  MeasuredWork measured;
  measured.gemms = {{4096, 4096, 7168, 1, 32, 0.020},   // down, forward
                    {4096, 7168, 4096, 1, 32, 0.021},   // its input's gradient
                    {4096, 7168, 4096, 1, 32, 0.022}};  // its weight's
  const ComparedWork work = compare_work(asked.scenario, asked.calibration, 0, measured);
  const ComparedOperation& down = operation(work, "4096 x 4096 x 7168");
  EXPECT_EQ(down.predicted_runs, 3 * 32);
  EXPECT_EQ(down.measured_runs, 3 * 32);
  EXPECT_NEAR(down.measured, 0.063, 1e-12);
  EXPECT_THAT(down.name, testing::HasSubstr("down"));
  // 2 · 4096 · 4096 · 7168 FLOP at 550 to 800 TFLOP/s
  EXPECT_GT(down.predicted, 3 * 32 * down.flops / 800e12);
  EXPECT_LT(down.predicted, 3 * 32 * down.flops / 550e12);
  EXPECT_DOUBLE_EQ(work.matched, 1);
}

TEST(compare_work, messages_are_matched_by_kind_ranks_and_size) {
  const auto asked = question();
  MeasuredWork measured;
  const double gathered = 4096.0 * 4096 * 2;  // the whole sequence in bf16
  measured.messages = {{CollectiveKind::AllGather, 2, gathered * 1.004, 64, 0.01},
                       {CollectiveKind::AllGather, 4, gathered, 1, 0.02}};
  const ComparedWork work = compare_work(asked.scenario, asked.calibration, 0, measured);
  EXPECT_GT(operation(work, "all_gather of 32 MiB over 2").predicted_runs, 0);
  EXPECT_EQ(operation(work, "all_gather of 32 MiB over 2").measured_runs, 64);
  EXPECT_EQ(operation(work, "all_gather of 32 MiB over 4").predicted_runs, 0);
  EXPECT_NEAR(work.matched, 0.01 / 0.03, 1e-9);
}

TEST(compare_work, what_differs_most_is_first) {
  const auto asked = question();
  MeasuredWork measured;
  measured.gemms = {{11, 13, 17, 1, 1, 9.0}};
  const ComparedWork work = compare_work(asked.scenario, asked.calibration, 0, measured);
  EXPECT_EQ(work.operations.front().shape, "11 x 13 x 17");
  EXPECT_EQ(work.operations.front().name, "");
  EXPECT_EQ(work.matched, 0);
}

TEST(compare_work, kinds_hold_all_that_the_prediction_runs) {
  const auto asked = question();
  const ComparedWork work = compare_work(asked.scenario, asked.calibration, 0, {});
  for (const WorkKind kind : {WorkKind::Gemm, WorkKind::Attention, WorkKind::MemoryBound, WorkKind::Message})
    EXPECT_GT(work.predicted[static_cast<std::size_t>(kind)], 0) << name_of(kind);
}

}  // namespace
}  // namespace hexaplan::validator
