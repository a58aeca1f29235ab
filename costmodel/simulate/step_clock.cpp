#include "costmodel/simulate/step_clock.h"

#include <algorithm>
#include <cstddef>

#include "costmodel/schedule/replay.h"
#include "costmodel/spec/chunk_order.h"
#include "costmodel/step/execution.h"
#include "costmodel/step/step_operations.h"
#include "costmodel/units/overlap.h"

namespace hexaplan::costmodel {
namespace {

/// Transfers are followed in so many pieces at most.
constexpr int kMostBuckets = 256;

bool makes_weight_gradients(const Task& task) {
  return task.pass == TaskPass::Backward || task.pass == TaskPass::BackwardWeight;
}

PassTime backward_of(const ChunkPieces& pieces, TaskPass pass) {
  switch (pass) {
    case TaskPass::BackwardInput:
      return pieces.backward_input;
    case TaskPass::BackwardWeight:
      return pieces.backward_weight;
    default:
      return pieces.backward_input + pieces.backward_weight;
  }
}

SpanKind kind_of(TaskPass pass) {
  constexpr std::array<SpanKind, 4> kKinds = {SpanKind::Forward, SpanKind::BackwardInput,
                                              SpanKind::BackwardWeight, SpanKind::Backward};
  return kKinds[static_cast<std::size_t>(pass)];
}

Span span_of(const Task& task, SpanKind kind) {
  return {.microbatch = task.microbatch, .chunk = static_cast<std::int16_t>(task.chunk), .kind = kind};
}

}  // namespace

OverlapRules overlap_rules(const Scenario& sc) {
  const FrameworkProfile& f = sc.framework;
  return {.slowdown = f.overlap_slowdown,
          .messages_waited = 1 - pipeline_overlap(sc),
          .message_host = f.pipeline_wait / 2,  // there and back
          .microbatch_host = f.microbatch_overhead,
          .gathers_beside_forward = overlaps_parameter_gather(sc),
          .reduces_beside_backward = overlaps_gradients(sc),
          .reduces_every_pass = reduces_every_pass(sc)};
}

StepClock::StepClock(const Schedule& schedule, const StepPieces& pieces, const OverlapRules& rules,
                     std::vector<StageClock> stages, std::stop_token stop, const TakePiece& take)
    : schedule_{schedule},
      pieces_{pieces},
      rules_{rules},
      stages_{std::move(stages)},
      chunks_(pieces.chunks.size()),
      stop_{std::move(stop)},
      take_{take} {
  const ChunkLinks links{schedule};
  const int per_stage = schedule.chunks;
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const int stage = static_cast<int>(i) / per_stage;
    const auto elsewhere = [&](int chunk) { return chunk >= 0 && chunk / per_stage != stage; };
    chunks_[i].sends_forward = elsewhere(links.next[i]);
    chunks_[i].sends_backward = elsewhere(links.previous[i]);
    const auto [first, end] =
        microbatches_of_chunk(schedule.kind, schedule.microbatches, static_cast<int>(i) % per_stage);
    chunks_[i].passes = end - first;
  }
  if (!rules_.gathers_beside_forward) return;
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) gather_parameters(stage);
}

std::size_t StepClock::index_of(const Task& task) const {
  return static_cast<std::size_t>(task.stage) * static_cast<std::size_t>(schedule_.chunks) +
         static_cast<std::size_t>(task.chunk);
}
StepClock::Place StepClock::place_of(const Task& task) {
  const std::size_t index = index_of(task);
  return {stages_[static_cast<std::size_t>(task.stage)], pieces_.chunks[index], chunks_[index]};
}

/// Updated parameters of the last step, in the order in which forwards ask for them.
void StepClock::gather_parameters(std::size_t stage) {
  std::vector<bool> gathered(static_cast<std::size_t>(schedule_.chunks));
  int left = schedule_.chunks;
  for (const Task& task : schedule_.stages[stage]) {
    if (left == 0) break;
    const auto chunk = static_cast<std::size_t>(task.chunk);
    if (gathered[chunk]) continue;
    gathered[chunk] = true;
    --left;
    const Seconds time = pieces_.chunks[index_of(task)].gathering;
    if (time <= Seconds{}) continue;
    chunks_[index_of(task)].gathering_since =
        stages_[stage].transfer(time, SpanKind::ParameterGather, task.chunk);
  }
}

