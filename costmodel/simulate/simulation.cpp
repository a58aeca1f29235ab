#include "costmodel/simulate/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <limits>
#include <utility>

#include "costmodel/program/replay_memory.h"
#include "costmodel/schedule/in_flight.h"
#include "costmodel/schedule/replay.h"
#include "costmodel/simulate/simulated_totals.h"
#include "costmodel/simulate/step_clock.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/units/format_units.h"

namespace hexaplan::costmodel {
namespace {

constexpr std::array<std::string_view, kSpanKinds> kKindNames = {
    "forward",    "backward",     "backward input", "backward weight",    "recompute",
    "collective", "send forward", "send backward",  "gradient reduction", "parameter gather",
    "optimizer",  "host",         "outer reduction"};
constexpr std::array<std::string_view, kStreams> kStreamNames = {"compute", "collectives", "messages",
                                                                 "data parallel"};

double share_of(const Simulation& simulation, Seconds (*part)(const SimulatedTimes&)) {
  Seconds sum;
  for (const StageTimeline& stage : simulation.stages) sum += part(stage.times);
  const Seconds all = simulation.total * static_cast<double>(simulation.stages.size());
  return all > Seconds{} ? sum / all : 0.0;
}

/// What does not change from one run of the order to the next.
struct Setup {
  Schedule schedule;
  StepPieces pieces;
  OverlapRules rules;
  std::vector<StageLevels> levels;
};

Setup set_up(const Scenario& sc, const Calibration& calibration, bool times_alone) {
  const Layout& l = sc.layout;
  const std::int64_t microbatches = microbatches_per_step(sc);
  const auto stages = plan_stages(sc);
  const auto chunks = plan_chunks(sc);
  const int per_stage = chunks_per_stage(l);
  Setup setup{.schedule = make_schedule(l.schedule, l.pp, static_cast<int>(microbatches), l.vpp),
              .pieces = price_pieces(sc, calibration, stages, chunks),
              .rules = overlap_rules(sc)};
  if (times_alone) return setup;
  const MemoryModel memory{sc, calibration, stages};
  const std::vector<double> in_flight = microbatches_in_flight(sc);  // in layers, as the estimate counts
  setup.levels.reserve(stages.size());
  for (int s = 0; s < l.pp; ++s) {
    const double of_schedule = microbatches_in_flight(l, microbatches, s);
    const double plain =
        chunks_in_flight(l.schedule, l.pp, static_cast<int>(microbatches), per_stage, s) / per_stage;
    setup.levels.push_back(
        stage_levels(memory, stages[static_cast<std::size_t>(s)], s,
                     &chunks[static_cast<std::size_t>(s) * static_cast<std::size_t>(per_stage)], per_stage,
                     in_flight[static_cast<std::size_t>(s)], of_schedule - plain));
  }
  if (needs_replay(sc)) replay_levels(sc, memory, stages, setup.levels);
  return setup;
}

/// One step whose stages begin at `begin`.
std::vector<StageClock> run_step(const Setup& setup, const std::vector<Seconds>& begin,
                                 const SimulationOptions& options, Seconds step_host) {
  std::vector<StageClock> clocks;
  clocks.reserve(begin.size());
  for (std::size_t s = 0; s < begin.size(); ++s) {
    const std::size_t all = setup.schedule.stages[s].size();
    const std::size_t tasks = options.take ? std::min(all, StepClock::kPause / begin.size()) : all;
    MemoryTrack memory = options.times_alone
                             ? MemoryTrack{}
                             : MemoryTrack{setup.levels[s], options.keep_memory ? 2 * tasks + 8 : 0};
    clocks.emplace_back(std::move(memory), begin[s], setup.rules.slowdown,
                        options.keep_spans ? tasks + 8 : 0);
  }
  StepClock clock{setup.schedule, setup.pieces, setup.rules, std::move(clocks), options.stop, options.take};
  [[maybe_unused]] const std::size_t ran = replay(setup.schedule, clock);
  assert(ran > 0);
  clock.finish(!drifts(setup.schedule.kind));
  for (StageClock& stage : clock.stages())
    stage.spend(step_host, &SimulatedTimes::host, Stream::Compute, SpanKind::Host);
  clock.hand_over(Piece::Last);
  return std::move(clock.stages());
}

std::vector<Seconds> ends_of(const std::vector<StageClock>& clocks) {
  std::vector<Seconds> ends;
  ends.reserve(clocks.size());
  for (const StageClock& clock : clocks) ends.push_back(clock.now());
  return ends;
}

/// The stages at the end of the step, behind those that bring drifting ones to their pace, and what it takes.
struct StepRun {
  std::vector<StageClock> clocks;
  Seconds total;  // nothing once it is stopped
};
StepRun run_steps(const Setup& setup, const SimulationOptions& options, Seconds host) {
  std::vector<Seconds> begin(setup.schedule.stages.size());
  if (drifts(setup.schedule.kind)) {
    const SimulationOptions totals{
        .keep_spans = false, .keep_memory = false, .times_alone = true, .stop = options.stop};
    for (int step = 1; step < kDriftingSteps; ++step)
      next_step(ends_of(run_step(setup, begin, totals, host)), begin);
  }
  StepRun run{run_step(setup, begin, options, host), {}};
  if (!options.stop.stop_requested()) run.total = next_step(ends_of(run.clocks), begin);
  return run;
}

void find_extremes(Simulation& simulation) {
  const auto device = [](const StageTimeline& stage) { return stage.peak + stage.outside; };
  for (std::size_t s = 1; s < simulation.stages.size(); ++s) {
    const auto at = [&](int stage) -> const StageTimeline& {
      return simulation.stages[static_cast<std::size_t>(stage)];
    };
    const StageTimeline& stage = simulation.stages[s];
    if (stage.times.compute > at(simulation.slowest).times.compute) simulation.slowest = static_cast<int>(s);
    if (device(stage) > device(at(simulation.peak_stage))) simulation.peak_stage = static_cast<int>(s);
  }
}

}  // namespace

std::string_view name_of(SpanKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}
std::string_view name_of(Stream stream) {
  return kStreamNames[static_cast<std::size_t>(stream)];
}

double Simulation::bubble_share() const {
  return share_of(*this, [](const SimulatedTimes& times) { return times.bubble; });
}
double Simulation::exposed_share() const {
  return share_of(*this, [](const SimulatedTimes& times) { return times.exposed(); });
}

std::int64_t tasks_of_step(const Scenario& scenario) {
  const Layout& l = scenario.layout;
  const std::int64_t passes = splits_backward(l.schedule) ? 3 : 2;
  const std::int64_t chunks = chunks_per_stage(l.schedule, l.vpp);
  const std::int64_t each = l.pp * chunks * passes;  // per micro-batch
  const std::int64_t microbatches = microbatches_per_step(scenario);
  if (microbatches > std::numeric_limits<std::int64_t>::max() / each)
    return std::numeric_limits<std::int64_t>::max();
  return each * microbatches / model_copies(l.schedule);
}

std::optional<Rejected> too_large_to_simulate(const Scenario& scenario, const SimulationOptions& options) {
  const bool drawn = (options.keep_spans || options.keep_memory) && !options.take;
  const std::int64_t most = drawn ? kMostDrawnTasks : kMostSimulatedTasks;
  const std::int64_t tasks = tasks_of_step(scenario);
  if (tasks <= most) return std::nullopt;
  const Layout& l = scenario.layout;
  const std::int64_t microbatches = microbatches_per_step(scenario);
  // Not microbatches * most / tasks: the product may not fit.
  const auto fewer = static_cast<std::int64_t>(static_cast<double>(microbatches) *
                                               (static_cast<double>(most) / static_cast<double>(tasks)));
  return Rejected{
      "simulation-size",
      fmt::format("{} micro-batches over {} stages of {} chunks are {} tasks; a simulation{} has at most {}",
                  format_count(microbatches), l.pp, chunks_per_stage(l), format_count(tasks),
                  drawn ? " with spans or memory curves" : "", format_count(most)),
      fmt::format("simulate at most {} micro-batches; each further one adds the same time",
                  format_count(fewer))};
}

Simulation simulate_step(const Scenario& scenario, const Calibration& calibration,
                         const SimulationOptions& options) {
  Setup setup = set_up(scenario, calibration, options.times_alone);
  if (options.free_messages) setup.pieces.message = setup.rules.message_host = Seconds{};
  StepRun run = run_steps(setup, options, scenario.framework.step_overhead);
  Simulation out{.microbatches = setup.schedule.microbatches, .chunks = setup.schedule.chunks};
  out.stopped = options.stop.stop_requested();
  if (out.stopped) return out;
  out.total = run.total;
  out.stages.reserve(run.clocks.size());
  for (StageClock& clock : run.clocks) out.stages.push_back(clock.take(out.total));
  find_extremes(out);
  return out;
}

/// All that the time of a step depends on.
struct SimulatedTotals::Known {
  ScheduleKind kind;
  int pp, vpp;
  std::int64_t microbatches;
  StepPieces pieces;
  OverlapRules rules;
  Seconds host;
  Seconds total = {};
  [[nodiscard]] bool asks_the_same(const Known& o) const {
    return kind == o.kind && pp == o.pp && vpp == o.vpp && microbatches == o.microbatches &&
           rules == o.rules && host == o.host && pieces == o.pieces;
  }
};

SimulatedTotals::SimulatedTotals() = default;
SimulatedTotals::~SimulatedTotals() = default;

Seconds SimulatedTotals::of(const Scenario& sc, const Calibration& calibration) {
  const Layout& l = sc.layout;
  Known step{.kind = l.schedule,
             .pp = l.pp,
             .vpp = l.vpp,
             .microbatches = microbatches_per_step(sc),
             .pieces = price_pieces(sc, calibration, plan_stages(sc), plan_chunks(sc)),
             .rules = overlap_rules(sc),
             .host = sc.framework.step_overhead};
  {
    const std::lock_guard lock{mutex_};
    for (const Known& known : known_) {
      if (known.asks_the_same(step)) return known.total;
    }
  }
  const Setup setup{
      .schedule = make_schedule(step.kind, step.pp, static_cast<int>(step.microbatches), step.vpp),
      .pieces = step.pieces,
      .rules = step.rules,
      .levels = {}};
  step.total =
      run_steps(setup, {.keep_spans = false, .keep_memory = false, .times_alone = true}, step.host).total;
  const std::lock_guard lock{mutex_};
  known_.push_back(std::move(step));
  return known_.back().total;
}

}  // namespace hexaplan::costmodel
