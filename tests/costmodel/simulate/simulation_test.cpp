#include "costmodel/simulate/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "costmodel/schedule/schedule.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/stage_memory.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

/// The example on a pipeline of four, two replicas and eight micro-batches per stage.
Scenario pipeline_of_four(ScheduleKind schedule, int vpp = 1) {
  Scenario sc = example_scenario();
  sc.layout.pp = 4;
  sc.layout.dp = 2;
  sc.layout.vpp = vpp;
  sc.layout.schedule = schedule;
  return sc;
}

Simulation simulate(const Scenario& sc) {
  return simulate_step(sc, Calibration{});
}
const std::vector<Span>& spans(const Simulation& simulation, std::size_t stage, Stream stream) {
  return simulation.stages[stage].streams[static_cast<std::size_t>(stream)];
}
Seconds drawn(const std::vector<Span>& spans, SpanKind kind) {
  Seconds sum;
  for (const Span& span : spans) sum += span.kind == kind ? span.end - span.begin : Seconds{};
  return sum;
}
std::size_t count(const std::vector<Span>& spans, SpanKind kind) {
  return static_cast<std::size_t>(
      std::count_if(spans.begin(), spans.end(), [&](const Span& span) { return span.kind == kind; }));
}

TEST(simulate_step, draws_every_pass_of_every_microbatch_once) {
  const Simulation plain = simulate(pipeline_of_four(ScheduleKind::Interleaved, 2));
  EXPECT_EQ(plain.microbatches, 32);
  EXPECT_EQ(plain.chunks, 2);
  for (std::size_t stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(count(spans(plain, stage, Stream::Compute), SpanKind::Forward), 64U);
    EXPECT_EQ(count(spans(plain, stage, Stream::Compute), SpanKind::Backward), 64U);
  }
  const Simulation split = simulate(pipeline_of_four(ScheduleKind::ZbH1));
  EXPECT_EQ(count(spans(split, 2, Stream::Compute), SpanKind::BackwardInput), 32U);
  EXPECT_EQ(count(spans(split, 2, Stream::Compute), SpanKind::BackwardWeight), 32U);
}

TEST(simulate_step, a_message_goes_to_every_neighbour_and_none_where_the_chain_turns) {
  const Simulation v = simulate(pipeline_of_four(ScheduleKind::Zbv));
  EXPECT_EQ(count(spans(v, 1, Stream::Messages), SpanKind::SendForward), 64U) << "down and up";
  EXPECT_EQ(count(spans(v, 3, Stream::Messages), SpanKind::SendForward), 32U) << "turns to itself";
  EXPECT_EQ(count(spans(v, 0, Stream::Messages), SpanKind::SendForward), 32U) << "ends there";
}

TEST(simulate_step, recomputation_runs_before_every_backward) {
  Scenario sc = pipeline_of_four(ScheduleKind::OneFOneB);
  sc.recipe.recompute.mode = RecomputeMode::Full;
  const Simulation again = simulate(sc);
  const auto& compute = spans(again, 1, Stream::Compute);
  EXPECT_EQ(count(compute, SpanKind::Recompute), 32U);
  for (std::size_t i = 1; i < compute.size(); ++i) {
    if (compute[i].kind != SpanKind::Backward) continue;
    EXPECT_EQ(compute[i - 1].kind, SpanKind::Recompute);
  }
}

TEST(simulate_step, gradients_are_reduced_while_the_last_backward_runs_and_slow_it_down) {
  Scenario sc = pipeline_of_four(ScheduleKind::OneFOneB);
  sc.framework.gradient_overlap = GradientOverlap::Backward;
  sc.framework.gradient_bucket_elements = 2e8;
  sc.framework.overlap_slowdown = 1.2;
  const Simulation beside = simulate(sc);
  const auto& compute = spans(beside, 0, Stream::Compute);
  const auto backward = std::find_if(compute.rbegin(), compute.rend(),
                                     [](const Span& span) { return span.kind == SpanKind::Backward; });
  const auto& data = spans(beside, 0, Stream::Data);
  const auto reduction = std::find_if(data.begin(), data.end(),
                                      [](const Span& span) { return span.kind == SpanKind::GradientReduce; });
  ASSERT_NE(reduction, data.end());
  EXPECT_GT(reduction->begin, backward->begin);
  EXPECT_LT(reduction->begin, backward->end);

  sc.framework.gradient_overlap = GradientOverlap::None;
  const Simulation after = simulate(sc);
  const auto& late = spans(after, 0, Stream::Data);
  const auto whole = std::find_if(late.begin(), late.end(),
                                  [](const Span& span) { return span.kind == SpanKind::GradientReduce; });
  ASSERT_NE(whole, late.end());
  EXPECT_GE(whole->begin, spans(after, 0, Stream::Compute)[63].end) << "32 forwards, 32 backwards";
  EXPECT_GT(after.total, beside.total);
  const auto last =
      std::find_if(spans(after, 0, Stream::Compute).rbegin(), spans(after, 0, Stream::Compute).rend(),
                   [](const Span& span) { return span.kind == SpanKind::Backward; });
  EXPECT_GT(backward->end - backward->begin, last->end - last->begin) << "contention";
}

