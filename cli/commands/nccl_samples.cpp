#include "cli/commands/nccl_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "presets/gpus/gpu_preset.h"

namespace hexaplan::cli {
namespace {

/// "1 host", "2 hosts".
std::string so_many(std::int64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace

using validator::CollectiveSample;

NcclMismatch mismatch_of(const presets::NcclTest& test, const costmodel::ClusterSpec& cluster) {
  const auto gpu = presets::gpu_of_device(test.device);
  if (gpu && *gpu != cluster.gpu.name)
    return {fmt::format("{} ({})", test.device, *gpu),
            fmt::format("logs of {}, the cluster's GPU", cluster.gpu.name)};
  if (test.ranks > cluster.gpus)
    return {fmt::format("{} ranks", test.ranks), fmt::format("at most the cluster's {} GPUs", cluster.gpus)};
  const bool network = cluster.levels.back().fabric == costmodel::Fabric::Network;
  if (test.nodes > 1 && !network && cluster.levels.back().ranks <= cluster.gpus_per_node)
    return {fmt::format("{} hosts", test.nodes), "a cluster of several nodes, such as 2x8xH100+ib400"};
  if (test.ranks > static_cast<std::int64_t>(test.nodes) * cluster.gpus_per_node)
    return {fmt::format("{} ranks on {}", test.ranks, so_many(test.nodes, "host")),
            fmt::format("at most the {} of a node on each", so_many(cluster.gpus_per_node, "GPU"))};
  const std::int64_t nodes = cluster.gpus / std::max<std::int64_t>(1, cluster.gpus_per_node);
  if (test.nodes > std::max<std::int64_t>(1, nodes))
    return {so_many(test.nodes, "host"), fmt::format("at most the cluster's {}", so_many(nodes, "node"))};
  // Ranks are placed as far apart as leaves each host a node.
  if (test.nodes > 1 && (test.ranks_per_host == 0 || cluster.gpus_per_node % test.ranks_per_host != 0))
    return {test.ranks_per_host == 0 ? fmt::format("{} on {}, not as many on each",
                                                   so_many(test.ranks, "rank"), so_many(test.nodes, "host"))
                                     : fmt::format("{} on each of {}", so_many(test.ranks_per_host, "rank"),
                                                   so_many(test.nodes, "host")),
            fmt::format("as many on each host, and a number that divides the {} of a node (NODESxGPUSxNAME "
                        "says another)",
                        so_many(cluster.gpus_per_node, "GPU"))};
  return {};
}

std::vector<CollectiveSample> samples_of(const presets::NcclTest& test,
                                         const costmodel::ClusterSpec& cluster) {
  const int apart =
      test.nodes > 1 ? std::max(1, cluster.gpus_per_node / std::max(1, test.ranks_per_host)) : 1;
  std::vector<CollectiveSample> samples;
  for (const presets::NcclTestRow& row : test.rows) {
    for (const costmodel::Seconds time : row.times)
      samples.push_back({test.kind, test.ranks, test.nodes, row.payload, time.value(), apart});
  }
  return samples;
}

}  // namespace hexaplan::cli
