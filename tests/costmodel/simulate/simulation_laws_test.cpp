#include <algorithm>
#include <cmath>
#include <string>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/program/replay_memory.h"
#include "costmodel/schedule/schedule.h"
#include "costmodel/simulate/critical_path.h"
#include "costmodel/simulate/simulated_totals.h"
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

/// `s` with stages that are alike and wait for nothing but each other and what every micro-batch has.
void make_stages_equal(Scenario& s) {
  s.layout.split = s.framework.even_split = StageSplit::Even;
  s.layout.vocab = VocabParallel::AllStagesOneBarrier;  // both ends on every stage
  s.framework.parameter_gather_overlap = false;
  s.framework.microbatch_overhead = Seconds{};
  if (s.recipe.recompute.mode == RecomputeMode::Layers) s.recipe.recompute.mode = RecomputeMode::Full;
}

bool chunks_are_alike(const Scenario& s) {
  const auto chunks = plan_chunks(s);
  return std::all_of(chunks.begin(), chunks.end(), [&](const StagePlan& c) { return c == chunks[0]; });
}

RC_GTEST_PROP(simulation_laws, totals_that_are_remembered_are_those_of_each_step, ()) {
  const Calibration calibration = *support::any_calibration();
  SimulatedTotals totals;
  Scenario s = any_pipeline();
  for (const double overhead : {0.0, 0.5, 0.0}) {
    s.framework.step_overhead = Seconds{overhead};
    for (const bool slower : {false, true, false}) {
      s.cluster.gpu.memory_bandwidth = s.cluster.gpu.memory_bandwidth * (slower ? 0.5 : 1.0);
      RC_ASSERT(totals.of(s, calibration) == simulate_step(s, calibration).total);
    }
  }
}

RC_GTEST_PROP(simulation_laws, without_a_pipeline_the_step_takes_as_long_as_the_estimate_says, ()) {
  const Scenario s = accepted_with(accepted_scenario(), [](Scenario& scenario) {
    scenario.layout.dp *= scenario.layout.pp;
    scenario.layout.pp = scenario.layout.vpp = 1;
    scenario.layout.split = scenario.framework.even_split = StageSplit::Even;
    scenario.layout.schedule = ScheduleKind::OneFOneB;
    scenario.layout.sharding.stage = *rc::gen::inRange(0, 4);
  });
  const Calibration calibration = *support::any_calibration();
  const double closed = estimate_step(s, calibration).time.total().value();
  const double simulated =
      simulate_step(s, calibration, {.keep_spans = false, .keep_memory = false}).total.value();
  RC_LOG() << "closed form " << closed << " s, simulated " << simulated << " s";
  RC_ASSERT(std::abs(simulated - closed) <= 0.01 * closed);  // buckets are whole in the simulation
}

RC_GTEST_PROP(simulation_laws, stages_wait_for_what_their_neighbours_gather_and_reduce, ()) {
  const Scenario s = accepted_with(accepted_scenario(), [](Scenario& scenario) {
    make_stages_equal(scenario);
    scenario.layout.vpp = 1;  // chunks transfer their shares of a stage's ends and buckets by themselves
    if (scenario.layout.schedule == ScheduleKind::Interleaved)
      scenario.layout.schedule = ScheduleKind::OneFOneB;
    scenario.layout.sharding.stage = *rc::gen::element(2, 3);
  });
  RC_PRE(s.layout.pp > 1);
  RC_PRE(gathers_layers(s) || reduces_every_pass(s));
  RC_PRE(chunks_are_alike(s));
  RC_PRE(has_closed_form(s.layout, static_cast<int>(microbatches_per_step(s))));
  const Calibration calibration = *support::any_calibration();
  const StepTime closed = estimate_step(s, calibration).time;
  const Simulation simulated =
      simulate_step(s, calibration, {.keep_spans = false, .keep_memory = false, .free_messages = true});
  const double expected = (closed.total() - closed.pipeline_p2p).value();
  RC_LOG() << "closed form " << expected << " s, simulated " << simulated.total.value() << " s";
  RC_ASSERT(std::abs(simulated.total.value() - expected) <= 0.01 * expected);
}

RC_GTEST_PROP(simulation_laws, equal_stages_with_free_messages_take_as_long_as_the_closed_form_says, ()) {
  const Scenario s = accepted_with(accepted_scenario(), [](Scenario& scenario) {
    make_stages_equal(scenario);
    scenario.layout.sharding.stage = std::min(scenario.layout.sharding.stage, 1);
    scenario.framework.gradient_overlap = GradientOverlap::None;
  });
  RC_PRE(chunks_are_alike(s));
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

/// Whether a stretch of the critical path lies in a span that is drawn.
bool is_drawn(const Simulation& step, const PathPart& part, double close) {
  const auto& stage = step.stages[static_cast<std::size_t>(part.stage)];
  const auto& spans = stage.streams[static_cast<std::size_t>(part.stream)];
  return std::any_of(spans.begin(), spans.end(), [&](const Span& span) {
    return span.kind == part.span.kind && span.begin.value() <= part.span.begin.value() + close &&
           part.span.end.value() <= span.end.value() + close;
  });
}

RC_GTEST_PROP(simulation_laws, the_critical_path_is_busy_from_the_first_moment_to_the_last, ()) {
  Scenario s = any_pipeline();
  s.framework.pipeline_wait = {};  // at either end of a message the host would wait
  RC_PRE(tasks_of_step(s) < 1'000);
  const Simulation step = simulate_step(s, *support::any_calibration());
  const auto path = critical_path(step);
  RC_ASSERT(!path.empty());
  double last = 0;
  for (const StageTimeline& stage : step.stages) {
    for (const auto& spans : stage.streams)
      last = spans.empty() ? last : std::max(last, spans.back().end.value());
  }
  const double close = 1e-9 * last;
  RC_ASSERT(std::abs(path.back().span.end.value() - last) <= close);
  RC_ASSERT(std::any_of(step.stages.begin(), step.stages.end(), [&](const StageTimeline& stage) {
    return std::abs(stage.begin.value() - path.front().span.begin.value()) <= close;
  }));
  for (std::size_t i = 0; i < path.size(); ++i) {
    RC_LOG() << "part " << i << ": stage " << path[i].stage << ", from " << path[i].span.begin.value()
             << " to " << path[i].span.end.value() << (path[i].waiting ? ", waiting\n" : "\n");
    if (i > 0) RC_ASSERT(std::abs(path[i].span.begin.value() - path[i - 1].span.end.value()) <= close);
    RC_ASSERT(!path[i].waiting);
    RC_ASSERT(is_drawn(step, path[i], close));
  }
}

}  // namespace
}  // namespace hexaplan::costmodel
