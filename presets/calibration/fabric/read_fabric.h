#pragma once
#include <filesystem>
#include <string>

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

}  // namespace hexaplan::presets
