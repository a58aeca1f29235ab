#include "validator/measure/runs/lay_over.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "costmodel/step/largest.h"
#include "presets/scenario/scenario_request.h"
#include "validator/measure/runs/work_keys.h"

namespace hexaplan::validator {
namespace {

using costmodel::MeasuredRun;
using costmodel::MeasuredStep;
using costmodel::OpKind;
using costmodel::PlacedOperation;
using costmodel::StageOperations;
using costmodel::WorkKind;

presets::CalibratedScenario question_of(const char* layout, const char* framework = "megatron",
                                        const char* cluster = "8xH100") {
  presets::ScenarioRequest request;
  request.model = "llama-3.1-8b";
  request.cluster = cluster;
  request.framework = framework;
  request.layout = presets::parse_layout(layout, "layout");
  request.recipe.sequence = 4096;
  request.recipe.global_batch = 16;
  return presets::resolve_calibrated(request);
}

struct Predicted {
  presets::CalibratedScenario asked;
  costmodel::Simulation simulation;
  StageOperations operations;
};

Predicted predicted_of(const char* layout, int stage, const char* framework = "megatron") {
  Predicted out{question_of(layout, framework), {}, {}};
  out.simulation = costmodel::simulate_step(out.asked.scenario, out.asked.calibration);
  out.operations =
      costmodel::place_operations(out.asked.scenario, out.asked.calibration, out.simulation, stage).value();
  return out;
}

/// What a profiler would have seen, had every operation taken `slower` times its prediction.
MeasuredStep measured_as(const Predicted& predicted, double slower) {
  MeasuredStep step{.iteration = 7, .seconds = predicted.simulation.total.value() * slower};
  const auto add = [&](const PlacedOperation& row) {
    const costmodel::Operation& op = predicted.operations.operations[static_cast<std::size_t>(row.operation)];
    const auto kind = work_kind_of(op.kind);
    if (!kind) return;
    MeasuredRun run{.begin = row.begin.value() * slower, .end = row.end.value() * slower, .kind = *kind};
    if (*kind == WorkKind::Gemm) {
      run.shape = static_cast<std::int32_t>(step.gemms.size());
      // As cuBLAS is called for gradients: other dimensions first.
      step.gemms.push_back({.m = op.gemm.n, .n = op.gemm.k, .k = op.gemm.m, .batch = op.gemm.batch});
    }
    if (const auto key = message_key_of(predicted.asked.scenario, op)) {
      run.shape = static_cast<std::int32_t>(step.messages.size());
      step.messages.push_back({.kind = key->kind, .ranks = key->ranks, .bytes = key->bytes});
    }
    step.runs.push_back(run);
  };
  for (const auto* placed :
       {&predicted.operations.computes, &predicted.operations.messages, &predicted.operations.copies})
    std::for_each(placed->begin(), placed->end(), add);
  std::stable_sort(step.runs.begin(), step.runs.end(),
                   [](const MeasuredRun& a, const MeasuredRun& b) { return a.begin < b.begin; });
  return step;
}

const OverlaidLane& lane(const Overlay& overlay, WorkLane which) {
  return overlay.lanes[static_cast<std::size_t>(which)];
}

double seconds(const StageOperations& placed, OpKind kind) {
  double sum = 0;
  for (const auto* rows : {&placed.computes, &placed.messages, &placed.copies}) {
    for (const PlacedOperation& row : *rows) {
      if (placed.operations[static_cast<std::size_t>(row.operation)].kind == kind)
        sum += (row.end - row.begin).value();
    }
  }
  return sum;
}

struct LayoutCase {
  const char* layout;
  const char* framework;
  int stage;
};
class PlacedStep : public testing::TestWithParam<LayoutCase> {};

TEST_P(PlacedStep, runs_what_the_prediction_sums_up_in_order_and_inside_the_step) {
  const auto& [layout, framework, stage] = GetParam();
  const Predicted predicted = predicted_of(layout, stage, framework);
  double products = 0, attention = 0;
  for (const costmodel::PricedOperation& op :
       costmodel::largest_operations(predicted.asked.scenario, predicted.asked.calibration, stage, 10'000)) {
    if (work_kind_of(op.operation.kind) == WorkKind::Gemm) products += op.per_step.value();
    if (op.operation.kind == OpKind::Attention) attention += op.per_step.value();
  }
  EXPECT_NEAR(seconds(predicted.operations, OpKind::Gemm), products, 0.001 * products);
  EXPECT_NEAR(seconds(predicted.operations, OpKind::Attention), attention, 0.001 * attention);
  const double total = predicted.simulation.total.value();
  double before = 0;
  for (const PlacedOperation& row : predicted.operations.computes) {
    EXPECT_LT(row.begin, row.end);
    EXPECT_LE(before, row.begin.value() + 1e-9) << "kernels run one after the other";
    EXPECT_LE(row.end.value(), total + 1e-9);
    before = row.end.value();
  }
  // Messages of several groups run side by side; what nobody waits for may end with the last pass's.
  for (const PlacedOperation& row : predicted.operations.messages) {
    EXPECT_LT(row.begin, row.end);
    EXPECT_LE(row.end.value(), total * 1.05);
  }
}

TEST_P(PlacedStep, a_step_that_takes_a_quarter_longer_is_a_quarter_longer_everywhere) {
  const auto& [layout, framework, stage] = GetParam();
  const Predicted predicted = predicted_of(layout, stage, framework);
  const Overlay overlay = lay_over(predicted.asked.scenario, predicted.operations,
                                   predicted.simulation.total.value(), measured_as(predicted, 1.25));
  EXPECT_DOUBLE_EQ(overlay.matched, 1);
  for (const WorkLane which : {WorkLane::Compute, WorkLane::Messages}) {
    const OverlaidLane& at = lane(overlay, which);
    EXPECT_EQ(at.predicted.size(), at.measured.size());
    for (const LaidRun& run : at.measured) {
      ASSERT_GE(run.partner, 0);
      const LaidRun& ours = at.predicted[static_cast<std::size_t>(run.partner)];
      EXPECT_NEAR(run.busy / ours.busy, 1.25, 1e-6);
      EXPECT_NEAR(run.begin, ours.begin * 1.25, 1e-9);
      EXPECT_EQ(&at.measured[static_cast<std::size_t>(ours.partner)], &run);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    layouts, PlacedStep,
    testing::Values(LayoutCase{"dp8 zero1", "megatron", 0}, LayoutCase{"tp2 sp dp4 zero1", "megatron", 0},
                    LayoutCase{"tp2 pp2 dp2 zero1", "megatron", 1}, LayoutCase{"pp4 vpp2 dp2", "megatron", 2},
                    LayoutCase{"pp4 zb-h1 dp2", "megatron", 0}, LayoutCase{"fsdp", "fsdp2", 0},
                    LayoutCase{"cp2 dp4", "megatron", 0}),
    [](const auto& row) { return "layout_" + std::to_string(row.index); });

TEST(lay_over, one_operation_that_is_slow_is_the_only_one_that_differs) {
  const Predicted predicted = predicted_of("dp8 zero1", 0);
  MeasuredStep step = measured_as(predicted, 1);
  const auto slow = std::find_if(step.runs.begin() + 40, step.runs.end(),
                                 [](const MeasuredRun& run) { return run.kind == WorkKind::Gemm; });
  slow->end = slow->begin + 3 * (slow->end - slow->begin);
  const Overlay overlay = lay_over(predicted.asked.scenario, predicted.operations, 1, step);
  const OverlaidLane& compute = lane(overlay, WorkLane::Compute);
  std::vector<double> ratios;
  for (const LaidRun& run : compute.measured)
    ratios.push_back(run.busy / compute.predicted[static_cast<std::size_t>(run.partner)].busy);
  EXPECT_EQ(std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio > 1.001; }), 1);
  EXPECT_NEAR(*std::max_element(ratios.begin(), ratios.end()), 3, 1e-6);
}

TEST(lay_over, another_model_has_no_product_in_common) {
  const Predicted predicted = predicted_of("dp8 zero1", 0);
  MeasuredStep step = measured_as(predicted, 1);
  for (costmodel::MeasuredGemm& gemm : step.gemms) gemm.m += 64;
  std::erase_if(step.runs, [](const MeasuredRun& run) { return run.kind == WorkKind::Message; });
  const Overlay overlay = lay_over(predicted.asked.scenario, predicted.operations, 1, step);
  EXPECT_EQ(overlay.matched, 0);
  for (const LaidRun& run : lane(overlay, WorkLane::Compute).measured) EXPECT_EQ(run.partner, -1);
}

TEST(lay_over, kernels_without_a_shape_are_told_by_what_runs_before_them) {
  const Predicted predicted = predicted_of("dp8 zero1", 0);
  MeasuredStep step = measured_as(predicted, 1);
  // Memory-bound work in twice as many kernels, as unfused code has it.
  std::vector<MeasuredRun> cut;
  for (const MeasuredRun& run : step.runs) {
    if (run.kind != WorkKind::MemoryBound) {
      cut.push_back(run);
      continue;
    }
    MeasuredRun first = run, second = run;
    first.end = second.begin = (run.begin + run.end) / 2;
    cut.push_back(first);
    cut.push_back(second);
  }
  step.runs = cut;
  const Overlay overlay = lay_over(predicted.asked.scenario, predicted.operations, 1, step);
  for (const LaidRun& run : lane(overlay, WorkLane::Compute).measured) {
    ASSERT_GE(run.partner, 0);
    const LaidRun& ours = lane(overlay, WorkLane::Compute).predicted[static_cast<std::size_t>(run.partner)];
    EXPECT_NEAR(run.busy, ours.busy, 1e-9);
  }
}

TEST(lay_over, what_comes_more_often_than_predicted_is_left_alone) {
  const Predicted predicted = predicted_of("dp8 zero1", 0);
  MeasuredStep step = measured_as(predicted, 1);
  const std::size_t products = static_cast<std::size_t>(std::count_if(
      step.runs.begin(), step.runs.end(), [](const MeasuredRun& run) { return run.kind == WorkKind::Gemm; }));
  MeasuredRun again = *std::find_if(step.runs.begin(), step.runs.end(),
                                    [](const MeasuredRun& run) { return run.kind == WorkKind::Gemm; });
  again.begin = step.seconds;
  again.end = again.begin + 0.001;
  step.runs.push_back(again);
  const Overlay overlay = lay_over(predicted.asked.scenario, predicted.operations, 1, step);
  const auto& measured = lane(overlay, WorkLane::Compute).measured;
  EXPECT_EQ(measured.back().partner, -1);
  EXPECT_EQ(static_cast<std::size_t>(std::count_if(
                measured.begin(), measured.end(),
                [](const LaidRun& run) { return run.kind == WorkKind::Gemm && run.partner >= 0; })),
            products);
}

}  // namespace
}  // namespace hexaplan::validator
