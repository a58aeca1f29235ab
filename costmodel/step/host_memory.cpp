#include "costmodel/step/host_memory.h"

#include <fmt/format.h>

#include "costmodel/compute/host_time.h"

namespace hexaplan::costmodel {
namespace {

using namespace literals;

bool exceeds(Bytes needed, Bytes capacity) {
  return capacity > Bytes{} && capacity < needed;
}

}  // namespace

HostLoad host_load(const Recipe& recipe, Bytes states, Bytes activations) {
  return recipe.offload_device == OffloadDevice::Nvme ? HostLoad{activations, states}
                                                      : HostLoad{states + activations, {}};
}

HostLoad larger_of(const HostLoad& a, const HostLoad& b) {
  return {larger(a.memory, b.memory), larger(a.disk, b.disk)};
}

HostLoad of_node(const HostLoad& rank, const ClusterSpec& cluster) {
  return rank * gpus_of_node(cluster);
}

bool fits_on_host(const HostLoad& node, const HostSpec& host) {
  return !exceeds(node.memory, host.memory) && !exceeds(node.disk, host.disk);
}

std::optional<Rejected> host_rejection(const HostLoad& node, const HostSpec& host) {
  if (fits_on_host(node, host)) return std::nullopt;
  const bool disk = !exceeds(node.memory, host.memory);
  return Rejected{
      "fits-in-host-memory",
      fmt::format("offloaded tensors need {:.1f} GiB {} of a node, which has {:.1f} GiB",
                  (disk ? node.disk : node.memory) / 1_GiB, disk ? "on the disks" : "in the memory",
                  (disk ? host.disk : host.memory) / 1_GiB),
      disk ? "offload less, or use more nodes"
           : "offload less, use more nodes or offload_device nvme, or say what the nodes have: "
             "+host1TiB after the cluster"};
}

}  // namespace hexaplan::costmodel
