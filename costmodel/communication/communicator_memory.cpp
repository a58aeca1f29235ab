#include "costmodel/communication/communicator_memory.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "costmodel/communication/group_links.h"
#include "costmodel/communication/nccl_tuning.h"

namespace hexaplan::costmodel {
namespace {

// NVIDIA/nccl@5067397c, per channel and peer. Receiving side: LL 0.5 MiB + LL128 4.69 MiB + Simple 4 MiB
// (init.cc computeBuffSizes), rounded to 2 MiB (transport/p2p.cc); sending side: a header of the same
// rounding. The log in nccl issue 1685 shows allocations of exactly these two sizes. Over the network both
// sides keep full buffers.
constexpr double kMiB = 1048576.0;
constexpr double kReceive = 10 * kMiB;
constexpr double kSend = 2 * kMiB;
constexpr double kNvlsBuffer =
    2 * kMiB;  // per head and channel: up and down, 8 steps of 128 KiB (transport/nvls.cc)
constexpr double kSharedPool = 16 * 128 * 1024.0;  // per channel: 16 steps of 128 KiB (transport/net.cc)
constexpr double kTreePeers = 3;                   // parent and two children between nodes
constexpr double kMostPeerChannels = 32;
constexpr double kPciePeerChannels = 2;      // graph/paths.cc ncclTopoGetNchannels
constexpr double kPerChannelNetwork = 14e9;  // B/s: NCCL_P2P_PER_CHANNEL_NET_BW
constexpr double kPeersPerBatch = 8;         // NCCL_MAX_DEV_WORK_P2P_PER_BATCH

double next_power_of_two(double n) {
  constexpr double kMost = 0x1p62;  // above it no 64 bits hold the next one
  return static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp(n, 1.0, kMost))));
}

/// "coll channels" of NCCL's log: twice the graph's; between nodes two per card, four where few cards meet
/// fast NVLink.
double collective_channels(const GroupLinks& links, const nccl::Architecture& architecture) {
  const double inside = links.pcie ? 2 * kPciePeerChannels : 2 * architecture.graph_channels;
  if (links.domains <= 1) {
    return inside;
  }
  const double cards = 2 * links.per_domain;
  const bool doubled = architecture.nvls_channels > 0 && cards < 16;
  return std::min(inside, doubled ? 2 * cards : cards);
}

double peer_channels(const GroupLinks& links, const nccl::Architecture& architecture, double card) {
  const double all = next_power_of_two(collective_channels(links, architecture));
  double channels = links.pcie ? kPciePeerChannels : std::min(all, kMostPeerChannels);
  if (links.domains > 1) {
    channels = std::min(channels, next_power_of_two(std::max(2.0, std::ceil(card / kPerChannelNetwork))));
    while (channels > 1 && channels * std::ceil(links.ranks / kPeersPerBatch) > all) {
      channels /= 2;
    }
  }
  return channels;
}

double ring_buffers(const GroupLinks& links, double channels) {
  const double at_the_card = links.domains > 1 ? channels / links.per_domain : 0;
  return channels * (kReceive + kSend) + at_the_card * (kReceive - kSend);
}

/// A chain inside the domain (both directions to both neighbours), one tree between domains.
double tree_buffers(const GroupLinks& links, double channels) {
  const double chain = channels * 2 * (links.per_domain - 1) / links.per_domain * (kReceive + kSend);
  const double between = links.domains > 1 ? channels / links.per_domain * kTreePeers * 2 * kReceive : 0;
  return chain + between;
}

double nvls_buffers(const GroupLinks& links, const nccl::Architecture& architecture) {
  const bool used = links.multicast && links.per_domain > 2;
  return used ? links.per_domain * architecture.nvls_channels * kNvlsBuffer : 0;
}

double peer_buffers(const GroupLinks& links, const nccl::Architecture& architecture, double peers,
                    double card) {
  const double pool =
      links.domains > 1 ? 2 * next_power_of_two(collective_channels(links, architecture)) * kSharedPool : 0;
  return peers * peer_channels(links, architecture, card) * (kReceive + kSend) + pool;
}

}  // namespace

Bytes communicator_memory(CollectiveKind kind, const GroupPlacement& group, const ClusterSpec& cluster) {
  if (group.ranks <= 1) {
    return Bytes{};
  }
  const GroupLinks links = links_of(group, cluster, NetworkModel{});
  const nccl::Architecture& architecture = nccl::architecture_of(cluster.gpu.architecture);
  const double channels = collective_channels(links, architecture);
  const double card = cards_or_links(cluster).bandwidth.value();
  switch (kind) {
    case CollectiveKind::AllReduce:
      return Bytes{ring_buffers(links, channels) + tree_buffers(links, channels) +
                   nvls_buffers(links, architecture)};
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
      return Bytes{ring_buffers(links, channels) + nvls_buffers(links, architecture)};
    case CollectiveKind::Broadcast:
      return Bytes{ring_buffers(links, channels)};
    case CollectiveKind::AllToAll:
      return Bytes{peer_buffers(links, architecture, links.per_domain - 1, card)};
    case CollectiveKind::SendRecv:
      return Bytes{peer_buffers(links, architecture, std::min(2.0, links.per_domain - 1), card)};
  }
  return Bytes{};
}

}  // namespace hexaplan::costmodel
