#pragma once
#include <memory>

#include "validator/executor/device/device.h"

namespace hexaplan::validator {

/// One rank's share of the host: every operation in plain C++ and Eigen, done when the call returns, on the
/// calling thread. Computes everything in `element`: F64 for proofs, F32 for speed. New memory is filled with
/// not-a-numbers, so that a step that reads what nobody wrote shows it.
[[nodiscard]] std::unique_ptr<Device> make_cpu_device(Element element);

}  // namespace hexaplan::validator