void StepClock::work(const Task& task, const Place& at, const PassTime& recomputed, const PassTime& pass,
                     SpanKind kind) const {
  StageClock& clock = at.clock;
  const ChunkPieces& pieces = at.pieces;
  const ChunkState& chunk = at.chunk;
  const bool gathers = rules_.gathers_beside_forward && task.pass == TaskPass::Forward &&
                       chunk.forwards == 0 && pieces.gathering > Seconds{};
  const bool reduces = rules_.reduces_beside_backward && makes_weight_gradients(task) &&
                       (rules_.reduces_every_pass || chunk.weights + 1 == chunk.passes) &&
                       pieces.reduction > Seconds{};
  const int buckets = gathers || reduces ? std::min(pieces.buckets, kMostBuckets) : 1;
  const Seconds total = recomputed.total() + pass.total();
  Seconds begin = clock.now();
  for (int i = 0; i < buckets; ++i) {
    if (gathers) clock.wait_for_data(chunk.gathering_since + pieces.gathering * ((i + 1.0) / buckets));
    if (i == 0) begin = clock.now();
    clock.work(buckets == 1 ? total : total / buckets);
    if (reduces) clock.transfer(pieces.reduction / buckets, SpanKind::GradientReduce, task.chunk);
  }
  clock.times().compute += recomputed.compute + pass.compute;
  clock.times().collectives += recomputed.exposed + pass.exposed;
  // Collectives are drawn behind the kernels that they lie between.
  const Seconds took = clock.now() - begin;
  const double stretch = took == total || total <= Seconds{} ? 1.0 : took / total;
  const auto draw = [&](Stream stream, SpanKind what, Seconds time) {
    if (time <= Seconds{}) return;
    Span span = span_of(task, what);
    span.begin = begin;
    span.end = begin = begin + time * stretch;
    clock.draw(stream, span);
  };
  draw(Stream::Compute, SpanKind::Recompute, recomputed.compute);
  draw(Stream::Compute, kind, pass.compute);
  draw(Stream::Collectives, SpanKind::Collective, recomputed.exposed + pass.exposed);
}

/// Waits for what the task needs; what is sent one way comes back the other way.
void StepClock::receive(const Task& task, const Place& at, Seconds arrived) const {
  const bool elsewhere = task.pass == TaskPass::Forward          ? at.chunk.sends_backward
                         : task.pass == TaskPass::BackwardWeight ? false
                                                                 : at.chunk.sends_forward;
  at.clock.wait_for_message(arrived, elsewhere ? rules_.message_host : Seconds{});
}

void StepClock::before(const Task& task, const Place& at) const {
  auto& [clock, pieces, chunk] = at;
  clock.memory().begin_task(task.pass == TaskPass::Forward);
  if (task.pass != TaskPass::Forward) {
    const bool head = pieces.head_backward > Seconds{} && task.pass != TaskPass::BackwardWeight;
    clock.memory().enter(clock.now(), head ? kHeadBackward : kBackward);
    if (head) clock.memory().enter(clock.now() + pieces.head_backward, kBackward);
    return;
  }
  clock.memory().keep(task.chunk);
  clock.memory().enter(clock.now(), kForward);
  clock.spend(pieces.gather_wait, &SimulatedTimes::data_parallel, Stream::Data, SpanKind::ParameterGather);
}

void StepClock::after(const Task& task, const Place& at) const {
  auto& [clock, pieces, chunk] = at;
  if (task.pass == TaskPass::Forward) {
    ++chunk.forwards;
    if (pieces.head_forward > Seconds{})
      clock.memory().enter(clock.now() - smaller(pieces.head_forward, pieces.forward.total()), kLoss);
  }
  if (makes_weight_gradients(task)) {
    ++chunk.weights;
    if (rules_.reduces_every_pass && pieces.reduction > Seconds{}) {
      // The shard that is kept adds up what every pass has reduced.
      if (!rules_.reduces_beside_backward)
        clock.transfer(pieces.reduction, SpanKind::GradientReduce, task.chunk);
      clock.wait_for_data(clock.data_free());
    }
    clock.spend(pieces.scatter_wait, &SimulatedTimes::data_parallel, Stream::Data, SpanKind::GradientReduce);
    clock.memory().release(task.chunk);
  }
  if (task.pass == TaskPass::Forward && (task.chunk == 0 || model_copies(schedule_.kind) > 1))
    clock.spend(rules_.microbatch_host, &SimulatedTimes::host, Stream::Compute, SpanKind::Host);
}

