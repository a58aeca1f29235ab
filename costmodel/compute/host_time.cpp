#include "costmodel/compute/host_time.h"

#include <algorithm>

namespace hexaplan::costmodel {
namespace {

/// Of the link's rate in one direction, from pinned memory. Estimate: 25 to 26 GB/s of PCIe 4.0's 32 and 52
/// to 55 of PCIe 5.0's 64 are what NVIDIA's bandwidthTest and nvbandwidth usually print.
constexpr double kLinkShare = 0.8;

/// Of the memory channels' rate, read and written in streams by all cores. Estimate, as STREAM reaches on
/// servers of two sockets.
constexpr double kChannelShare = 0.75;

/// Where a preset does not say: two sockets of eight DDR4-3200 channels have 410 GB/s; half of that.
constexpr BytesPerSecond kUsualMemoryBandwidth{200e9};
/// Where a preset does not say: one PCIe 3.0 drive.
constexpr BytesPerSecond kUsualDiskBandwidth{3e9};

BytesPerSecond or_usual(BytesPerSecond rate, BytesPerSecond usual) {
  return rate.value() > 0 ? rate : usual;
}

}  // namespace

double gpus_of_node(const ClusterSpec& cluster) {
  return std::max(1, cluster.gpus_per_node);
}

Seconds host_copy_time(Bytes payload, bool on_disk, const ClusterSpec& cluster) {
  const BytesPerSecond link = kLinkShare * cluster.gpu.pcie;
  const BytesPerSecond channels =
      kChannelShare * or_usual(cluster.host.memory_bandwidth, kUsualMemoryBandwidth) / gpus_of_node(cluster);
  const Seconds copy = payload / std::min(link, channels);
  if (!on_disk) return copy;
  const BytesPerSecond disk = or_usual(cluster.host.disk_read, kUsualDiskBandwidth) / gpus_of_node(cluster);
  return larger(copy, payload / disk);
}

Seconds host_update_time(Bytes bytes, bool on_disk, const ClusterSpec& cluster) {
  const Bytes of_node = bytes * gpus_of_node(cluster);
  const Seconds in_memory =
      of_node / (kChannelShare * or_usual(cluster.host.memory_bandwidth, kUsualMemoryBandwidth));
  if (!on_disk) return in_memory;
  // Half of the bytes are read, half written; reading, updating and writing run beside each other.
  const Seconds reading = of_node * 0.5 / or_usual(cluster.host.disk_read, kUsualDiskBandwidth);
  const Seconds writing = of_node * 0.5 / or_usual(cluster.host.disk_write, kUsualDiskBandwidth);
  return larger(in_memory, reading + writing);
}

}  // namespace hexaplan::costmodel
