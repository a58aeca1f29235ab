#pragma once
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "costmodel/schedule/schedule.h"

namespace hexaplan::costmodel {

/// Size of a pipeline and of its work, as the builders of orders take it.
struct PipelineSize {
  int stages = 1, microbatches = 1, chunks = 1;
};

/// Appends tasks to a stage's order and counts them, so that builders say what comes next and not which
/// micro-batch that is. Tasks of micro-batches that do not exist are left out: an order built for more of
/// them is complete and free of deadlocks for fewer, since micro-batches depend on themselves alone.
class OrderBuilder {
 public:
  /// `first[c]` is the first micro-batch of chunk c, `end[c]` is one behind its last.
  OrderBuilder(int stage, std::vector<int> first, std::vector<int> end);

  void forward(int chunk) { append(chunk, forward_, TaskPass::Forward); }
  void backward(int chunk) { append(chunk, backward_, TaskPass::Backward); }
  /// The weights' gradients follow with `weight`.
  void backward_input(int chunk);
  void backward_split(int chunk, bool split) { split ? backward_input(chunk) : backward(chunk); }
  /// Weights' gradients of the earliest pass that still lacks them, if there is one.
  void weight();
  /// … of a certain chunk.
  void weight_of(int chunk);
  void all_weights();
  /// Forward of one chunk and backward of another at once.
  void forward_with_backward(int forward_chunk, int backward_chunk);

  [[nodiscard]] int pending_weights() const {
    return static_cast<int>(pending_.size()) - static_cast<int>(next_pending_);
  }
  [[nodiscard]] int pending_weights_of(int chunk) const;
  [[nodiscard]] int forwards(int chunk) const { return forward_[static_cast<std::size_t>(chunk)]; }
  [[nodiscard]] std::vector<Task> take() { return std::move(tasks_); }

 private:
  /// False when the micro-batch does not exist.
  bool append(int chunk, std::vector<int>& counts, TaskPass pass);
  void append_weight(const Task& input);

  int stage_;
  std::vector<int> first_, end_;
  std::vector<int> forward_, backward_;  // counted per chunk, from 0
  std::vector<Task> pending_;            // BackwardInput tasks without weights' gradients
  std::size_t next_pending_ = 0;
  std::vector<Task> tasks_;
};

/// GPipe, 1F1B, interleaved 1F1B and their zero-bubble forms: they differ in how many forwards come first and
/// how long the weights' gradients wait.
[[nodiscard]] std::vector<Task> straight_order(ScheduleKind kind, const PipelineSize& size, int stage);
/// Forwards before the first backward of a stage, and passes whose weights' gradients wait.
struct WarmUp {
  int forwards = 0;
  int delayed_weights = 0;
};
[[nodiscard]] WarmUp warm_up(ScheduleKind kind, const PipelineSize& size, int stage);
/// Micro-batches that go through all chunks before the next ones start: all are about as large, the first
/// ones largest.
[[nodiscard]] int largest_group(const PipelineSize& size);

[[nodiscard]] std::vector<Task> zbv_order(ScheduleKind kind, const PipelineSize& size, int stage);
[[nodiscard]] std::vector<Task> v_half_order(ScheduleKind kind, const PipelineSize& size, int stage);
/// DualPipe and DualPipeV.
[[nodiscard]] std::vector<Task> dual_order(ScheduleKind kind, const PipelineSize& size, int stage);

}  // namespace hexaplan::costmodel