TEST(simulate_step, sharded_gradients_are_reduced_behind_every_backward) {
  Scenario sc = pipeline_of_four(ScheduleKind::OneFOneB);
  sc.framework.gradient_overlap = GradientOverlap::None;
  sc.framework.zero2_gathers_layers = false;
  const auto reductions = [&](int stage) {
    sc.layout.sharding.stage = stage;
    const Simulation simulation = simulate(sc);
    return count(spans(simulation, 1, Stream::Data), SpanKind::GradientReduce);
  };
  EXPECT_EQ(reductions(1), 1U);
  EXPECT_EQ(reductions(2), 32U) << "micro-batches";
}

TEST(simulate_step, parameters_gathered_beside_the_first_forwards_delay_the_first_stage_alone) {
  Scenario sc = pipeline_of_four(ScheduleKind::OneFOneB);
  sc.framework.gradient_overlap = GradientOverlap::None;
  sc.framework.gradient_bucket_elements = 1e8;
  const Simulation beside = simulate(sc);
  EXPECT_EQ(spans(beside, 0, Stream::Data).front().kind, SpanKind::ParameterGather);
  EXPECT_EQ(spans(beside, 0, Stream::Data).front().begin, Seconds{});
  EXPECT_GT(spans(beside, 0, Stream::Compute).front().begin, Seconds{}) << "the first bucket";
  sc.framework.parameter_gather_overlap = false;
  const Simulation after = simulate(sc);
  EXPECT_EQ(spans(after, 0, Stream::Compute).front().begin, Seconds{});
  EXPECT_EQ(spans(after, 0, Stream::Data).back().kind, SpanKind::ParameterGather);
  EXPECT_GT(after.stages[3].times.data_parallel, beside.stages[3].times.data_parallel);
}

TEST(simulate_step, senders_wait_for_the_share_of_a_message_that_the_framework_does_not_hide) {
  Scenario sc = pipeline_of_four(ScheduleKind::OneFOneB);
  const Simulation waits = simulate(sc);
  const Seconds sent = drawn(spans(waits, 1, Stream::Messages), SpanKind::SendForward) +
                       drawn(spans(waits, 1, Stream::Messages), SpanKind::SendBackward);
  EXPECT_NEAR(waits.stages[1].times.messages / sent, 1.0, 1e-9);
  sc.framework.pipeline_overlap = 1;
  const Simulation hides = simulate(sc);
  EXPECT_EQ(hides.stages[1].times.messages, Seconds{});
  EXPECT_LT(hides.total, waits.total);
}

TEST(simulate_step, polling_costs_both_ends_of_every_message_as_the_closed_form_has_it) {
  Scenario sc = pipeline_of_four(ScheduleKind::OneFOneB);
  sc.framework.pipeline_wait = Seconds{0.5};
  // An inner stage serves two neighbours there and back, 32 times; the last time it sends nothing more down.
  EXPECT_NEAR(simulate(sc).stages[1].times.messages.value(), 0.5 * 2 * 32, 0.2);
}

TEST(simulate_step, exchanges_of_an_overlapped_pair_hide_behind_the_others_kernels) {
  const Simulation apart = simulate(pipeline_of_four(ScheduleKind::Zbv));
  const Simulation pairs = simulate(pipeline_of_four(ScheduleKind::DualPipeV));
  EXPECT_LT(pairs.stages[1].times.collectives.value(), 0.5 * apart.stages[1].times.collectives.value());
}

TEST(simulate_step, hides_of_pairs_what_the_closed_form_hides) {
  for (const ScheduleKind schedule : {ScheduleKind::DualPipe, ScheduleKind::DualPipeV}) {
    const Scenario sc = pipeline_of_four(schedule);
    const Estimate closed = estimate_step(sc, {});
    EXPECT_NEAR(simulate(sc).total / closed.time.total(), 1, 0.02);
    EXPECT_GT(closed.time.tensor_parallel, Seconds{});
    EXPECT_LT(closed.time.tensor_parallel.value(),
              0.5 * estimate_step(pipeline_of_four(ScheduleKind::Zbv), {}).time.tensor_parallel.value());
  }
}

