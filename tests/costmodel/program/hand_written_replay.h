#pragma once
#include <vector>

#include "costmodel/program/replay.h"
#include "costmodel/program/replay_memory.h"
#include "costmodel/spec/scenario.h"
#include "tests/costmodel/program/hand_written_layers.h"

namespace hexaplan::costmodel::program {

// The executor's step written down by hand, allocation by allocation (ExplicitStep), under its schedule: what
// the derived program is held against. Slow, and knows no model but the executor's.

[[nodiscard]] ReplayedMemory hand_written_replay(const Scenario& scenario, int stage);
[[nodiscard]] std::vector<TaskMemory> hand_written_tasks(const Scenario& scenario, int stage);

}  // namespace hexaplan::costmodel::program
