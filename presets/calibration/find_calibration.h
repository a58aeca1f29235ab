#pragma once
#include <optional>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/cluster_spec.h"
#include "costmodel/spec/framework_profile.h"
#include "presets/calibration/fabric/read_fabric.h"
#include "presets/calibration/run_calibration.h"

namespace hexaplan::presets {

/// Kernel curves for `gpu`, from the folders of preset_roots(): its own file presets/calibration/<gpu>.json
/// (Measured), else a sibling's with the rates of borrowed/siblings.json (Borrowed), else the built-in prior
/// (Prior). Collectives and network are left at their defaults.
[[nodiscard]] costmodel::Calibration find_calibration(const costmodel::GpuSpec& gpu);

struct ClusterCalibration {
  costmodel::Calibration calibration;
  FabricOrigin fabric;
  /// Slowdown of compute beside a collective; replaces the framework profile's. 0: not measured.
  double overlap_slowdown = 0;
  /// What runs taught; the calibration is corrected by it already.
  std::optional<RunCalibration> runs;

  /// Puts what was measured of it into the profile that an estimate reads. What runs of one framework taught
  /// of its software says nothing of others.
  void apply_to(costmodel::FrameworkProfile& profile) const {
    if (overlap_slowdown > 0) profile.overlap_slowdown = overlap_slowdown;
    if (runs && runs->framework == profile.name) correct(profile, runs->value);
  }
};
/// The same with the curves of the cluster's links (read_fabric): everything that an estimate needs.
[[nodiscard]] ClusterCalibration find_calibration(const costmodel::ClusterSpec& cluster);

}  // namespace hexaplan::presets
