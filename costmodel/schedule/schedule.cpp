#include "costmodel/schedule/schedule.h"

#include <algorithm>
#include <cstddef>

namespace hexaplan::costmodel {
namespace {

/// Forward passes in the order a stage runs them. Interleaved (Megatron-LM
/// core/pipeline_parallel/schedules.py): groups of `stages` micro-batches go through every chunk before the
/// next group starts.
std::vector<Task> forward_order(int stage, int stages, int microbatches, int chunks) {
  std::vector<Task> order;
  order.reserve(static_cast<std::size_t>(microbatches) * static_cast<std::size_t>(chunks));
  const int group = chunks > 1 ? stages : microbatches;
  const auto append_group = [&](int first, int last, int chunk) {
    for (int m = first; m < last; ++m) order.push_back({stage, m, chunk, TaskPass::Forward});
  };
  for (int first = 0; first < microbatches; first += group) {
    for (int chunk = 0; chunk < chunks; ++chunk)
      append_group(first, std::min(first + group, microbatches), chunk);
  }
  return order;
}

std::vector<Task> backward_order(int stage, int stages, int microbatches, int chunks) {
  auto order = forward_order(stage, stages, microbatches, chunks);
  for (Task& task : order) {
    task.pass = TaskPass::Backward;
    task.chunk = chunks - 1 - task.chunk;
  }
  return order;
}

int warm_up_tasks(ScheduleKind kind, int stages, int microbatches, int chunks, int stage) {
  const int all = microbatches * chunks;
  if (kind == ScheduleKind::GPipe) return all;
  if (chunks == 1) return std::min(all, stages - stage - 1);
  return std::min(all, 2 * (stages - stage - 1) + (chunks - 1) * stages);
}

}  // namespace

Schedule make_schedule(ScheduleKind kind, int stages, int microbatches, int chunks) {
  Schedule schedule;
  schedule.stages.resize(static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage) {
    const auto forward = forward_order(stage, stages, microbatches, chunks);
    const auto backward = backward_order(stage, stages, microbatches, chunks);
    const auto warm_up = static_cast<std::size_t>(warm_up_tasks(kind, stages, microbatches, chunks, stage));
    auto& order = schedule.stages[static_cast<std::size_t>(stage)];
    order.assign(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(warm_up));
    for (std::size_t i = warm_up; i < forward.size(); ++i) {
      order.push_back(forward[i]);
      order.push_back(backward[i - warm_up]);
    }
    order.insert(order.end(), backward.begin() + static_cast<std::ptrdiff_t>(forward.size() - warm_up),
                 backward.end());
  }
  return schedule;
}

double chunks_in_flight(ScheduleKind kind, int stages, int microbatches, int chunks, int stage) {
  const int all = microbatches * chunks;
  switch (kind) {
    case ScheduleKind::GPipe:
      return all;
    case ScheduleKind::OneFOneB:
    case ScheduleKind::Interleaved:
      return std::min(all, warm_up_tasks(kind, stages, microbatches, chunks, stage) + 1);
    case ScheduleKind::ZbH1:
      return std::min(all, stages);  // weight gradients delayed: their inputs stay (arXiv:2401.10241 Table 2)
    case ScheduleKind::Zb2p:
      return std::min(all, 2 * stages - 1);
    case ScheduleKind::Zbv:
      return std::min(2 * microbatches, 2 * stages);
    case ScheduleKind::VHalf:
      return std::min(2 * microbatches, stages + 2);  // arXiv:2405.15362 §4: half of 1F1B plus a constant
    case ScheduleKind::DualPipe:
      return std::min(2 * microbatches, stages + 1);
    case ScheduleKind::DualPipeV:
      return std::min(2 * microbatches, 2 * stages + 1);
  }
  return all;
}

double microbatches_in_flight(const Layout& layout, std::int64_t microbatches, int stage) {
  const int chunks =
      is_v_shaped(layout.schedule) || layout.schedule == ScheduleKind::DualPipe ? 2 : layout.vpp;
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
