#include "costmodel/schedule/schedule.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>

#include "costmodel/schedule/orders.h"
#include "costmodel/spec/chunk_order.h"

namespace hexaplan::costmodel {
namespace {

using BuildOrder = std::vector<Task> (*)(ScheduleKind, const PipelineSize&, int stage);
/// Most chunks alive at once; more than there are may be said.
using InFlight = int (*)(ScheduleKind, const PipelineSize&, int stage);

int straight_in_flight(ScheduleKind kind, const PipelineSize& size, int stage) {
  const auto [forwards, delayed] = warm_up(kind, size, stage);
  return forwards + 1 + delayed;
}

// The V-shaped and the bidirectional ones: a full pipeline's figure (of the sources in v_orders.cpp), or less
// when the micro-batches run out first; then each of them is there once, and a stage meets its second chunk
// the sooner the nearer it is to the turn. Counted in the orders.

int v_half_in_flight(ScheduleKind /*kind*/, const PipelineSize& size, int stage) {
  const int even = size.stages % 2 == 0 ? 1 : 0;
  return std::min(2 * (size.stages / 2) + 2, size.microbatches + 1 + (stage + even) / 2);
}
int zbv_in_flight(ScheduleKind /*kind*/, const PipelineSize& size, int stage) {
  return std::min(2 * size.stages, size.microbatches + 1 + stage);
}
int dual_v_in_flight(ScheduleKind /*kind*/, const PipelineSize& size, int stage) {
  return std::min(2 * size.stages + 1, size.microbatches + 1 + stage);
}
int dual_in_flight(ScheduleKind kind, const PipelineSize& size, int stage) {
  const bool upper = stage < size.stages / 2;
  const auto [first, end] = microbatches_of_chunk(kind, size.microbatches, upper ? 0 : 1);
  return std::min(size.stages + 1, end - first + 1 + (upper ? stage : size.stages - 1 - stage));
}

struct ScheduleTraits {
  BuildOrder order;
  InFlight in_flight;
  bool splits_backward = false;
  bool drifts = false;
};
/// By ScheduleKind.
constexpr std::array kTraits = std::to_array<ScheduleTraits>({
    {straight_order, straight_in_flight},              // GPipe
    {straight_order, straight_in_flight},              // OneFOneB
    {straight_order, straight_in_flight},              // Interleaved
    {straight_order, straight_in_flight, true},        // ZbH1
    {straight_order, straight_in_flight, true, true},  // Zb2p
    {zbv_order, zbv_in_flight, true},                  // Zbv
    {v_half_order, v_half_in_flight, true},            // VHalf
    {dual_order, dual_in_flight, true},                // DualPipe
    {dual_order, dual_v_in_flight, true},              // DualPipeV
});
static_assert(kTraits.size() == kScheduleKinds, "a schedule without its row");

const ScheduleTraits& traits(ScheduleKind kind) {
  return kTraits[static_cast<std::size_t>(kind)];
}

}  // namespace

Schedule make_schedule(ScheduleKind kind, int stages, int microbatches, int chunks) {
  assert(kind != ScheduleKind::DualPipe || stages % 2 == 0);
  Schedule schedule{kind, microbatches, chunks_per_stage(kind, chunks), {}};
  const PipelineSize size{stages, microbatches, schedule.chunks};
  schedule.stages.reserve(static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage)
    schedule.stages.push_back(traits(kind).order(kind, size, stage));
  return schedule;
}

std::shared_ptr<const Schedule> known_schedule(ScheduleKind kind, int stages, int microbatches, int chunks) {
  struct Known {
    int stages, chunks;
    std::shared_ptr<const Schedule> schedule;
  };
  constexpr std::size_t kMost = 8;
  thread_local std::array<Known, kMost> known{};  // last used first
  const int per_stage = chunks_per_stage(kind, chunks);
  auto found = std::find_if(known.begin(), known.end(), [&](const Known& k) {
    return k.schedule && k.schedule->kind == kind && k.stages == stages && k.chunks == per_stage &&
           k.schedule->microbatches == microbatches;
  });
  if (found == known.end()) {
    found = known.end() - 1;
    *found = {stages, per_stage,
              std::make_shared<const Schedule>(make_schedule(kind, stages, microbatches, chunks))};
  }
  std::rotate(known.begin(), found, found + 1);
  return known.front().schedule;
}

bool splits_backward(ScheduleKind kind) {
  return traits(kind).splits_backward;
}
bool drifts(ScheduleKind kind) {
  return traits(kind).drifts;
}

bool has_closed_form(const Layout& layout, int microbatches) {
  if (layout.schedule > ScheduleKind::Interleaved) return false;
  return layout.vpp == 1 || microbatches % layout.pp == 0;
}

double chunks_in_flight(ScheduleKind kind, int stages, int microbatches, int chunks, int stage) {
  const PipelineSize size{stages, microbatches, chunks_per_stage(kind, chunks)};
  const std::int64_t all = std::int64_t{microbatches} * size.chunks / model_copies(kind);
  return static_cast<double>(std::min<std::int64_t>(all, traits(kind).in_flight(kind, size, stage)));
}

double microbatches_in_flight(const Layout& layout, std::int64_t microbatches, int stage) {
  const int chunks = chunks_per_stage(layout.schedule, layout.vpp);
  const auto m = static_cast<int>(microbatches);
  const double plain = chunks_in_flight(layout.schedule, layout.pp, m, chunks, stage) / chunks;
  switch (layout.vocab) {
    case VocabParallel::LastStage:
      return plain;
    case VocabParallel::AllStagesOneBarrier:
      return std::min<double>(m, plain + 1);
    case VocabParallel::AllStagesTwoBarriers:
      return std::min<double>(m, plain + 2);
    case VocabParallel::Interlaced:
      return std::min<double>(m, 1.5 * plain);
  }
  return plain;
}

}  // namespace hexaplan::costmodel
