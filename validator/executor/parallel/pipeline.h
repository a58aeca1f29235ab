#pragma once
#include <cstdint>
#include <map>
#include <utility>

#include "costmodel/schedule/schedule.h"
#include "validator/executor/parallel/rank.h"

namespace hexaplan::validator {

/// Which way a micro-batch crosses the model.
enum class Direction : std::uint8_t { Forward, Backward };

/// Place in model order of the model chunk that `stage` runs as its `chunk`-th, and the stage that holds it.
[[nodiscard]] int position_of_chunk(const costmodel::Layout& layout, int stage, int chunk);
[[nodiscard]] int stage_of_position(const costmodel::Layout& layout, int position);

/// Hands the residual stream (or its gradient) of a micro-batch to the neighbouring chunk and takes it from
/// there: over the pipeline group, or through memory where the next chunk is on the same stage.
class PipelineLink {
 public:
  explicit PipelineLink(const Rank& rank) : rank_{rank} {}
  /// Gives `stream` to the chunk at `position`, as what it reads in `direction`.
  void send(Tensor stream, int position, Direction direction);
  /// What the chunk at `position` reads in `direction`; `from` is its neighbour's position.
  [[nodiscard]] Tensor receive(int position, int from, Direction direction);

 private:
  [[nodiscard]] int tag(int position, Direction direction) const;
  const Rank& rank_;
  std::map<int, Tensor> on_this_stage_;  // by tag
};

}  // namespace hexaplan::validator
