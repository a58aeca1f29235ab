#include <algorithm>
#include <cmath>
#include <string>

#include "costmodel/program/replay_memory.h"
#include "costmodel/schedule/schedule.h"
#include "costmodel/simulate/simulation.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/stage_memory.h"
#include "tests/costmodel/properties/accepted_scenario.h"

namespace hexaplan::costmodel {
namespace {

bool equal(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

/// A random scenario under any schedule.
Scenario any_pipeline() {
  return accepted_with(accepted_scenario(), [](Scenario& s) {
    Layout& l = s.layout;
    l.schedule = *rc::gen::element(ScheduleKind::GPipe, ScheduleKind::OneFOneB, ScheduleKind::Interleaved,
                                   ScheduleKind::ZbH1, ScheduleKind::Zb2p, ScheduleKind::Zbv,
                                   ScheduleKind::VHalf, ScheduleKind::DualPipe, ScheduleKind::DualPipeV);
    l.split = StageSplit::Even;
    if (l.schedule <= ScheduleKind::OneFOneB) l.vpp = 1;
  });
}

RC_GTEST_PROP(simulation_laws, equal_stages_with_free_messages_take_as_long_as_the_closed_form_says, ()) {
  const Scenario s = accepted_with(accepted_scenario(), [](Scenario& scenario) {
    scenario.layout.split = scenario.framework.even_split = StageSplit::Even;
    scenario.layout.vocab = VocabParallel::AllStagesOneBarrier;  // both ends on every stage
    scenario.layout.sharding.stage = std::min(scenario.layout.sharding.stage, 1);
    scenario.framework.gradient_overlap = GradientOverlap::None;
    scenario.framework.parameter_gather_overlap = false;
    scenario.framework.microbatch_overhead = Seconds{};
    if (scenario.recipe.recompute.mode == RecomputeMode::Layers)
      scenario.recipe.recompute.mode = RecomputeMode::Full;
  });
  const auto chunks = plan_chunks(s);
  RC_PRE(std::all_of(chunks.begin(), chunks.end(), [&](const StagePlan& c) { return c == chunks[0]; }));
  RC_PRE(has_closed_form(s.layout, static_cast<int>(microbatches_per_step(s))));
  const Calibration calibration = *support::any_calibration();
  const StepTime closed = estimate_step(s, calibration).time;
  const Simulation simulated =
      simulate_step(s, calibration, {.keep_spans = false, .keep_memory = false, .free_messages = true});
  RC_ASSERT(equal(simulated.total.value(), (closed.total() - closed.pipeline_p2p).value()));
  RC_ASSERT(equal(simulated.stages[0].times.bubble.value() + closed.total().value(),
                  closed.bubble.value() + closed.total().value()));
}

RC_GTEST_PROP(simulation_laws, spans_of_a_stream_never_overlap_and_times_add_up_to_the_step, ()) {
  const Scenario s = any_pipeline();
  const Simulation simulation = simulate_step(s, *support::any_calibration());
  RC_ASSERT(std::isfinite(simulation.total.value()));
  const double slack = 1e-9 * simulation.total.value();
  for (const StageTimeline& stage : simulation.stages) {
    RC_ASSERT(equal(stage.times.total().value(), simulation.total.value()));
    for (const auto& stream : stage.streams) {
      Seconds end = stage.begin;
      for (const Span& span : stream) {
        RC_ASSERT(span.begin.value() >= end.value() - slack);
        RC_ASSERT(span.end > span.begin);
        end = span.end;
      }
      RC_ASSERT((end - stage.begin).value() <= simulation.total.value() + slack);
    }
  }
}

/// Unequal chunks are replayed, where the program describes the scenario.
RC_GTEST_PROP(simulation_laws, memory_never_exceeds_the_estimated_peak_and_1f1b_reaches_it, ()) {
  const Scenario s = any_pipeline();
  RC_PRE(!chunks_differ(s) || needs_replay(s));
  const Calibration calibration = *support::any_calibration();
  const Simulation simulation = simulate_step(s, calibration);
  const Estimate estimate = estimate_step(s, calibration);
  const bool reaches = s.layout.schedule <= ScheduleKind::OneFOneB;
  for (std::size_t i = 0; i < simulation.stages.size(); ++i) {
    const StageTimeline& stage = simulation.stages[i];
    const double ledger = estimate.stages[i].allocated.value();
    if (!at_most(stage.peak.value(), ledger))
      RC_FAIL("stage " + std::to_string(i) + ": " + std::to_string(stage.peak.value()) + " bytes, ledger " +
              std::to_string(ledger) + " at " + std::string{name_of(estimate.stages[i].instant)});
    if (reaches) RC_ASSERT(equal(stage.peak.value(), ledger));
    Bytes most;
    Seconds last{-1};
    for (const MemoryPoint& point : stage.memory) {
      RC_ASSERT(point.at > last);
      last = point.at;
      most = larger(most, point.allocated);
    }
    RC_ASSERT(at_most(most, stage.peak));
    RC_ASSERT(stage.memory.back().activations == Bytes{});
  }
}

}  // namespace
}  // namespace hexaplan::costmodel
