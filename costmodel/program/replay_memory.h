#pragma once
#include <array>
#include <vector>

#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// What one rank of `stage` has alive when it has most, and the instants' own peaks. Replays the schedule
/// task by task, each as the step program says (program/replay.h).  [docs/formulas.md#M8]
struct ReplayedMemory {
  std::array<MemoryBreakdown, kInstants> at{};
  /// What the host, or its disks, have of the rank's offloaded tensors, at most at each instant.
  std::array<MemoryBreakdown, kInstants> host{};
  Instant peak_instant = kIdle;
  [[nodiscard]] const MemoryBreakdown& peak() const { return at[index_of(peak_instant)]; }
};
[[nodiscard]] ReplayedMemory replay_memory(const Scenario& scenario, int stage);

/// True when the memory of `scenario` has to be replayed, because the ledger's closed form does not hold it:
/// under the executor's profile where a schedule, ZeRO stage or model makes it inexact, under others where
/// backward is split or chunks of a stage differ. False for what no program describes or, under the
/// executor's profile, it does not run.
[[nodiscard]] bool needs_replay(const Scenario& scenario);
/// The same where it is known whether chunks differ, as chunks_differ(scenario) says at some cost.
[[nodiscard]] bool needs_replay(const Scenario& scenario, bool differing_chunks);

/// replay_memory of every stage, without running micro-batches that change nothing: once the pipeline is
/// full, every schedule but GPipe repeats itself.
[[nodiscard]] std::vector<ReplayedMemory> replay_peaks(const Scenario& scenario);

/// Live bytes around one task of a stage.
struct ReplayedTask {
  struct Level {
    Bytes allocated, activations;
  };
  std::array<Level, 4>
      at;  // most at the instants of the passes, kForward to kBackward; zero where it never was
  Level after;
  [[nodiscard]] const Level& peak(Instant instant) const { return at[index_of(instant)]; }
};
/// All tasks of every stage, in its order; the states and the whole batch's tokens are alive throughout.
[[nodiscard]] std::vector<std::vector<ReplayedTask>> replay_tasks(const Scenario& scenario);

}  // namespace hexaplan::costmodel
