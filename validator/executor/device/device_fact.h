#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace hexaplan::validator {

/// Something that a device tells of itself beside what a step is made of: memory outside the ledger, clocks,
/// versions.
struct DeviceFact {
  std::string name;  // "context memory", "driver"
  double value = 0;  // unless it is a text
  std::string unit;  // "bytes", "MHz", …; empty: `text` says it
  std::string text;
  /// Memory that is taken whatever runs: context and modules. Not workspaces, which the ledger's profile has.
  bool fixed = false;
};

/// What a GPU runs at, at one moment.
struct DeviceState {
  double clock = 0;        // of the multiprocessors, MHz
  double power = 0;        // W
  double temperature = 0;  // °C
};

/// Memory that a GPU lost between two looks at it. Where it gained some, other processes gave back more than
/// was taken, and nobody knows how much that is.
[[nodiscard]] inline DeviceFact taken_memory(std::string name, std::int64_t bytes, bool fixed = false) {
  if (bytes < 0) return {std::move(name), 0, {}, "not known: another process gave memory back meanwhile"};
  return {std::move(name), static_cast<double>(bytes), "bytes", {}, fixed};
}

/// What a GPU's allocator held at most, under this name.
inline constexpr std::string_view kPoolFact = "pool: taken from the GPU at most";
/// Begin of the names of what NCCL's communicators took.
inline constexpr std::string_view kCommunicatorFact = "communicator of ";

/// Bytes of what is fixed, 0 where the device tells of none.
[[nodiscard]] inline double fixed_bytes(std::span<const DeviceFact> facts) {
  double sum = 0;
  for (const DeviceFact& fact : facts) sum += fact.fixed ? fact.value : 0;
  return sum;
}

}  // namespace hexaplan::validator
