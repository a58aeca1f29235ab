#include "validator/executor/parallel/pipeline.h"

#include <cassert>

#include "costmodel/spec/stage_plan.h"

namespace hexaplan::validator {

using costmodel::Pass;

costmodel::StageChunk PipelineLink::neighbour(costmodel::StageChunk here, Direction towards) const {
  const costmodel::Layout& l = rank_.scenario.layout;
  const auto found = towards == Direction::Forward
                         ? costmodel::next_chunk(l.schedule, l.pp, costmodel::chunks_per_stage(l), here)
                         : costmodel::previous_chunk(l.schedule, l.pp, here);
  assert(found);
  return *found;
}

/// A micro-batch enters a chunk once in each direction; of two copies of the model it crosses one.
int PipelineLink::tag(costmodel::StageChunk reader, Direction direction) const {
  const costmodel::Layout& l = rank_.scenario.layout;
  const int positions = l.pp * costmodel::chunks_per_stage(l);
  const int position = costmodel::chunk_position(l.schedule, l.pp, reader);
  return (rank_.microbatch * positions + position) * 2 + static_cast<int>(direction);
}

void PipelineLink::send(Tensor stream, costmodel::StageChunk here, Direction direction) {
  const costmodel::StageChunk reader = neighbour(here, direction);
  if (reader.stage == here.stage) {
    on_this_stage_[tag(reader, direction)] = std::move(stream);
    return;
  }
  const Pass pass = direction == Direction::Forward ? Pass::Forward : Pass::BackwardData;
  rank_.groups.pipeline
      ->send(wire(stream), reader.stage, rank_.call("pipeline.send", pass), tag(reader, direction))
      .wait();
}

Tensor PipelineLink::receive(costmodel::StageChunk here, Direction direction) {
  const costmodel::StageChunk sender =
      neighbour(here, direction == Direction::Forward ? Direction::Backward : Direction::Forward);
  if (sender.stage == here.stage) {
    const auto found = on_this_stage_.find(tag(here, direction));
    assert(found != on_this_stage_.end());
    Tensor stream = std::move(found->second);
    on_this_stage_.erase(found);
    return stream;
  }
  Tensor stream = rank_.transient(direction == Direction::Forward ? "layer.output" : "stream.gradient",
                                  rank_.dims.sp_tokens, rank_.dims.hidden);
  const Pass pass = direction == Direction::Forward ? Pass::Forward : Pass::BackwardData;
  rank_.groups.pipeline
      ->receive(wire(stream), sender.stage, rank_.call("pipeline.send", pass), tag(here, direction))
      .wait();
  return stream;
}

}  // namespace hexaplan::validator
