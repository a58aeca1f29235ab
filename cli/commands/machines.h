#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.h"
#include "planner/problem/problem.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::cli {

/// The clusters that --gpus and --gpu ask to try; that of the question when they are not given. Never empty.
/// InputError names the flag.
[[nodiscard]] std::vector<presets::JsonValue> clusters_to_try(const SearchOptions& options,
                                                              const presets::ScenarioRequest& request);

/// `cluster` with another number of GPUs in machines of the same kind: "8xH100+ib400" becomes
/// "64xH100+ib400", "2x8xH200" "8x8xH200". InputError names `flag` when the count does not fill its nodes.
[[nodiscard]] presets::JsonValue with_gpus(const presets::JsonValue& cluster, std::int64_t gpus,
                                           std::string_view flag);

/// H100s for so many ranks, in nodes as large as they fill: "8xH100", "2x6xH100", "11x1xH100". Where nothing
/// is priced: rules ask for a cluster.
[[nodiscard]] std::string stand_in_cluster(std::int64_t ranks);

}  // namespace hexaplan::cli
