#pragma once
#include <memory>

#include "validator/executor/device/device.h"

namespace hexaplan::tests {

/// The CUDA kernels behind a `Device`, on the host: what the ledger stores in 16 bits is `element`, F32,
/// Bf16 or F16, everything else F32. Memory is aligned as the GPU's is and new memory filled with
/// not-a-numbers.
[[nodiscard]] std::unique_ptr<validator::Device> make_emulated_device(validator::Element element);

}  // namespace hexaplan::tests
