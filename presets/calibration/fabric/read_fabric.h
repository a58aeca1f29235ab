#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/cluster_spec.h"

namespace hexaplan::presets {

/// Where the figures of a cluster's links come from, for the report.
struct FabricOrigin {
  costmodel::Provenance inside = costmodel::Provenance::Prior;  // Prior: no curves, NCCL's model
  std::string inside_source;
  std::string network;  // entry of networks.json; empty: the cluster has no network level
  costmodel::Provenance network_provenance = costmodel::Provenance::Prior;
  std::string network_source;
};

/// Fills `calibration.collectives` and `calibration.network` for `cluster` from `folder`
/// (presets/calibration/fabric). Curves: the file named like the GPU up to the first '-', when its "gpus"
/// names this preset and the GPUs are not on PCIe. Network: the first entry of networks.json whose "kinds"
/// hold the last level's name without its rate and whose "architectures", if given, hold the GPU's; else the
/// entry "unknown". InputError when a file is not as it should be.
FabricOrigin read_fabric(const std::filesystem::path& folder, const costmodel::ClusterSpec& cluster,
                         costmodel::Calibration& calibration);

/// Links that somebody measured here: a file of schema "hexaplan/fabric/1", or the member "fabric" of a
/// calibration (README.md beside this file).
struct OwnFabric {
  std::vector<std::string> gpus;  // presets they hold for
  std::string source;
  std::vector<costmodel::CollectiveCurve> collectives;
  std::optional<costmodel::NetworkModel> network;
  double overlap_slowdown = 0;  // of compute beside a collective; 0 = not measured
};
/// Nothing when a calibration has no such member. InputError when the file is not as it should be.
[[nodiscard]] std::optional<OwnFabric> read_own_fabric(const std::filesystem::path& path);
/// Puts what was measured in place of what is there.
void apply(const OwnFabric& fabric, costmodel::Calibration& calibration, FabricOrigin& origin);

}  // namespace hexaplan::presets
