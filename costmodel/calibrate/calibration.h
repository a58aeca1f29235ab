#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "costmodel/program/collective_kind.h"
#include "costmodel/spec/attention_library.h"
#include "costmodel/spec/dtype.h"
#include "costmodel/units/quantity.h"

namespace hexaplan::costmodel {

enum class Provenance : std::uint8_t {
  Measured,  // curves measured on this GPU type
  Borrowed,  // curves of a sibling, scaled by the datasheets
  Prior,     // no measurement: a fitted prior
};

/// Knots of an interpolation, ascending, in log2 of the quantity. Reads outside are clamped to the ends.
struct Axis1d {
  std::vector<double> log2;
};

/// One kernel of a GEMM library: the tile of C that a thread block computes, and its cost per element of C
/// relative to the largest tile.
struct GemmTile {
  double m = 128;
  double n = 128;
  double cost = 1.0;
};

/// Rate of a GEMM as a share of the datasheet peak (docs/formulas.md#T1):
/// `share · k/(k + k_half) · 2^correction(area, k)`, over the area of C rounded up to whole waves of tiles.
struct GemmCurve {
  double share = 0.80;
  double sustained = 1.0;  // against Calibration::sustained, which bf16 sets: narrower types need less power
  double k_half = 192;     // k at which the tile loop takes as long as its prologue and epilogue
  double quantisation = 0.4;  // 0: partial waves cost what they compute; 1: a partial wave costs a whole one
  std::array<GemmTile, 4> tiles{{{256, 128, 1.0}, {128, 256, 1.0}, {128, 128, 1.1}, {64, 64, 1.5}}};
  Axis1d area;                     // log2 of the quantised area of C
  Axis1d depth;                    // log2 of k
  std::vector<double> correction;  // log2, row-major area × depth; empty: none
  Provenance provenance = Provenance::Prior;
};

/// Share of the peak that fused attention reaches with every SM busy, by keys per query
/// (docs/formulas.md#T2).
struct AttentionCurve {
  AttentionLibrary library = AttentionLibrary::Vendor;
  std::int64_t head_dim = 128;     // mean of q/k and v head sizes
  double tile_rows_forward = 128;  // queries (backward: keys) per thread block
  double tile_rows_backward = 128;
  Axis1d sequence;
  std::vector<double> forward;   // of 2·(d + d_v) FLOPs per pair that the mask keeps
  std::vector<double> backward;  // of 2.5 × as many
  Provenance provenance = Provenance::Prior;
};

/// Memory-bound kernels: `ramp + bytes / (share · bandwidth)` (docs/formulas.md#T3).
struct MemoryCurve {
  double share = 0.80;
  Seconds ramp{3e-6};  // until every SM has its first loads back, and the last stores are out
  Provenance provenance = Provenance::Prior;
};

/// Measured bus bandwidth of one collective on `ranks` GPUs of one node, by log2 size (nccl-tests
/// convention).
struct CollectiveCurve {
  CollectiveKind kind = CollectiveKind::AllReduce;
  std::int64_t ranks = 0;
  Axis1d size;  // bytes
  std::vector<double> microseconds;
};

/// How the network between nodes performs, relative to its datasheet.
struct NetworkModel {
  double bandwidth_efficiency = 0.80;  // attained share of the card's rate for large messages
  BytesPerSecond ceiling;              // most that one card attains, whatever its datasheet says; 0 = none
  Seconds base_latency;                // added once per collective
  Seconds hop_latency;  // per step between nodes, on top of NCCL's own; Simple waits for it twice
  double congestion_per_doubling = 0;  // bandwidth lost per doubling of nodes beyond `congestion_free_nodes`
  double congestion_free_nodes = 1;
  /// Rate of a card that is lost per doubling of the groups that share a node's cards at the same time
  /// (strided groups of data parallelism, pipelines); negative where they attain more than one group over
  /// whole nodes.
  double contention_per_doubling = 0;
  /// Of that rate: what messages between two GPUs attain, and all-to-alls, which are many of them at once.
  double pair_share = 1, exchange_share = 1;
};

/// Measured curves of one GPU type (or a prior). Data: written by `hexaplan calibrate` or fitted from
/// published measurements, read from presets/calibration/.
struct Calibration {
  std::string name;
  std::string gpu;     // preset it was measured on
  std::string source;  // one line: who, where, when
  std::string date;
  Provenance provenance = Provenance::Prior;

  std::array<GemmCurve, kPrecisionCount> gemm{};  // by Precision
  /// Long GEMMs of a training step against the short ones of a benchmark: power and clocks. Multiplies every
  /// GEMM rate.
  double sustained = 0.95;
  double grouped = 0.92;            // rate of a grouped GEMM (batch > 1) against one GEMM of the same area
  double accumulate_exposed = 0.5;  // share of the traffic of adding into C that the main loop does not hide
  std::vector<AttentionCurve> attention;
  /// Rate of attention without a mask, and of a sliding window, over that of causal attention at the same
  /// keys per query, which the curves are of.
  double attention_unmasked = 1.0, attention_windowed = 1.0;
  /// What runs of one's own said (run_constants.h): rate of attention over its curves, and of collectives
  /// inside a node over theirs.
  double attention_rate = 1.0, node_links = 1.0;
  MemoryCurve memory;
  /// The optimizer's update and the gradient norm: long runs over fp32 states. share 0: as `memory`.
  MemoryCurve optimizer{.share = 0, .ramp = {}};
  std::vector<CollectiveCurve> collectives;  // intra-node
  NetworkModel network;
  Seconds launch_floor{2e-6};  // between kernels, back to back; added to every GEMM and attention
  Bytes context;               // measured fixed overhead; 0 = the framework profile's

  // Residual spread (one standard deviation of log(measured/predicted)) for intervals.
  double time_sigma = 0.12;
  double memory_sigma = 0.03;
};

}  // namespace hexaplan::costmodel