TEST(simulate_step, stages_of_zb2p_begin_their_next_step_as_soon_as_they_have_finished) {
  Scenario sc = pipeline_of_four(ScheduleKind::Zb2p);
  sc.model.vocab = 1;  // ends that weigh nothing: all stages alike
  const Simulation drifting = simulate(sc);
  for (std::size_t s = 0; s < 4; ++s) {
    const Seconds begin = drifting.stages[s].begin;
    EXPECT_GE(spans(drifting, s, Stream::Compute).front().begin, begin);
    EXPECT_LE(spans(drifting, s, Stream::Compute).back().end.value(),
              (begin + drifting.total).value() + 1e-9);
  }
  EXPECT_NE(drifting.stages[0].begin, drifting.stages[3].begin);
  sc.layout.schedule = ScheduleKind::ZbH1;
  EXPECT_LT(drifting.bubble_share(), simulate(sc).bubble_share());
}

struct Peak {
  const char* name;
  ScheduleKind schedule;
  int vpp;
  RecomputeMode recompute;
};
class SimulatedPeak : public testing::TestWithParam<Peak> {};

void expect_peak_of(const StageTimeline& stage, const StageMemory& memory) {
  EXPECT_NEAR(stage.peak.value(), memory.allocated.value(), 1.0);
  EXPECT_NEAR((stage.peak + stage.outside).value(), memory.device.value(), 1.0);
}

TEST_P(SimulatedPeak, is_the_ledgers_on_every_stage) {
  Scenario sc = pipeline_of_four(GetParam().schedule, GetParam().vpp);
  sc.recipe.recompute.mode = GetParam().recompute;
  sc.recipe.recompute.layers = 3;
  const Simulation simulation = simulate(sc);
  const Estimate estimate = estimate_step(sc, Calibration{});
  for (std::size_t s = 0; s < simulation.stages.size(); ++s) {
    SCOPED_TRACE(s);
    const StageTimeline& stage = simulation.stages[s];
    expect_peak_of(stage, estimate.stages[s]);
    EXPECT_NEAR(stage.microbatches_in_flight, estimate.stages[s].microbatches_in_flight, 1e-9);
  }
  EXPECT_EQ(simulation.peak_stage, estimate.peak_stage);
}

