#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "presets/scenario/scenario_request.h"

namespace hexaplan::presets {

/// Resolves many requests about the same presets, each of which is read once. Files of the user's own are
/// read each time, and so is everything while HEXAPLAN_PRESETS names a folder: they may change. For any
/// number of threads.
class PresetMemory {
 public:
  /// As presets::resolve.
  [[nodiscard]] ResolvedScenario resolve(const ScenarioRequest& request);
  /// As presets::calibrate.
  [[nodiscard]] CalibratedScenario calibrate(const ScenarioRequest& request, ResolvedScenario resolved);

 private:
  template <class Value>
  using Shelf = std::map<std::string, std::shared_ptr<const Value>>;
  template <class Value, class Make>
  std::shared_ptr<const Value> remembered(Shelf<Value>& shelf, const std::string& key, const Make& make);

  std::mutex mutex_;
  Shelf<costmodel::ModelSpec> models_;
  Shelf<costmodel::ClusterSpec> clusters_;
  Shelf<costmodel::FrameworkProfile> frameworks_;
  Shelf<ClusterCalibration> calibrations_;
};

}  // namespace hexaplan::presets
