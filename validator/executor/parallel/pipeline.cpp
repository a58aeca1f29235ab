#include "validator/executor/parallel/pipeline.h"

#include <cassert>

#include "costmodel/spec/chunk_order.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::validator {

using costmodel::Pass;

int position_of_chunk(const costmodel::Layout& layout, int stage, int chunk) {
  return costmodel::chunk_position(layout.schedule, layout.pp, {.stage = stage, .chunk = chunk});
}

int stage_of_position(const costmodel::Layout& layout, int position) {
  return costmodel::chunk_at(layout.schedule, layout.pp, position).stage;
}

/// A micro-batch enters a chunk once in each direction.
int PipelineLink::tag(int position, Direction direction) const {
  const int positions = rank_.scenario.layout.pp * costmodel::chunks_per_stage(rank_.scenario.layout);
  return (rank_.microbatch * positions + position) * 2 + static_cast<int>(direction);
}

void PipelineLink::send(Tensor stream, int position, Direction direction) {
  const int to = stage_of_position(rank_.scenario.layout, position);
  if (to == rank_.groups.pipeline->rank()) {
    on_this_stage_[tag(position, direction)] = std::move(stream);
    return;
  }
  const Pass pass = direction == Direction::Forward ? Pass::Forward : Pass::BackwardData;
  rank_.groups.pipeline->send(wire(stream), to, rank_.call("pipeline.send", pass), tag(position, direction))
      .wait();
}

Tensor PipelineLink::receive(int position, int from, Direction direction) {
  const int sender = stage_of_position(rank_.scenario.layout, from);
  if (sender == rank_.groups.pipeline->rank()) {
    const auto found = on_this_stage_.find(tag(position, direction));
    assert(found != on_this_stage_.end());
    Tensor stream = std::move(found->second);
    on_this_stage_.erase(found);
    return stream;
  }
  Tensor stream = rank_.transient(direction == Direction::Forward ? "layer.output" : "stream.gradient",
                                  rank_.dims.sp_tokens, rank_.dims.hidden);
  const Pass pass = direction == Direction::Forward ? Pass::Forward : Pass::BackwardData;
  rank_.groups.pipeline
      ->receive(wire(stream), sender, rank_.call("pipeline.send", pass), tag(position, direction))
      .wait();
  return stream;
}

}  // namespace hexaplan::validator
