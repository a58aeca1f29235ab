#pragma once
#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/cluster_spec.h"
#include "costmodel/spec/framework_profile.h"
#include "presets/calibration/fabric/read_fabric.h"

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

  /// Puts what was measured of it into the profile that an estimate reads.
  void apply_to(costmodel::FrameworkProfile& profile) const {
    if (overlap_slowdown > 0) profile.overlap_slowdown = overlap_slowdown;
  }
};
/// The same with the curves of the cluster's links (read_fabric): everything that an estimate needs.
[[nodiscard]] ClusterCalibration find_calibration(const costmodel::ClusterSpec& cluster);

}  // namespace hexaplan::presets
