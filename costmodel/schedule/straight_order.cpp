#include "costmodel/schedule/orders.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel {
namespace {

int groups_of(const PipelineSize& size) {
  return std::max(1, size.microbatches / size.stages);
}

/// Forward passes in the order a stage runs them: groups of micro-batches go through every chunk before the
/// next group starts. A group has as many as there are stages (Megatron-LM
/// core/pipeline_parallel/schedules.py); a remainder is spread over the groups (PyTorch
/// distributed/pipelining/schedules.py ScheduleInterleaved1F1B: "flex PP"), so that none is smaller than the
/// pipeline is long.
std::vector<Task> forward_order(const PipelineSize& size, int stage) {
  std::vector<Task> order;
  order.reserve(static_cast<std::size_t>(size.microbatches) * static_cast<std::size_t>(size.chunks));
  const int groups = size.chunks > 1 ? groups_of(size) : 1;
  int first = 0;
  const auto append_group = [&](int end, int chunk) {
    for (int m = first; m < end; ++m) order.push_back({stage, m, chunk, TaskPass::Forward});
  };
  for (int group = 0; group < groups; ++group) {
    const int end = first + size.microbatches / groups + (group < size.microbatches % groups ? 1 : 0);
    for (int chunk = 0; chunk < size.chunks; ++chunk) append_group(end, chunk);
    first = end;
  }
  return order;
}

}  // namespace

int largest_group(const PipelineSize& size) {
  const int groups = groups_of(size);
  return (size.microbatches + groups - 1) / groups;
}

WarmUp warm_up(ScheduleKind kind, const PipelineSize& size, int stage) {
  const int all = size.microbatches * size.chunks;
  const int behind = size.stages - 1 - stage;
  const int lead = (size.chunks - 1) * largest_group(size);
  switch (kind) {
    case ScheduleKind::GPipe:
      return {all, 0};
    case ScheduleKind::ZbH1:  // PyTorch's ScheduleInterleavedZeroBubble: stage r's weights wait for r passes
      return {std::min(all, lead + behind), mutant("zero-bubble-delays-no-weights") ? 0 : stage};
    case ScheduleKind::Zb2p:
      // ZB-H2 (arXiv:2401.10241 §2.2): the first backward reaches stage r after 2·(p−r)−1 forwards' time, all
      // of which it fills; weights' gradients wait until the tail is a parallelogram.
      return {std::min(all, lead + 2 * behind), 2 * stage};
    default:
      // Interleaved, Megatron-LM: twice as far apart, since a stage's chunks take turns.
      return {std::min(all, lead + (size.chunks > 1 ? 2 : 1) * behind +
                                (mutant("one-more-forward-in-flight") ? 1 : 0)),
              0};
  }
}

std::vector<Task> straight_order(ScheduleKind kind, const PipelineSize& size, int stage) {
  const std::vector<Task> forward = forward_order(size, stage);
  const bool splits = splits_backward(kind);
  const auto [first, delayed] = warm_up(kind, size, stage);
  std::vector<Task> order;
  order.reserve(forward.size() * (splits ? 3 : 2));
  order.assign(forward.begin(), forward.begin() + first);
  // Backward passes come in the forwards' order with the chunks turned round.
  const auto turned = [&](std::size_t i, TaskPass pass) {
    Task task = forward[i];
    task.chunk = size.chunks - 1 - task.chunk;
    task.pass = pass;
    return task;
  };
  std::size_t weights = 0;
  for (std::size_t i = 0; i < forward.size(); ++i) {
    const std::size_t next = i + static_cast<std::size_t>(first);
    if (next < forward.size()) order.push_back(forward[next]);
    order.push_back(turned(i, splits ? TaskPass::BackwardInput : TaskPass::Backward));
    if (splits && i >= static_cast<std::size_t>(delayed))
      order.push_back(turned(weights++, TaskPass::BackwardWeight));
  }
  while (splits && weights < forward.size()) order.push_back(turned(weights++, TaskPass::BackwardWeight));
  return order;
}

}  // namespace hexaplan::costmodel
