#include "cli/commands/nccl_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "presets/gpus/gpu_preset.h"

namespace hexaplan::cli {

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
    return {fmt::format("{} ranks on {} hosts", test.ranks, test.nodes),
            fmt::format("at most the {} GPUs of a node on each", cluster.gpus_per_node)};
  const std::int64_t nodes = cluster.gpus / std::max<std::int64_t>(1, cluster.gpus_per_node);
  if (test.nodes > std::max<std::int64_t>(1, nodes))
    return {fmt::format("{} hosts", test.nodes), fmt::format("at most the cluster's {} nodes", nodes)};
  return {};
}

std::vector<CollectiveSample> samples_of(const presets::NcclTest& test,
                                         const costmodel::ClusterSpec& cluster) {
  const int per_host = std::max(1, test.ranks / std::max(1, test.nodes));
  const int apart = test.nodes > 1 ? std::max(1, cluster.gpus_per_node / per_host) : 1;
  std::vector<CollectiveSample> samples;
  for (const presets::NcclTestRow& row : test.rows) {
    for (const costmodel::Seconds time : row.times)
      samples.push_back({test.kind, test.ranks, test.nodes, row.payload, time.value(), apart});
  }
  return samples;
}

}  // namespace hexaplan::cli
