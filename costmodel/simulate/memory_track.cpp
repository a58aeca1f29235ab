#include "costmodel/simulate/memory_track.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "costmodel/program/replay_memory.h"

namespace hexaplan::costmodel {
namespace {

Bytes activations_of(const TensorLedger& ledger) {
  return sum_alive(ledger, kForward).activations;
}

}  // namespace

StageLevels stage_levels(const MemoryModel& memory, const StagePlan& stage, int index,
                         const StagePlan* chunks, int chunk_count, double in_flight,
                         double always_in_flight) {
  StageLevels levels;
  const TensorLedger empty = memory.ledger(stage, 0);
  for (std::size_t i = 0; i < kInstants; ++i)
    levels.base[i] = sum_alive(empty, instant_at(static_cast<int>(i))).allocated();
  constexpr std::uint8_t kBoth = kForward | kBackward;
  for (const TensorEntry& entry : empty) {
    const bool outside = entry.kind == TensorKind::Communication || entry.kind == TensorKind::Overhead;
    if ((entry.alive & kBoth) == kBoth && !outside) levels.between += entry.size();
  }
  const auto losses = [&](double micro_batches) {
    return sum_alive(memory.ledger(stage, micro_batches), kForward).logits;
  };
  levels.waiting_loss = losses(2) - losses(1);
  const Bytes one = activations_of(memory.ledger(stage, 1));
  const double many = std::max(4.0, 4 * in_flight);  // more than any order keeps
  levels.most_kept = activations_of(memory.ledger(stage, many));
  levels.always_kept = one * always_in_flight;
  Bytes sum;
  for (int c = 0; c < chunk_count; ++c) {
    levels.kept.push_back(activations_of(memory.ledger(chunks[c], 1)));
    sum += levels.kept.back();
  }
  // What is offloaded is decided by stage: together chunks keep what the stage keeps.
  for (Bytes& kept : levels.kept) kept *= sum > Bytes{} ? one / sum : 0.0;
  const StageMemory peak = memory.peak(stage, index, in_flight);
  levels.outside = peak.device - peak.allocated;
  return levels;
}

namespace {

void add_beside(const std::array<MemoryBreakdown, kInstants>& beside, ReplayedTask& task) {
  for (std::size_t i = 0; i < task.at.size(); ++i) {
    if (task.at[i].allocated > Bytes{}) task.at[i].allocated += beside[i].allocated();
  }
}

}  // namespace

void replay_levels(const Scenario& sc, const MemoryModel& memory, const std::vector<StagePlan>& plans,
                   std::vector<StageLevels>& stages) {
  std::vector<std::vector<ReplayedTask>> replayed = replay_tasks(sc);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const auto beside = memory.beside_passes(plans[s]);
    const bool alone = beside[index_of(kIdle)].allocated() > Bytes{};  // the replay has the passes alone
    // What is received is among the replay's hidden states, not a buffer beside them.
    const Bytes between =
        smaller(beside[index_of(kForward)].allocated(), beside[index_of(kBackward)].allocated());
    for (ReplayedTask& task : replayed[s]) {
      add_beside(beside, task);
      task.after.allocated += between;
    }
    auto tasks = std::make_shared<const std::vector<ReplayedTask>>(std::move(replayed[s]));
    // No micro-batch is in flight then.
    if (!alone) stages[s].base.fill(tasks->back().after.allocated);
    stages[s].tasks = std::move(tasks);
  }
}

MemoryTrack::MemoryTrack(StageLevels levels, std::size_t points)
    : levels_{std::move(levels)}, keep_curve_{points > 0}, alive_(levels_.kept.size()) {
  points_.reserve(points);
  for (const Bytes kept : levels_.kept) all_kept_ += kept;
}

double MemoryTrack::most_in_flight() const {
  if (alive_.empty()) return 0;
  if (all_kept_ > Bytes{}) return most_kept_ / all_kept_;
  return static_cast<double>(most_alive_) / static_cast<double>(alive_.size());
}

/// Summed anew rather than added to, so that nothing is left when nothing is kept.
void MemoryTrack::count(int chunk, int more) {
  alive_[static_cast<std::size_t>(chunk)] += more;
  all_alive_ += more;
  Bytes kept;
  for (std::size_t i = 0; i < alive_.size(); ++i) kept += levels_.kept[i] * alive_[i];
  most_kept_ = larger(most_kept_, kept);
  most_alive_ = std::max(most_alive_, all_alive_);
  kept_ = all_alive_ > 0 ? smaller(levels_.most_kept, kept + levels_.always_kept) : Bytes{};
}

/// Tasks know their own peaks. The output layer's backward runs with its forward.
void MemoryTrack::replayed(Seconds at, Instant instant) {
  if ((instant & kInPasses) == 0) return set(at, {levels_.at(instant), Bytes{}});
  if (instant == kHeadBackward) instant = kBackward;
  const ReplayedTask& now = task(instant == kBackward ? task_ : forward_);
  const ReplayedTask::Level &level = now.peak(instant), &head = now.peak(kHeadBackward);
  set(at, instant == kLoss && level.allocated < head.allocated ? head : level);
}

void MemoryTrack::add(const MemoryPoint& point) {
  if (!points_.empty() && points_.back().at >= point.at) {
    points_.back() = {points_.back().at, point.allocated, point.activations};
  } else {
    points_.push_back(point);
    __builtin_prefetch(&points_.back() + 2, 1);  // stages take turns
  }
}

}  // namespace hexaplan::costmodel
