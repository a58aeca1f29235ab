#pragma once
#include <memory>

#include "validator/executor/device/cpu/instruction_set.h"
#include "validator/executor/device/device.h"
#include "validator/executor/memory/arena.h"

namespace hexaplan::validator {

struct CpuDeviceOptions {
  std::unique_ptr<Arena> arena = nullptr;  // where memory is taken from; none: the heap
  /// One that this processor runs.
  InstructionSet instructions = chosen_instruction_set();
  int threads = 1;  // that an operation runs on, with the caller's own
};

/// One rank's share of the host: every operation in plain C++ and Eigen, done when the call returns, on the
/// calling thread and those of the options: the same numbers on any number of them. F64 for proofs and F32
/// for speed compute and store everything so; Bf16 and F16 store in 16 bits what the ledger does and
/// everything else in float32, computes in float32 and rounds every result once, to nearest even. New memory
/// is filled with not-a-numbers, so that a step that reads what nobody wrote shows it.
[[nodiscard]] std::unique_ptr<Device> make_cpu_device(Element element, CpuDeviceOptions options = {});

}  // namespace hexaplan::validator
