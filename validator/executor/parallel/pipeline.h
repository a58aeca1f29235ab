#pragma once
#include <cstdint>
#include <map>
#include <utility>

#include "costmodel/schedule/schedule.h"
#include "costmodel/spec/chunk_order.h"
#include "validator/executor/parallel/rank.h"

namespace hexaplan::validator {

/// Which way a micro-batch crosses the model.
enum class Direction : std::uint8_t { Forward, Backward };

/// Hands the residual stream (or its gradient) of a micro-batch to the neighbouring chunk and takes it from
/// there: over the pipeline group, or through memory where the next chunk is on the same stage.
class PipelineLink {
 public:
  explicit PipelineLink(const Rank& rank) : rank_{rank} {}
  /// Gives `stream` to the chunk that follows `here` in `direction`.
  void send(Tensor stream, costmodel::StageChunk here, Direction direction);
  /// What `here` reads in `direction`, from the chunk before it on that way.
  [[nodiscard]] Tensor receive(costmodel::StageChunk here, Direction direction);

 private:
  /// The neighbour of `here` on the way of the activations, or of the gradients.
  [[nodiscard]] costmodel::StageChunk neighbour(costmodel::StageChunk here, Direction towards) const;
  /// Of what the chunk reads.
  [[nodiscard]] int tag(costmodel::StageChunk reader, Direction direction) const;
  const Rank& rank_;
  std::map<int, Tensor> on_this_stage_;  // by tag
};

}  // namespace hexaplan::validator
