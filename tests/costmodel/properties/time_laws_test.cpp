#include <cmath>
#include <sstream>
#include <string>

#include "costmodel/spec/rules.h"
#include "tests/costmodel/properties/accepted_scenario.h"

namespace hexaplan::costmodel {
namespace {

std::array<Seconds, 13> causes(const StepTime& t) {
  return {t.gemm,         t.attention,       t.memory_bound,     t.recompute,
          t.launch,       t.tensor_parallel, t.context_parallel, t.expert_parallel,
          t.pipeline_p2p, t.bubble,          t.data_parallel,    t.optimizer,
          t.host};
}
Seconds step_time(const Scenario& s, const Calibration& c) {
  return estimate_step(s, c).time.total();
}
std::string by_cause(const StepTime& t) {
  std::ostringstream text;
  for (const Seconds cause : causes(t)) text << cause.value() << ' ';
  return text.str();
}
/// Fails, with both times by cause, when `a` takes longer than `b`.
void expect_no_slower(const Scenario& a, const Scenario& b, const Calibration& c) {
  const StepTime first = estimate_step(a, c).time, second = estimate_step(b, c).time;
  if (!at_most(first.total(), second.total())) {
    RC_FAIL("takes longer: " + by_cause(first) + "\n        than: " + by_cause(second));
  }
}

RC_GTEST_PROP(time_laws, every_accepted_layout_takes_a_finite_positive_time_that_its_causes_add_up_to, ()) {
  const Scenario s = accepted_scenario();
  const Estimate e = estimate_step(s, *support::any_calibration());
  Seconds sum;
  for (const Seconds cause : causes(e.time)) {
    RC_ASSERT(std::isfinite(cause.value()));
    RC_ASSERT(cause >= Seconds{0});
    sum += cause;
  }
  RC_ASSERT(sum > Seconds{0});
  RC_ASSERT(std::abs(sum / e.time.total() - 1) < 1e-9);
  RC_ASSERT(e.step_seconds.low <= e.time.total().value());
  RC_ASSERT(e.step_seconds.high >= e.time.total().value());
}

RC_GTEST_PROP(time_laws, throughput_follows_from_the_step_time, ()) {
  const Scenario s = accepted_scenario();
  const Estimate e = estimate_step(s, *support::any_calibration());
  const double tokens = static_cast<double>(s.recipe.global_batch) * static_cast<double>(s.recipe.sequence);
  RC_ASSERT(std::abs(e.throughput.tokens_per_second * e.time.total().value() / tokens - 1) < 1e-9);
  RC_ASSERT(e.throughput.mfu > 0);
  // A model's FLOPs count tokens that experts drop, the hardware's do not.
  if (!s.recipe.routing.drops()) {
    RC_ASSERT(e.throughput.mfu <= 1);
    RC_ASSERT(at_most(e.throughput.mfu, e.throughput.hfu));
  }
  RC_ASSERT(at_most(e.throughput.mfu, e.throughput.mfu_full_attention));
}

RC_GTEST_PROP(time_laws, doubling_memory_bandwidth_never_slows, ()) {
  const Scenario s = accepted_scenario();
  const Calibration c = *support::any_calibration();
  Scenario faster = s;
  faster.cluster.gpu.memory_bandwidth *= 2;
  expect_no_slower(faster, s, c);
}

RC_GTEST_PROP(time_laws, doubling_network_bandwidth_never_slows, ()) {
  const Scenario s = accepted_scenario();
  const Calibration c = *support::any_calibration();
  Scenario faster = s;
  for (NetworkLevel& level : faster.cluster.levels) level.bandwidth *= 2;
  expect_no_slower(faster, s, c);
}

RC_GTEST_PROP(time_laws, doubling_the_peak_never_slows, ()) {
  const Scenario s = accepted_scenario();
  const Calibration c = *support::any_calibration();
  Scenario faster = s;
  for (FlopsPerSecond& peak : faster.cluster.gpu.peak) peak *= 2;
  expect_no_slower(faster, s, c);
}

RC_GTEST_PROP(time_laws, more_recomputation_never_takes_less_time, ()) {
  Scenario s = accepted_with(accepted_scenario(), [](Scenario& x) { x.recipe.recompute = {}; });
  const Calibration c = *support::any_calibration();
  Scenario before = s;
  for (const RecomputeMode mode : {RecomputeMode::None, RecomputeMode::Selective, RecomputeMode::Full}) {
    s.recipe.recompute = {.mode = mode};
    if (first_rejection(s).has_value()) continue;
    expect_no_slower(before, s, c);
    before = s;
  }
}

RC_GTEST_PROP(time_laws, more_microbatches_take_longer_and_never_raise_the_bubbles_share, ()) {
  const Scenario s = accepted_scenario();
  const Calibration c = *support::any_calibration();
  const Scenario longer = accepted_with(s, [](Scenario& x) { x.recipe.global_batch *= 2; });
  const StepTime a = estimate_step(s, c).time, b = estimate_step(longer, c).time;
  RC_ASSERT(at_most(a.total(), b.total()));
  const auto share = [](const StepTime& t) {
    return t.bubble / (t.total() - t.data_parallel - t.optimizer - t.host);
  };
  RC_ASSERT(share(b) <= share(a) + 1e-9);
}

RC_GTEST_PROP(time_laws, longer_sequences_never_take_less_time, ()) {
  const Scenario s = accepted_scenario();
  const Calibration c = *support::any_calibration();
  const Scenario longer = accepted_with(s, [](Scenario& x) { x.recipe.sequence *= 2; });
  expect_no_slower(s, longer, c);
}

RC_GTEST_PROP(time_laws, relabelling_ranks_of_one_node_changes_nothing, ()) {
  const Scenario s = accepted_with(*support::any_scenario(), [](Scenario& x) {
    // Everything inside one unit of the only level: every order is a relabelling.
    x.cluster.gpus_per_node = static_cast<int>(x.cluster.gpus);
    x.cluster.levels.resize(1);
    x.cluster.levels[0].ranks = x.cluster.gpus;
  });
  Scenario relabelled = s;
  relabelled.layout.order = {Axis::Pipeline, Axis::Data, Axis::Context, Axis::Tensor};
  RC_PRE(!first_rejection(relabelled).has_value());
  const Calibration c = *support::any_calibration();
  const Estimate a = estimate_step(s, c), b = estimate_step(relabelled, c);
  RC_ASSERT(std::abs(a.time.total() / b.time.total() - 1) < 1e-9);
  RC_ASSERT(a.stages[0].device == b.stages[0].device);
}

RC_GTEST_PROP(time_laws, one_chunk_per_stage_is_plain_1f1b, ()) {
  const Scenario s = accepted_with(*support::any_scenario(), [](Scenario& x) {
    x.layout.vpp = 1;
    x.layout.schedule = ScheduleKind::OneFOneB;
  });
  Scenario interleaved = s;
  interleaved.layout.schedule = ScheduleKind::Interleaved;
  RC_PRE(!first_rejection(interleaved).has_value());
  const Calibration c = *support::any_calibration();
  RC_ASSERT(std::abs(step_time(s, c) / step_time(interleaved, c) - 1) < 1e-9);
}

RC_GTEST_PROP(time_laws, the_same_question_gets_the_same_answer, ()) {
  const Scenario s = accepted_scenario();
  const Calibration c = *support::any_calibration();
  RC_ASSERT(step_time(s, c) == step_time(s, c));
}

RC_GTEST_PROP(time_laws, rejected_layouts_get_a_rule_a_reason_and_advice, ()) {
  Scenario s = *support::any_scenario();
  if (!first_rejection(s)) ++s.cluster.gpus;  // one more than the layout fills
  const auto rejection = first_rejection(s);
  RC_ASSERT(rejection.has_value());
  RC_ASSERT(!rejection->rule.empty());
  RC_ASSERT(!rejection->reason.empty());
  RC_ASSERT(std::get<Rejected>(estimate_step(s, *support::any_calibration()).verdict).rule ==
            rejection->rule);
}

}  // namespace
}  // namespace hexaplan::costmodel
