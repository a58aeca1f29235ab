#pragma once
#include <optional>

#include "costmodel/spec/layout.h"

namespace hexaplan::costmodel {

/// One model chunk of one stage.
struct StageChunk {
  int stage = 0, chunk = 0;
  friend bool operator==(const StageChunk&, const StageChunk&) = default;
};

/// Where the chunk stands in the model, 0 first: chunk·p + stage when interleaved, down and up again for the
/// V-shaped schedules, so that the first stage holds both ends; DualPipe's second copy of the model lies the
/// other way round.  [docs/formulas.md#S2]
[[nodiscard]] constexpr int chunk_position(ScheduleKind kind, int stages, StageChunk at) {
  const bool backwards = at.chunk == 1 && (is_v_shaped(kind) || model_copies(kind) > 1);
  const int first = model_copies(kind) > 1 ? 0 : at.chunk * stages;
  return first + (backwards ? stages - 1 - at.stage : at.stage);
}

/// The stage and chunk that hold `position` of copy `copy` of the model.
[[nodiscard]] constexpr StageChunk chunk_at(ScheduleKind kind, int stages, int position, int copy = 0) {
  const int chunk = model_copies(kind) > 1 ? copy : position / stages;
  const int offset = position % stages;
  const bool backwards = chunk == 1 && (is_v_shaped(kind) || model_copies(kind) > 1);
  return {backwards ? stages - 1 - offset : offset, chunk};
}

/// Positions of one copy of the model.
[[nodiscard]] constexpr int chunk_positions(ScheduleKind kind, int stages, int chunks) {
  return stages * chunks / model_copies(kind);
}

/// Where activations go from here, and gradients come from; nothing behind the last chunk.
[[nodiscard]] constexpr std::optional<StageChunk> next_chunk(ScheduleKind kind, int stages, int chunks,
                                                             StageChunk at) {
  const int position = chunk_position(kind, stages, at) + 1;
  if (position == chunk_positions(kind, stages, chunks)) return std::nullopt;
  return chunk_at(kind, stages, position, at.chunk);
}
/// Where activations come from, and gradients go to; nothing before the first chunk.
[[nodiscard]] constexpr std::optional<StageChunk> previous_chunk(ScheduleKind kind, int stages,
                                                                 StageChunk at) {
  const int position = chunk_position(kind, stages, at) - 1;
  if (position < 0) return std::nullopt;
  return chunk_at(kind, stages, position, at.chunk);
}

/// Micro-batches that cross a chunk, as a half-open range: all, or DualPipe's half from either end.
struct MicrobatchRange {
  int first = 0, end = 0;
};
[[nodiscard]] constexpr MicrobatchRange microbatches_of_chunk(ScheduleKind kind, int microbatches,
                                                              int chunk) {
  if (model_copies(kind) == 1) return {0, microbatches};
  const int down = microbatches - microbatches / 2;
  return chunk == 0 ? MicrobatchRange{0, down} : MicrobatchRange{down, microbatches};
}

}  // namespace hexaplan::costmodel
