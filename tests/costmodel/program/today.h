#pragma once
#include <span>
#include <string>

#include "costmodel/program/compile.h"
#include "costmodel/program/replay.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel::program {

// The step program held against the functions that estimates use today: operation lists, saved tensors and
// a hand-written replay. Each returns the first difference in words, or nothing.

/// FLOPs by operation and pass, messages with payload by operation, pass, collective and group, and what runs
/// again: `layer_operations`.
[[nodiscard]] std::string layer_difference(const Scenario& scenario, LayerClass kind,
                                           std::span<const PassRow> passes = all_passes());
/// `embedding_operations` and `head_operations`.
[[nodiscard]] std::string end_difference(const Scenario& scenario,
                                         std::span<const PassRow> passes = all_passes());
/// Bytes that a layer keeps for backward: `append_hand_written_saved`, `append_checkpoint_entry`, and
/// `forgotten` bytes that they are known to forget.
[[nodiscard]] std::string kept_difference(const Scenario& scenario, LayerClass kind,
                                          std::span<const PassRow> passes = all_passes(),
                                          double forgotten = 0);
/// Total, kinds and every instant of every stage: `hand_written_replay`.
[[nodiscard]] std::string replay_difference(const Scenario& scenario,
                                            std::span<const PassRow> passes = all_passes());

/// Peaks and live bytes of every task: the hand-written replay.
[[nodiscard]] std::string task_difference(const Scenario& scenario);

}  // namespace hexaplan::costmodel::program
