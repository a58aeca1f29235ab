#pragma once
#include <memory>

#include "validator/executor/device/device.h"

namespace hexaplan::validator {

/// The CPU's float64 device behind streams that are worked off later, by threads of their own, as a GPU's
/// are: what forgets to wait for an event reads what is not there yet, and memory that is freed too early
/// holds not-a-numbers. native_stream() is a StreamHandle*.
[[nodiscard]] std::unique_ptr<Device> make_streamed_device();

}  // namespace hexaplan::validator