Seconds StepClock::deliver(const Task& task, const Place& at) const {
  const bool forward = task.pass == TaskPass::Forward;
  const bool sends =
      task.pass != TaskPass::BackwardWeight && (forward ? at.chunk.sends_forward : at.chunk.sends_backward);
  if (!sends) return at.clock.now();
  return at.clock.send(pieces_.message, rules_.messages_waited, rules_.message_host,
                       span_of(task, forward ? SpanKind::SendForward : SpanKind::SendBackward));
}

Seconds StepClock::run(const Task& task, Seconds arrived) {
  const Place at = place_of(task);
  receive(task, at, arrived);
  before(task, at);
  if (task.pass == TaskPass::Forward) {
    work(task, at, {}, at.pieces.forward, SpanKind::Forward);
  } else {
    const bool recomputes = task.pass != TaskPass::BackwardWeight;
    work(task, at, recomputes ? at.pieces.recomputed : PassTime{}, backward_of(at.pieces, task.pass),
         kind_of(task.pass));
  }
  after(task, at);
  const Seconds arrives = deliver(task, at);
  at.clock.memory().leave(at.clock.now());
  return arrives;
}

/// The collectives of either pass run beside the kernels of the other.
std::pair<Seconds, Seconds> StepClock::run_pair(const Task& forward, const Task& backward, Seconds arrived) {
  const Place down = place_of(forward), up = place_of(backward);
  receive(forward, down, arrived);
  receive(backward, up, arrived);
  const PassTime pass = backward_of(up.pieces, backward.pass);
  const PassTime all = down.pieces.forward + pass + up.pieces.recomputed;
  const double waited = all.exposed > Seconds{}
                            ? overlap(all.compute, all.exposed, 1.0, rules_.slowdown).exposed / all.exposed
                            : 1;
  const auto exposed = [&](PassTime time) { return PassTime{time.compute, time.exposed * waited}; };
  before(forward, down);
  work(forward, down, {}, exposed(down.pieces.forward), SpanKind::Forward);
  before(backward, up);
  work(backward, up, exposed(up.pieces.recomputed), exposed(pass), kind_of(backward.pass));
  after(forward, down);
  after(backward, up);
  const Seconds first = deliver(forward, down), second = deliver(backward, up);
  up.clock.memory().leave(up.clock.now());
  return {first, second};
}

void StepClock::reduce_the_rest(std::size_t stage) {
  StageClock& clock = stages_[stage];
  if (!rules_.reduces_beside_backward && !rules_.reduces_every_pass) {
    const auto chunks = static_cast<std::size_t>(schedule_.chunks);
    for (std::size_t c = 0; c < chunks; ++c) {
      clock.transfer(pieces_.chunks[stage * chunks + c].reduction, SpanKind::GradientReduce,
                     static_cast<int>(c));
    }
  }
  const Seconds mirror = pieces_.stages[stage].mirror;
  if (mirror > Seconds{}) clock.transfer(mirror, SpanKind::GradientReduce, 0);
  clock.wait_for_data(clock.data_free());
}

void StepClock::update(std::size_t stage) {
  StageClock& clock = stages_[stage];
  const StagePieces& pieces = pieces_.stages[stage];
  clock.memory().enter(clock.now(), kOptimizer);
  clock.spend(pieces.update, &SimulatedTimes::optimizer, Stream::Compute, SpanKind::Optimizer);
  clock.spend(pieces.outer, &SimulatedTimes::data_parallel, Stream::Data, SpanKind::OuterReduce);
  const auto chunks = static_cast<std::size_t>(schedule_.chunks);
  for (std::size_t c = 0; c < chunks && !rules_.gathers_beside_forward; ++c) {
    clock.transfer(pieces_.chunks[stage * chunks + c].gathering, SpanKind::ParameterGather,
                   static_cast<int>(c));
  }
  clock.wait_for_data(clock.data_free());
  clock.spend(pieces.slices, &SimulatedTimes::data_parallel, Stream::Data, SpanKind::ParameterGather);
  clock.memory().enter(clock.now(), kIdle);
}

void StepClock::hand_over(Piece piece) {
  if (!take_) return;
  for (std::size_t stage = 0; stage < stages_.size(); ++stage)
    stages_[stage].hand_over(static_cast<int>(stage), piece, take_);
}

void StepClock::finish(bool together) {
  Seconds last;
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    reduce_the_rest(stage);
    last = larger(last, stages_[stage].now());
  }
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    if (together) stages_[stage].stand_still_until(last);  // for the norm of all gradients
    update(stage);
  }
}

}  // namespace hexaplan::costmodel
