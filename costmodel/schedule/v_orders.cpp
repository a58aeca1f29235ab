// Schedules whose two chunks per stage run down and up again, and DualPipe, which shares its order with one.
#include <array>

#include "costmodel/schedule/orders.h"

namespace hexaplan::costmodel {

/// PyTorch distributed/pipelining/schedules.py ScheduleZBVZeroBubble (from sail-sg/zero-bubble): chunk 0 goes
/// down, chunk 1 up; built for 2p−1 micro-batches where there are fewer.
std::vector<Task> zbv_order(ScheduleKind /*kind*/, const PipelineSize& size, int stage) {
  const int p = size.stages, r = stage;
  const int planned = std::max(2 * p - 1, size.microbatches);
  OrderBuilder order{stage, {0, 0}, {size.microbatches, size.microbatches}};
  const auto whole_backward = [&](int chunk) {
    order.backward_input(chunk);
    order.weight();
  };
  for (int i = 0; i < 2 * (p - r) - 1; ++i) order.forward(0);
  for (int i = 0; i < r; ++i) order.forward(1), order.forward(0);
  for (int i = 0; i < p - r; ++i) order.forward(1), whole_backward(1);
  while (order.forwards(1) < order.forwards(0) || order.forwards(0) < planned) {
    if (order.forwards(0) < planned) order.forward(0);
    whole_backward(0);
    order.forward(1);
    whole_backward(1);
  }
  // Cool-down: weights' gradients fill the gaps between the last inputs' gradients.
  for (int i = 0; i < r; ++i) order.backward_input(0), order.backward_input(1);
  for (int i = 0; i < p - r; ++i) order.backward_input(0), order.weight_of(0);
  while (order.pending_weights_of(1) > 0) order.weight_of(1);
  order.all_weights();
  return order.take();
}

/// arXiv:2405.15362 §4, building block of sail-sg/zero-bubble-pipeline-parallelism
/// scheduler/zbv_greedy.py stable_pattern_v_half: every micro-batch repeats four passes at fixed slots, six
/// slots after the one before; weights' gradients take the free slots.
std::vector<Task> v_half_order(ScheduleKind /*kind*/, const PipelineSize& size, int stage) {
  constexpr int kInterval = 6;  // slots of one micro-batch: F, I and W of two chunks
  const int p = size.stages, r = stage;
  const int shift = p % 2 == 0 ? 3 : 0;
  struct Pass {
    int slot;
    bool forward;
    int chunk;
  };
  const std::array<Pass, 4> block{{{2 * r, true, 0},
                                   {3 * p - r - 2, true, 1},
                                   {3 * p + shift + 2 * r - 1, false, 1},
                                   {6 * p + shift - r - 2, false, 0}}};
  OrderBuilder order{stage, {0, 0}, {size.microbatches, size.microbatches}};
  const int last = block.back().slot + kInterval * (size.microbatches - 1);
  for (int slot = 0; slot <= last; ++slot) {
    const auto due = std::find_if(block.begin(), block.end(), [&](const Pass& pass) {
      const int since = slot - pass.slot;
      return since >= 0 && since % kInterval == 0 && since / kInterval < size.microbatches;
    });
    if (due == block.end()) {
      order.weight();
    } else if (due->forward) {
      order.forward(due->chunk);
    } else {
      order.backward_input(due->chunk);
    }
  }
  order.all_weights();
  return order.take();
}

namespace {

/// deepseek-ai/DualPipe@3da1bbe dualpipe/dualpipe.py and dualpipev.py `step`: the same eight steps. `half`
/// stages lie between an end and the turn, `r` is the distance from the end; phase 0 comes from the near end.
class DualSteps {
 public:
  DualSteps(OrderBuilder& order, int half, int r, std::array<int, 2> chunk_of_phase)
      : order_{order}, half_{half}, r_{r}, chunk_{chunk_of_phase} {}

  void run(int microbatches) {
    const int to_turn = half_ - r_ - 1;
    for (int i = 0; i < 2 * to_turn; ++i) order_.forward(chunk_[0]);
    for (int i = 0; i < r_ + 1; ++i) order_.forward(chunk_[0]), order_.forward(chunk_[1]);
    for (int i = 0; i < to_turn; ++i) {
      order_.backward_input(chunk_[1]);
      order_.weight();
      order_.forward(chunk_[1]);
    }
    for (int i = 0; i < microbatches - 2 * half_ + r_ + 1; ++i) main_step(i == 0 && to_turn == 0);
    for (int i = 0; i < to_turn; ++i) {
      order_.backward(chunk_[1]);
      order_.forward_with_backward(chunk_[1], chunk_[0]);
    }
    last_backwards(to_turn);
  }

 private:
  void main_step(bool apart) {
    if (apart) {  // not overlapped at the turn, "to further reduce bubble size"
      order_.forward(chunk_[0]);
      order_.backward(chunk_[1]);
    } else {
      order_.forward_with_backward(chunk_[0], chunk_[1]);
    }
    order_.forward_with_backward(chunk_[1], chunk_[0]);
  }

  /// The second half of them leaves the weights' gradients for the gaps.
  void last_backwards(int to_turn) {
    const int middle = (r_ + 1) / 2;
    for (int i = 0; i < r_ + 1; ++i) {
      order_.backward_split(chunk_[1], i > middle || (i == middle && r_ % 2 == 1));
      order_.backward_split(chunk_[0], i >= middle);
    }
    for (int i = 0; i < to_turn; ++i) {
      order_.weight();
      order_.backward_input(chunk_[0]);
    }
    order_.all_weights();
  }

  OrderBuilder& order_;
  int half_, r_;
  std::array<int, 2> chunk_;
};

}  // namespace

std::vector<Task> dual_order(ScheduleKind kind, const PipelineSize& size, int stage) {
  const int m = size.microbatches;
  if (kind == ScheduleKind::DualPipeV) {
    OrderBuilder order{stage, {0, 0}, {m, m}};
    DualSteps{order, size.stages, stage, {0, 1}}.run(std::max(m, 2 * size.stages));
    return order.take();
  }
  const int down = m - m / 2;
  const int half = size.stages / 2;
  const bool upper = stage < half;
  OrderBuilder order{stage, {0, down}, {down, m}};
  DualSteps{order, half, upper ? stage : size.stages - 1 - stage, upper ? std::array{0, 1} : std::array{1, 0}}
      .run(std::max(down, size.stages));
  return order.take();
}

}  // namespace hexaplan::costmodel
