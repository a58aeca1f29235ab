#include "costmodel/schedule/orders.h"

namespace hexaplan::costmodel {

OrderBuilder::OrderBuilder(int stage, std::vector<int> first, std::vector<int> end)
    : stage_{stage},
      first_{std::move(first)},
      end_{std::move(end)},
      forward_(first_.size()),
      backward_(first_.size()) {
  int passes = 0;
  for (std::size_t c = 0; c < first_.size(); ++c) passes += end_[c] - first_[c];
  tasks_.reserve(3 * static_cast<std::size_t>(passes));
  pending_.reserve(static_cast<std::size_t>(passes));
}

bool OrderBuilder::append(int chunk, std::vector<int>& counts, TaskPass pass) {
  const auto c = static_cast<std::size_t>(chunk);
  const int microbatch = first_[c] + counts[c]++;
  if (microbatch >= end_[c]) return false;
  tasks_.push_back({stage_, microbatch, chunk, pass});
  return true;
}

void OrderBuilder::backward_input(int chunk) {
  // Remembered even when the micro-batch does not exist: its place in the queue keeps the others' in order.
  const int microbatch = first_[static_cast<std::size_t>(chunk)] + backward_[static_cast<std::size_t>(chunk)];
  pending_.push_back({stage_, microbatch, chunk, TaskPass::BackwardWeight});
  append(chunk, backward_, TaskPass::BackwardInput);
}

void OrderBuilder::append_weight(const Task& input) {
  if (input.microbatch < end_[static_cast<std::size_t>(input.chunk)]) tasks_.push_back(input);
}

void OrderBuilder::weight() {
  if (next_pending_ < pending_.size()) append_weight(pending_[next_pending_++]);
}

void OrderBuilder::weight_of(int chunk) {
  for (std::size_t i = next_pending_; i < pending_.size(); ++i) {
    if (pending_[i].chunk != chunk) continue;
    append_weight(pending_[i]);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

int OrderBuilder::pending_weights_of(int chunk) const {
  return static_cast<int>(std::count_if(pending_.begin() + static_cast<std::ptrdiff_t>(next_pending_),
                                        pending_.end(),
                                        [chunk](const Task& task) { return task.chunk == chunk; }));
}

void OrderBuilder::all_weights() {
  while (pending_weights() > 0) weight();
}

void OrderBuilder::forward_with_backward(int forward_chunk, int backward_chunk) {
  const bool runs_forward = append(forward_chunk, forward_, TaskPass::Forward);
  const bool runs_backward = append(backward_chunk, backward_, TaskPass::Backward);
  if (runs_forward && runs_backward) tasks_[tasks_.size() - 2].with_next = true;
}

}  // namespace hexaplan::costmodel
