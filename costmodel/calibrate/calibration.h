#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "costmodel/compute/operation.h"
#include "costmodel/spec/dtype.h"
#include "costmodel/units/quantity.h"

namespace hexaplan::costmodel {

enum class Provenance : std::uint8_t {
  Measured,  // curves measured on this GPU type
  Borrowed,  // curves of a sibling, scaled by the datasheets
  Prior,     // no measurement: a fitted prior
};

/// Monotone grid of log2 coordinates; `value` is read by multilinear interpolation, clamped at the edges.
struct Axis1d {
  std::vector<double> log2;
};

/// GEMM efficiency over the wave-quantised peak (docs/formulas.md#T1), on a grid in log2 m, n, k (values in
/// row-major m, n, k order). Empty grid: `base·k/(k+k0)`.
struct GemmCurve {
  Axis1d m, n, k;
  std::vector<double> efficiency;
  double base = 0.80;           // prior: share of peak for large shapes
  double k_half = 128;          // prior: k at which half of `base` is reached
  int tile_m = 128, tile_n = 128;
  Provenance provenance = Provenance::Prior;
};

/// Share of the peak of `Precision` reached by fused attention, by log2 sequence, per head dim.
struct AttentionCurve {
  std::int64_t head_dim = 128;
  Axis1d sequence;
  std::vector<double> forward;   // causal FLOPs halved
  std::vector<double> backward;  // 2.5 × forward FLOPs
  Provenance provenance = Provenance::Prior;
};

/// Share of the datasheet bandwidth reached by memory-bound kernels, by log2 bytes.
struct MemoryCurve {
  Axis1d bytes;
  std::vector<double> efficiency;
  Provenance provenance = Provenance::Prior;
};

/// Measured bus bandwidth of one collective on `ranks` GPUs of one node, by log2 size (nccl-tests convention).
struct CollectiveCurve {
  CollectiveKind kind = CollectiveKind::AllReduce;
  std::int64_t ranks = 0;
  Axis1d size;                    // bytes
  std::vector<double> microseconds;
};

/// How the network between nodes performs, relative to its datasheet.
struct NetworkModel {
  double bandwidth_efficiency = 0.80;  // attained share of the NIC rate for large messages
  Seconds base_latency;                // added once per collective
  Seconds hop_latency;                 // per inter-node step
  double congestion_per_doubling = 0;  // bandwidth lost per doubling of nodes beyond `congestion_free_nodes`
  double congestion_free_nodes = 1;
};

/// Measured curves of one GPU type (or a prior). Data: written by `hexaplan calibrate` or fitted from published
/// measurements, read from presets/calibration/.
struct Calibration {
  std::string name;
  std::string gpu;     // preset it was measured on
  std::string source;  // one line: who, where, when
  std::string date;
  Provenance provenance = Provenance::Prior;

  std::array<GemmCurve, kPrecisionCount> gemm{};
  /// Training GEMMs run below short benchmarks on random data: power and clocks. Multiplies every GEMM and attention rate.
  double sustained = 1.0;
  std::vector<AttentionCurve> attention;
  MemoryCurve memory;
  std::vector<CollectiveCurve> collectives;  // intra-node
  NetworkModel network;
  Seconds launch_floor;          // shortest kernel, back to back
  Bytes context;                 // measured fixed overhead; 0 = the framework profile's

  // Residual spread (one standard deviation of log(measured/predicted)) for intervals.
  double time_sigma = 0.12;
  double memory_sigma = 0.03;
};

}  // namespace hexaplan::costmodel