INSTANTIATE_TEST_SUITE_P(
    table, SimulatedPeak,
    testing::Values(Peak{"gpipe", ScheduleKind::GPipe, 1, RecomputeMode::None},
                    Peak{"one_f_one_b", ScheduleKind::OneFOneB, 1, RecomputeMode::None},
                    Peak{"one_f_one_b_full", ScheduleKind::OneFOneB, 1, RecomputeMode::Full},
                    Peak{"one_f_one_b_layers", ScheduleKind::OneFOneB, 1, RecomputeMode::Layers},
                    Peak{"interleaved", ScheduleKind::Interleaved, 2, RecomputeMode::None},
                    Peak{"interleaved_layers", ScheduleKind::Interleaved, 4, RecomputeMode::Layers},
                    Peak{"zb_h1", ScheduleKind::ZbH1, 1, RecomputeMode::None},
                    Peak{"zb_2p", ScheduleKind::Zb2p, 1, RecomputeMode::None},
                    Peak{"zb_v", ScheduleKind::Zbv, 1, RecomputeMode::None},
                    Peak{"v_half", ScheduleKind::VHalf, 1, RecomputeMode::None},
                    Peak{"dualpipe", ScheduleKind::DualPipe, 1, RecomputeMode::None},
                    Peak{"dualpipe_v", ScheduleKind::DualPipeV, 1, RecomputeMode::None}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST_P(SimulatedPeak, is_the_replays_where_every_allocation_is_known) {
  Scenario sc = pipeline_of_four(GetParam().schedule, GetParam().vpp);
  sc.framework.replays_parameters = sc.framework.keeps_what_backward_reads = true;
  sc.layout.sharding.stage = 3;
  sc.recipe.recompute = {.mode = GetParam().recompute, .layers = 3};
  const Simulation simulation = simulate(sc);
  const Estimate estimate = estimate_step(sc, Calibration{});
  for (std::size_t s = 0; s < simulation.stages.size(); ++s) {
    SCOPED_TRACE(s);
    const StageTimeline& stage = simulation.stages[s];
    expect_peak_of(stage, estimate.stages[s]);
    EXPECT_NEAR(stage.memory.back().allocated.value(), estimate.stages[s].idle.value(), 1.0);
  }
}

TEST(simulate_step, memory_begins_and_ends_idle_and_steps_up_in_the_forward) {
  const Scenario sc = pipeline_of_four(ScheduleKind::OneFOneB);
  const Simulation simulation = simulate(sc);
  const Estimate estimate = estimate_step(sc, Calibration{});
  for (std::size_t s = 0; s < 4; ++s) {
    const auto& memory = simulation.stages[s].memory;
    const double before = s == 0 ? memory.back().allocated.value() : memory.front().allocated.value();
    EXPECT_NEAR(before, estimate.stages[s].idle.value(), 1.0) << "stage 0 begins at once";
    EXPECT_NEAR(memory.back().allocated.value(), estimate.stages[s].idle.value(), 1.0);
    EXPECT_EQ(memory.back().activations, Bytes{});
    EXPECT_GT(memory[1].activations, Bytes{});
  }
}

TEST(simulate_step, keeps_no_more_than_is_asked_for_and_says_the_same) {
  const Scenario sc = pipeline_of_four(ScheduleKind::Zbv);
  const Simulation all = simulate(sc);
  const Simulation totals = simulate_step(sc, Calibration{}, {.keep_spans = false, .keep_memory = false});
  EXPECT_EQ(totals.total, all.total);
  EXPECT_EQ(totals.stages[2].peak, all.stages[2].peak);
  EXPECT_EQ(totals.stages[2].times.bubble, all.stages[2].times.bubble);
  EXPECT_TRUE(spans(totals, 2, Stream::Compute).empty());
  EXPECT_TRUE(totals.stages[2].memory.empty());
}

TEST(simulate_step, takes_as_long_when_memory_is_left_aside) {
  for (int kind = 0; kind < kScheduleKinds; ++kind) {
    const Scenario sc = pipeline_of_four(static_cast<ScheduleKind>(kind));
    const Simulation all = simulate(sc);
    const Simulation times = simulate_step(sc, Calibration{}, {.times_alone = true});
    EXPECT_EQ(times.total, all.total) << "schedule " << kind;
    for (std::size_t s = 0; s < 4; ++s) {
      EXPECT_EQ(times.stages[s].streams, all.stages[s].streams) << "schedule " << kind;
      EXPECT_EQ(times.stages[s].times.total(), all.stages[s].times.total()) << "schedule " << kind;
      EXPECT_EQ(times.stages[s].peak, Bytes{}) << "nobody followed it";
    }
  }
}

/// Long enough for several pieces.
Scenario long_pipeline(ScheduleKind schedule) {
  Scenario sc = pipeline_of_four(schedule, schedule == ScheduleKind::Interleaved ? 2 : 1);
  sc.recipe.global_batch = 1100 * sc.recipe.micro_batch * sc.layout.dp;
  return sc;
}

void append(const StageTimeline& piece, StageTimeline& all) {
  for (std::size_t i = 0; i < all.streams.size(); ++i)
    all.streams[i].insert(all.streams[i].end(), piece.streams[i].begin(), piece.streams[i].end());
  all.memory.insert(all.memory.end(), piece.memory.begin(), piece.memory.end());
}

TEST(simulate_step, hands_over_in_pieces_what_it_would_keep_and_keeps_nothing) {
  for (const ScheduleKind schedule : {ScheduleKind::GPipe, ScheduleKind::OneFOneB, ScheduleKind::Interleaved,
                                      ScheduleKind::Zb2p, ScheduleKind::Zbv, ScheduleKind::DualPipe}) {
    const Scenario sc = long_pipeline(schedule);
    const Simulation kept = simulate(sc);
    std::vector<StageTimeline> pieced(4);
    int pieces = 0;
    const Simulation taken =
        simulate_step(sc, Calibration{}, {.take = [&](int stage, const StageTimeline& piece) {
                        pieces += stage == 0 ? 1 : 0;
                        append(piece, pieced[static_cast<std::size_t>(stage)]);
                      }});
    EXPECT_GT(pieces, 1);
    EXPECT_EQ(taken.total, kept.total);
    for (std::size_t s = 0; s < 4; ++s) {
      EXPECT_EQ(pieced[s].streams, kept.stages[s].streams) << "stage " << s;
      ASSERT_EQ(pieced[s].memory.size(), kept.stages[s].memory.size()) << "stage " << s;
      for (std::size_t i = 0; i < pieced[s].memory.size(); ++i) {
        ASSERT_EQ(pieced[s].memory[i].at, kept.stages[s].memory[i].at) << "point " << i;
        ASSERT_EQ(pieced[s].memory[i].allocated, kept.stages[s].memory[i].allocated) << "point " << i;
      }
      EXPECT_EQ(taken.stages[s].peak, kept.stages[s].peak);
      EXPECT_EQ(taken.stages[s].times.bubble, kept.stages[s].times.bubble);
      EXPECT_TRUE(taken.stages[s].memory.empty() && spans(taken, s, Stream::Compute).empty());
    }
  }
}

TEST(simulate_step, ends_when_nobody_takes_what_it_hands_over) {
  const auto full = [](int, const StageTimeline&) { throw std::runtime_error{"the disk is full"}; };
  EXPECT_THROW(static_cast<void>(simulate_step(long_pipeline(ScheduleKind::OneFOneB), {}, {.take = full})),
               std::runtime_error);
}

TEST(simulation_size, is_the_number_of_tasks_of_the_schedule) {
  for (int kind = 0; kind < kScheduleKinds; ++kind) {
    const auto schedule = static_cast<ScheduleKind>(kind);
    const Scenario sc = pipeline_of_four(schedule, schedule == ScheduleKind::Interleaved ? 3 : 1);
    const Schedule order =
        make_schedule(schedule, 4, static_cast<int>(microbatches_per_step(sc)), sc.layout.vpp);
    std::size_t tasks = 0;
    for (const auto& stage : order.stages) tasks += stage.size();
    // DualPipe splits the backward of some micro-batches only.
    const bool splits_some = schedule == ScheduleKind::DualPipe || schedule == ScheduleKind::DualPipeV;
    const auto counted = static_cast<std::int64_t>(tasks);
    EXPECT_GE(tasks_of_step(sc), counted) << "schedule " << kind;
    EXPECT_LE(tasks_of_step(sc), splits_some ? counted * 3 / 2 : counted) << "schedule " << kind;
  }
}

TEST(simulation_size, is_limited_and_the_refusal_says_how_many_micro_batches_pass) {
  Scenario sc = pipeline_of_four(ScheduleKind::OneFOneB);
  const auto with_microbatches = [&](std::int64_t microbatches) {
    sc.recipe.global_batch = microbatches * sc.recipe.micro_batch * sc.layout.dp;
    return sc;
  };
  const SimulationOptions totals{.keep_spans = false, .keep_memory = false};
  const std::int64_t most = kMostSimulatedTasks / 8, drawn = kMostDrawnTasks / 8;  // 4 stages, 2 passes
  EXPECT_FALSE(too_large_to_simulate(with_microbatches(most), totals));
  EXPECT_FALSE(too_large_to_simulate(with_microbatches(drawn)));
  const auto refused = too_large_to_simulate(with_microbatches(drawn + 1));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->rule, "simulation-size");
  const SimulationOptions taken{.take = [](int, const StageTimeline&) {}};
  EXPECT_FALSE(too_large_to_simulate(with_microbatches(drawn + 1), taken)) << "nothing of them is kept";
  EXPECT_NE(refused->reason.find("625,001 micro-batches over 4 stages of 1 chunks are 5,000,008 tasks"),
            std::string::npos)
      << refused->reason;
  EXPECT_NE(refused->advice.find("at most 625,000 micro-batches"), std::string::npos) << refused->advice;
  EXPECT_TRUE(too_large_to_simulate(with_microbatches(most + 1), totals));
  sc.recipe.micro_batch = sc.layout.dp = 1;
  sc.recipe.global_batch = std::numeric_limits<int>::max();
  sc.layout.pp = std::numeric_limits<int>::max(), sc.layout.vpp = 64;
  EXPECT_EQ(tasks_of_step(sc), std::numeric_limits<std::int64_t>::max());
  EXPECT_TRUE(too_large_to_simulate(sc, totals));
}

TEST(simulate_step, ends_where_it_is_stopped) {
  Scenario sc = pipeline_of_four(ScheduleKind::OneFOneB);
  sc.recipe.global_batch = 4096 * sc.recipe.micro_batch * sc.layout.dp;
  std::stop_source source;
  EXPECT_FALSE(simulate_step(sc, Calibration{}, {.stop = source.get_token()}).stopped);
  source.request_stop();
  const Simulation stopped = simulate_step(sc, Calibration{}, {.stop = source.get_token()});
  EXPECT_TRUE(stopped.stopped);
  EXPECT_TRUE(stopped.stages.empty());
}

}  // namespace
}  // namespace hexaplan::costmodel
