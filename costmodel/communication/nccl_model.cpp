#include "costmodel/communication/nccl_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel {
namespace {

using nccl::Architecture;
constexpr double kGiga = 1e9;
constexpr double kMicrosecond = 1e-6;

/// One collective over one group: what the tuner's formulas need, worked out once. Microseconds and bytes per
/// second.
struct Call {
  CollectiveKind kind;
  double bytes;
  const GroupLinks& links;
  const Architecture& architecture;
  double network_latency;             // us that the network adds to NCCL's own per hop
  double pair_share, exchange_share;  // of the cards' rate
  std::size_t nodes_index;            // column of ByNodes
  double steps;                       // of a ring
  double channels;                    // graph channels: NVLink's inside, two per card between nodes

  [[nodiscard]] bool several_domains() const { return links.domains > 1; }
  [[nodiscard]] bool gathers_or_scatters() const {
    return kind == CollectiveKind::AllGather || kind == CollectiveKind::ReduceScatter;
  }
};

Call make_call(CollectiveKind kind, double bytes, const GroupLinks& links, const Architecture& architecture,
               const NetworkModel& network) {
  const double ring_steps = kind == CollectiveKind::AllReduce ? 2 * (links.ranks - 1) : links.ranks - 1;
  const std::size_t nodes_index = links.domains <= 1 ? 0 : links.domains <= 2 ? 1 : 2;
  const double channels = links.domains > 1 ? std::min(architecture.graph_channels, 2 * links.per_domain)
                                            : architecture.graph_channels;
  return {kind,
          bytes,
          links,
          architecture,
          network.hop_latency.value() / kMicrosecond,
          network.pair_share,
          network.exchange_share,
          nodes_index,
          ring_steps,
          channels};
}

constexpr std::size_t index_of(Protocol protocol) {
  return static_cast<std::size_t>(protocol);
}

const nccl::Latency& latency_of(Algorithm algorithm) {
  return *std::find_if(nccl::kLatencies.begin(), nccl::kLatencies.end(),
                       [algorithm](const nccl::Latency& row) { return row.algorithm == algorithm; });
}

double inside_step(const Call& call, const nccl::Latency& row, Protocol protocol) {
  return (call.links.pcie ? row.pcie : row.nvlink)[index_of(protocol)];
}

/// One hop between nodes. With one rank per node nothing hides it, and the tree's figure holds. Simple waits
/// for the card twice: data, then flush.
double network_step(const Call& call, const nccl::Latency& row, Protocol protocol) {
  const nccl::Latency& source = call.links.per_domain <= 1 ? latency_of(Algorithm::Tree) : row;
  return source.network[index_of(protocol)] + call.network_latency * (protocol == Protocol::Simple ? 2 : 1);
}

/// Messages that an algorithm sends from one of `units` to another, one after the other.
using Crossings = double (*)(double units);
double around_a_ring(double units) {
  return units - 1;
}
double down_a_tree(double units) {
  return std::floor(std::log2(units));
}
double directly(double) {
  return 1;
}

/// What the tiers above the cards add to a chain of messages, microseconds.
double tier_latency(const Call& call, Crossings crossings) {
  double latency = 0;
  for (std::size_t i = 0; i < call.links.tier_count; ++i) {
    const CrossedTier& tier = call.links.tiers[i];
    latency += crossings(tier.units) * tier.latency / kMicrosecond;
  }
  return latency;
}

/// Bytes per second of payload when every rank's bus carries `bus`: nccl-tests' factors (doc/PERFORMANCE.md).
double payload_rate(const Call& call, double bus) {
  return bus * call.links.ranks / (mutant("ring-rate-without-its-steps") ? call.links.ranks : call.steps);
}

// --- ring
// ---------------------------------------------------------------------------------------------------------

double ring_rate(const Call& call, Protocol protocol) {
  double bus = call.several_domains() ? call.links.outside : call.links.inside;
  if (call.links.per_domain > 1) {
    bus = std::min(bus, call.links.inside);
  }
  const double ll_max = kGiga * (call.several_domains() ? nccl::kLlMaxNetwork[call.nodes_index]
                                                        : call.architecture.ll_max_one_node);
  switch (protocol) {
    case Protocol::LL:
      bus = std::min(ll_max, bus * 0.5);
      break;
    case Protocol::LL128:
      bus = std::min(bus * nccl::kLl128Share,
                     kGiga * call.channels * call.architecture.ring_ll128[call.nodes_index]);
      break;
    case Protocol::Simple:
      break;
  }
  return call.kind == CollectiveKind::Broadcast ? bus : payload_rate(call, bus);
}

double ring_latency(const Call& call, Protocol protocol) {
  const nccl::Latency& row = latency_of(Algorithm::Ring);
  const double rounds = call.kind == CollectiveKind::AllReduce ? 2 : 1;
  const double network_steps = rounds * (call.links.domains - 1);
  const double post = nccl::kNetOverhead * (protocol == Protocol::Simple ? 3 : 1);
  const double inside = inside_step(call, row, protocol);
  const double step = call.several_domains() ? std::max(inside, post) : inside;
  const double latency = row.base[index_of(protocol)] + (call.steps - network_steps) * step +
                         network_steps * network_step(call, row, protocol);
  const bool plateau = protocol == Protocol::Simple && call.several_domains() &&
                       call.kind == CollectiveKind::AllReduce &&
                       call.bytes >= nccl::kPlateauBytes * call.channels * call.links.ranks;
  if (mutant("a-ring-has-no-latency")) return 0;
  return (plateau ? latency * call.architecture.plateau : latency) +
         rounds * tier_latency(call, around_a_ring);
}

// --- tree (all-reduce)
// --------------------------------------------------------------------------------------------

/// Between the table's sizes the share is interpolated, so that time never falls as size grows.
double tree_correction(double bytes, Protocol protocol) {
  const double at = std::log2(std::max(bytes, 64.0) / 64.0);
  const auto& table = nccl::kTreeCorrection[index_of(protocol)];
  if (at >= static_cast<double>(nccl::kTreeSizes - 1)) {
    return table.back();
  }
  const auto below = static_cast<std::size_t>(at);
  return table[below] + (at - static_cast<double>(below)) * (table[below + 1] - table[below]);
}

double tree_rate(const Call& call, Protocol protocol) {
  const Architecture& a = call.architecture;
  double bus = call.links.per_domain > 1 ? call.links.inside : std::numeric_limits<double>::infinity();
  if (call.several_domains()) {
    bus = std::min(bus,
                   call.links.outside * (call.nodes_index == 1 ? 2 : 1));  // two nodes: leaf and root at once
  }
  bus = std::min(bus * nccl::kTreeShare, kGiga * call.channels * a.tree[call.nodes_index]);
  switch (protocol) {
    case Protocol::LL:
      bus = std::min(
          bus * nccl::kTreeLlShare,
          kGiga * (call.several_domains() ? nccl::kLlMaxNetwork[call.nodes_index] : a.ll_max_one_node));
      break;
    case Protocol::LL128:
      bus = std::min(bus * (call.several_domains() ? nccl::kTreeLl128Nodes : nccl::kTreeLl128OneNode),
                     kGiga * call.channels * a.tree_ll128[call.nodes_index]);
      break;
    case Protocol::Simple:
      break;
  }
  return 0.5 * bus * tree_correction(call.bytes, protocol);
}

double tree_latency(const Call& call, Protocol protocol) {
  const nccl::Latency& row = latency_of(Algorithm::Tree);
  return row.base[index_of(protocol)] +
         2 * ((call.links.per_domain - 1) * inside_step(call, row, protocol) +
              std::floor(std::log2(call.links.domains)) * network_step(call, row, protocol)) +
         2 * tier_latency(call, down_a_tree);
}

// --- NVLS, NVLSTree, PAT: Simple only
// -----------------------------------------------------------------------------

double nvls_rate(const Call& call, Protocol) {
  return call.links.inside * call.architecture.nvls_share;
}
double nvls_latency(const Call& call, Protocol) {
  return inside_step(call, latency_of(Algorithm::Nvls), Protocol::Simple);
}

double nvls_tree_rate(const Call& call, Protocol protocol) {
  const double outside = call.links.outside * (call.nodes_index == 1 ? 2 : 1);
  const double ceiling = kGiga * call.links.per_domain * call.architecture.nvls_tree[call.nodes_index];
  const double rate = std::min(nvls_rate(call, protocol), payload_rate(call, std::min(outside, ceiling)));
  return rate * (call.architecture.nvls_tree_corrected ? tree_correction(call.bytes, protocol) : 1.0);
}
double nvls_tree_latency(const Call& call, Protocol protocol) {
  const nccl::Latency& row = latency_of(Algorithm::NvlsTree);
  return inside_step(call, row, protocol) +
         2 * std::floor(std::log2(call.links.domains)) * network_step(call, row, protocol) +
         2 * tier_latency(call, down_a_tree);
}

double pat_rate(const Call& call, Protocol) {
  return nccl::kPatShare * call.links.outside;
}
double pat_latency(const Call& call, Protocol protocol) {
  const nccl::Latency& row = latency_of(Algorithm::Pat);
  return row.base[index_of(protocol)] +
         std::floor(std::log2(call.links.domains)) * network_step(call, row, protocol) * nccl::kPatHopShare +
         nccl::kPatLinear * call.links.ranks + tier_latency(call, down_a_tree);
}

// --- choice
// -------------------------------------------------------------------------------------------------------

bool any_call(const Call&) {
  return true;
}
bool is_all_reduce(const Call& call) {
  return call.kind == CollectiveKind::AllReduce;
}
bool has_nvls(const Call& call) {
  return is_all_reduce(call) && call.links.multicast && !call.several_domains();
}
bool has_nvls_tree(const Call& call) {
  return is_all_reduce(call) && call.links.multicast && call.several_domains() && call.links.per_domain > 1;
}
bool has_pat(const Call& call) {
  return call.gathers_or_scatters() && call.several_domains() && call.links.per_domain <= 1;
}

struct Candidate {
  Algorithm algorithm;
  Protocol first;  // protocols first … Simple
  bool (*applies)(const Call&);
  double (*rate)(const Call&, Protocol);
  double (*latency)(const Call&, Protocol);
};
constexpr std::array<Candidate, 5> kCandidates = {{
    {Algorithm::Ring, Protocol::LL, any_call, ring_rate, ring_latency},
    {Algorithm::Tree, Protocol::LL, is_all_reduce, tree_rate, tree_latency},
    {Algorithm::Nvls, Protocol::Simple, has_nvls, nvls_rate, nvls_latency},
    {Algorithm::NvlsTree, Protocol::Simple, has_nvls_tree, nvls_tree_rate, nvls_tree_latency},
    {Algorithm::Pat, Protocol::Simple, has_pat, pat_rate, pat_latency},
}};

/// No algorithm moves less than this through a node's cards: the fastest payload rate there can be.
double card_bound(const Call& call) {
  if (!call.several_domains()) {
    return std::numeric_limits<double>::infinity();
  }
  const double share = (call.links.domains - 1) / call.links.domains;
  const double passes = call.kind == CollectiveKind::AllReduce   ? 2 * share
                        : call.kind == CollectiveKind::Broadcast ? 1
                                                                 : share;
  return call.links.outside / passes;
}

bool available(const Candidate& candidate, Protocol protocol, const Call& call) {
  const bool whole_stores = !call.links.pcie;  // 128 bytes arrive at once over NVLink only
  return protocol >= candidate.first && (protocol != Protocol::LL128 || whole_stores);
}

CollectiveCost price(const Candidate& candidate, Protocol protocol, const Call& call, double bound) {
  const double rate = std::min(bound, candidate.rate(call, protocol));
  return {Seconds{candidate.latency(call, protocol) * kMicrosecond + call.bytes / rate}, candidate.algorithm,
          protocol, false};
}

/// The cheaper of `best` and what `candidate` offers.
CollectiveCost cheaper(const CollectiveCost& best, const Candidate& candidate, const Call& call,
                       double bound) {
  CollectiveCost result = best;
  for (const Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
    if (available(candidate, protocol, call)) {
      const CollectiveCost cost = price(candidate, protocol, call, bound);
      result = cost.time.value() < result.time.value() ? cost : result;
    }
  }
  return result;
}

CollectiveCost cheapest(const Call& call) {
  const double bound = card_bound(call);
  CollectiveCost best{Seconds{std::numeric_limits<double>::infinity()}};
  for (const Candidate& candidate : kCandidates) {
    if (candidate.applies(call)) {
      best = cheaper(best, candidate, call, bound);
    }
  }
  return best;
}

/// What single messages take longer: through tiers, and over NVLink to the card of another rail.
double detour(const Call& call, const nccl::Latency& row) {
  const double inside = call.links.forwards ? inside_step(call, row, Protocol::Simple) : 0;
  return inside + tier_latency(call, directly);
}

/// Of the pieces that a member sends, those that travel over its NVLink: to its domain, and to the cards of
/// other rails there.
double pieces_inside(const GroupLinks& links) {
  const double own = links.per_domain - 1;
  return links.forwards ? own + (links.ranks - links.per_domain) * own / links.per_domain : own;
}

/// Grouped sends and receives: the parts inside the domain, through the cards and through every tier run side
/// by side.
Seconds all_to_all_time(const Call& call) {
  const GroupLinks& links = call.links;
  const nccl::Latency& row = latency_of(Algorithm::Ring);
  const double each = call.bytes / links.ranks;
  double time = 0;
  double latency = row.base[index_of(Protocol::LL)] + nccl::kPeerPost * (links.per_domain - 1);
  if (links.per_domain > 1) {
    const double share = links.pcie ? 1.0 : nccl::kPeerShare / call.architecture.nvlink_efficiency;
    time = each * pieces_inside(links) / (links.inside * share);
  }
  if (call.several_domains()) {
    const double cards = links.cards * call.exchange_share;
    time = std::max(time, each * (links.ranks - links.per_domain) * links.per_domain / cards);
    latency +=
        network_step(call, row, Protocol::Simple) + nccl::kNetOverhead * (links.ranks - links.per_domain);
  }
  for (std::size_t i = 0; i < links.tier_count; ++i) {
    const CrossedTier& tier = links.tiers[i];
    time = std::max(time, each * (links.ranks - tier.members) * tier.members / tier.rate);
  }
  return Seconds{(latency + detour(call, row)) * kMicrosecond + time};
}

/// Neighbours of a ring or pipeline move together, so the farthest pair sets the pace.
Seconds send_time(const Call& call) {
  const nccl::Latency& row = latency_of(Algorithm::Ring);
  const bool outside = call.several_domains();
  const double rate = outside ? call.links.outside_pair * call.pair_share : call.links.inside_pair;
  const double step =
      outside ? network_step(call, row, Protocol::Simple) : inside_step(call, row, Protocol::Simple);
  return Seconds{(row.base[index_of(Protocol::LL)] + step + detour(call, row)) * kMicrosecond +
                 call.bytes / rate};
}

}  // namespace

CollectiveCost nccl_cost(CollectiveKind kind, Bytes payload, const GroupLinks& links,
                         const Architecture& architecture, const NetworkModel& network) {
  const Call call = make_call(kind, payload.value(), links, architecture, network);
  CollectiveCost cost;
  switch (kind) {
    case CollectiveKind::AllToAll:
      cost = {all_to_all_time(call), Algorithm::Direct, Protocol::Simple, false};
      break;
    case CollectiveKind::SendRecv:
      cost = {send_time(call), Algorithm::Direct, Protocol::Simple, false};
      break;
    default:
      cost = cheapest(call);
  }
  if (call.several_domains()) {
    cost.time += network.base_latency;
  }
  return cost;
}

}  // namespace hexaplan::costmodel
