#pragma once
#include <string>

#include "cli/options.h"
#include "presets/machines/imported_cluster.h"

namespace hexaplan::cli {

/// What machines say of themselves as a cluster's file.
[[nodiscard]] presets::ImportedCluster run_cluster(const ClusterOptions& options);
/// What each file said, and what was assumed.
[[nodiscard]] std::string cluster_report(const presets::ImportedCluster& cluster);
[[nodiscard]] presets::JsonValue cluster_json(const presets::ImportedCluster& cluster);

}  // namespace hexaplan::cli
