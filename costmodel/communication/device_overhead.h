#pragma once
#include "costmodel/calibrate/calibration.h"
#include "costmodel/memory/layer_ledger.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// Device memory of the layout's NCCL communicators on one rank.  [docs/formulas.md#M6]
[[nodiscard]] Bytes communicator_bytes(const Scenario& scenario);
/// The context as measured, otherwise as the framework's profile has it; the communicators.
[[nodiscard]] DeviceOverhead device_overhead(const Scenario& scenario, const Calibration& calibration);

}  // namespace hexaplan::costmodel
