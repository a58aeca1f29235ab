#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "validator/measure/store/database.h"

namespace hexaplan::validator {

/// What something was measured on: measurements of another machine, driver or library do not count here.
struct MachineIdentity {
  std::string device;    // "NVIDIA H200", "cpu, float32: AMD EPYC 7763"
  std::string host;      // name of the computer
  std::string software;  // driver and libraries that set rates; empty = none
};

struct StoredMeasurement {
  std::string at;               // UTC
  std::string version;          // of the program that measured
  std::string unit;             // "s", "B"
  std::vector<double> samples;  // every repetition
};

/// Measurements of one machine, each under the name of what was measured. Every add() is a transaction of its
/// own, on disk when it returns.
class MeasurementStore {
 public:
  MeasurementStore(Database& database, const MachineIdentity& machine, std::string version);
  void add(std::string_view point, std::string_view unit, const std::vector<double>& samples);
  /// The newest of every point.
  [[nodiscard]] std::map<std::string, StoredMeasurement, std::less<>> newest();

 private:
  Database& database_;
  std::string version_;
  std::int64_t machine_ = 0;
};

}  // namespace hexaplan::validator
