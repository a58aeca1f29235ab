#pragma once
#include <string>

namespace hexaplan::validator {

/// Something that a device tells of itself beside what a step is made of: memory outside the ledger, clocks,
/// versions.
struct DeviceFact {
  std::string name;  // "context memory", "driver"
  double value = 0;  // unless it is a text
  std::string unit;  // "bytes", "MHz", …; empty: `text` says it
  std::string text;
};

}  // namespace hexaplan::validator
