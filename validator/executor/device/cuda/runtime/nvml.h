#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "validator/executor/device/device_fact.h"

namespace hexaplan::validator::cuda {

/// The driver's management library, found at run time: clocks, power and temperature are recorded where it
/// is, and absent where it is not.
class Nvml {
 public:
  /// Of the GPU at this PCI address, "0000:1b:00.0".
  explicit Nvml(const std::string& pci_address);
  /// What the GPU does now.
  [[nodiscard]] std::vector<DeviceFact> facts() const;
  [[nodiscard]] std::optional<DeviceState> state() const;
  /// Of all processes; tells what a context takes before there is one.
  [[nodiscard]] std::optional<std::int64_t> used_bytes() const;

 private:
  struct Library;
  const Library* library_ = nullptr;
  void* gpu_ = nullptr;
};

}  // namespace hexaplan::validator::cuda
