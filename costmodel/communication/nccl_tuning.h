#pragma once
#include <array>
#include <string_view>

#include "costmodel/communication/collective_time.h"

/// Figures of NCCL's own tuner, as it ships them (NVIDIA/nccl@5067397c, src/graph/tuning.cc and topo.h).
/// Times in microseconds, rates in GB/s (10^9), as there.
namespace hexaplan::costmodel::nccl {

inline constexpr std::size_t kProtocols = 3;
using ByProtocol = std::array<double, kProtocols>;  // LL, LL128, Simple
using ByNodes = std::array<double, 3>;              // one node, two, more

/// Latencies of one algorithm: fixed part, and one step over NVLink, PCIe, and the network.
struct Latency {
  Algorithm algorithm;
  ByProtocol base, nvlink, pcie, network;
};
inline constexpr std::array<Latency, 5> kLatencies = {{
    {Algorithm::Ring, {6.6, 14.0, 8.4}, {0.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14.0}},
    {Algorithm::Tree, {6.8, 14.0, 8.4}, {0.6, 1.25, 4.0}, {1.0, 1.9, 4.0}, {5.0, 8.5, 14.0}},
    {Algorithm::Nvls, {0, 0, 0}, {0, 0, 25}, {0, 0, 0}, {0, 0, 18}},
    {Algorithm::NvlsTree, {0, 0, 0}, {0, 0, 25}, {0, 0, 0}, {0, 0, 20.9}},
    {Algorithm::Pat, {8, 8, 8}, {0, 0, 4}, {0, 0, 4}, {0, 0, 14}},
}};

/// What the tuner and the ring search know of one GPU generation.
struct Architecture {
  std::string_view name;     // GpuSpec::architecture
  double nvlink_efficiency;  // attained share of a link: topo.h SMxx_NVLINK_BW over the datasheet
  double graph_channels;     // rings of an 8-GPU NVSwitch node before NCCL duplicates them
  double nvls_channels;      // transport/nvls.cc NVLS_NCHANNELS_*; 0 = no NVLS
  double nvls_share;         // payload rate of an NVLS all-reduce over `inside`, whatever the rank count
  double ll_max_one_node;
  ByNodes ring_ll128, tree_ll128, tree, nvls_tree;  // per-channel ceilings
  double plateau;                                   // latency factor of the multi-node Simple ring
  bool nvls_tree_corrected = false;                 // the tree's size correction applies to NVLSTree too
};
// Graph channels: 6 and 12 links of 25 GB/s at 20 each (V100, A100), 12 rings of 30 (H100); NCCL's logs then
// show 12 and 24 "coll channels". Blackwell's is taken as Hopper's.
// NVLS share: not the tuner's 0.85 and 0.74, which choose well but promise too much; fitted to
// stas00/ml-engineering
// @744d01e network/README.md, 8 GiB on 5 … 8 GPUs: 259 … 270 GB/s of payload on H200, 467 … 479 on B200.
// Ada has no NVLink and Ampere's kernels. RCCL derives from NCCL: CDNA reads Ampere's row, with the link
// share that makes AMD's acceptance figure of rccl-tests on 8 MI300X (304 of 448 GB/s) come out.
inline constexpr std::array<Architecture, 8> kArchitectures = {{
    {"ampere", 0.80, 12, 0, 0, 87.7, {20, 20, 20}, {20, 20, 20}, {24.0, 23.6, 17.8}, {0, 0, 0}, 1.4},
    {"hopper",
     0.824,
     12,
     16,
     0.715,
     141,
     {36.7, 36.7, 36.7},
     {36.7, 36.7, 29.0},
     {38.7, 41.4, 36.0},
     {0, 57.7, 45.5},
     1.4},
    {"blackwell",
     0.802,
     12,
     24,
     0.74,
     282,
     {40, 40, 40},
     {55.6, 31.67, 20},
     {70, 42.8, 24},
     {0, 96, 80},
     1.4,
     true},
    {"volta", 0.80, 6, 0, 0, 39.0, {20, 20, 20}, {20, 20, 20}, {26.5, 18.5, 10.0}, {0, 0, 0}, 1.9},
    {"ada", 0.80, 2, 0, 0, 87.7, {20, 20, 20}, {20, 20, 20}, {24.0, 23.6, 17.8}, {0, 0, 0}, 1.4},
    {"turing", 0.80, 2, 0, 0, 39.0, {20, 20, 20}, {20, 20, 20}, {26.5, 18.5, 10.0}, {0, 0, 0}, 1.9},
    {"cdna2", 0.68, 12, 0, 0, 87.7, {20, 20, 20}, {20, 20, 20}, {24.0, 23.6, 17.8}, {0, 0, 0}, 1.4},
    {"cdna3", 0.68, 14, 0, 0, 87.7, {36, 36, 36}, {36, 36, 36}, {36, 36, 36}, {0, 0, 0}, 1.4},
}};
/// Row of `name`; the first one for a name that is not there.
[[nodiscard]] constexpr const Architecture& architecture_of(std::string_view name) {
  for (const Architecture& row : kArchitectures) {
    if (row.name == name) {
      return row;
    }
  }
  return kArchitectures.front();
}

inline constexpr ByNodes kLlMaxNetwork = {39.0, 39.0, 20.4};  // [0] unused: one node goes by architecture
inline constexpr double kLl128Share = 0.92;                   // 120 of 128 bytes carry data
inline constexpr double kTreeShare = 0.92;
inline constexpr double kTreeLlShare = 1.0 / 3.8;
inline constexpr double kTreeLl128OneNode = 7.0 / 9.0;
inline constexpr double kTreeLl128Nodes = 120.0 / 128.0;
inline constexpr double kPatShare = 0.75;
inline constexpr double kNetOverhead = 1.0;  // per post of a send; Simple posts three
inline constexpr double kPlateauBytes = 64;  // per channel and rank
inline constexpr double kPatLinear = 2.8;    // per rank
inline constexpr double kPatHopShare = 1.0 / 3.5;
/// PCI_BW: 12 of the 15.75 GB/s of a Gen3 x16 link.
inline constexpr double kPcieEfficiency = 0.76;

/// Share of the tree's rate at 64 B · 2^i.
inline constexpr std::size_t kTreeSizes = 24;
inline constexpr std::array<std::array<double, kTreeSizes>, kProtocols> kTreeCorrection = {{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, 1},
}};

// Point-to-point transfers have no entry in the tuner. Fitted to nccl-tests alltoall on one node of A100,
// H100, H200, B200 (ai-dynamo/aiconfigurator@095f58a5, nccl_perf tables): 0.68, 0.70, 0.71, 0.62 of NVLink.
inline constexpr double kPeerShare = 0.68;
inline constexpr double kPeerPost = 0.25;  // us per further peer, same tables at 512 B on 2 … 8 GPUs

}  // namespace hexaplan::costmodel::nccl
