#pragma once
#include <span>
#include <string>

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

/// Bytes of what is fixed, 0 where the device tells of none.
[[nodiscard]] inline double fixed_bytes(std::span<const DeviceFact> facts) {
  double sum = 0;
  for (const DeviceFact& fact : facts) sum += fact.fixed ? fact.value : 0;
  return sum;
}

}  // namespace hexaplan::validator
