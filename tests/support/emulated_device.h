#pragma once
#include <cstddef>
#include <memory>

#include "validator/executor/device/device.h"

namespace hexaplan::tests {

/// Is told what becomes of a device's memory.
class MemoryWatcher {
 public:
  MemoryWatcher() = default;
  MemoryWatcher(const MemoryWatcher&) = delete;
  MemoryWatcher& operator=(const MemoryWatcher&) = delete;
  virtual ~MemoryWatcher() = default;
  virtual void taken(const std::byte* memory, std::size_t bytes) = 0;
  virtual void given_back(const std::byte* memory) = 0;
  /// An upload: a number, or a not-a-number, which stands for none.
  virtual void written_by_host(const std::byte* memory, std::size_t bytes, bool number) = 0;
};

/// The CUDA kernels behind a `Device`, on the host: what the ledger stores in 16 bits is `element`, F32,
/// Bf16 or F16, everything else F32. Memory is aligned as the GPU's is and new memory filled with
/// not-a-numbers. Who runs the kernels is a matter of what is linked: emulated_device compiles them as C++,
/// ptx_device interprets what nvcc makes of them. `watcher`: outlives the device.
[[nodiscard]] std::unique_ptr<validator::Device> make_emulated_device(validator::Element element,
                                                                      MemoryWatcher* watcher = nullptr);

}  // namespace hexaplan::tests
