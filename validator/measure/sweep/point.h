#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/compute/operation.h"
#include "costmodel/spec/dtype.h"
#include "costmodel/units/quantity.h"
#include "validator/executor/device/device_fact.h"

namespace hexaplan::validator {

/// What can be measured; each belongs to one curve of costmodel::Calibration.
enum class PointKind : std::uint8_t {
  Gemm,
  GroupedGemm,
  SustainedGemm,  // after seconds of the same: power and clocks
  AttentionForward,
  AttentionBackward,
  MemoryBound,
  Launch,      // a kernel that does next to nothing, back to back
  Collective,  // per call, the slowest rank's
  Overlap,     // a GEMM while a collective runs beside it
};
inline constexpr int kPointKinds = 9;
[[nodiscard]] std::string_view name_of(PointKind kind);

/// Memory-bound operations of a training step.
enum class MemoryStep : std::uint8_t {
  Copy,
  Add,
  RmsNorm,
  RmsNormBackward,
  SwiGlu,
  SwiGluBackward,
  Rope,
  SquaredNorm,
  AdamW,
  LossGradient,
  Embedding,
  GatherRows,  // tokens to experts
  Cast,        // fp32 to what activations are in
};
inline constexpr int kMemorySteps = 13;
[[nodiscard]] std::string_view name_of(MemoryStep step);
/// Bytes that it reads and writes per element of its result (of the parameters, for the optimizer), as the
/// operation list counts them: activations in bf16, gradients and states in fp32.
[[nodiscard]] double traffic_per_element(MemoryStep step);

/// As users write it: "fp8".

/// One thing to measure.
struct Point {
  PointKind kind = PointKind::Gemm;
  costmodel::Precision precision = costmodel::Precision::Bf16;  // quantized: GEMMs alone, result in bf16
  /// GEMMs: how the operands lie, and whether C is added to (gemm.accumulate_bytes).
  costmodel::Pass pass = costmodel::Pass::Forward;
  costmodel::GemmShape gemm;
  costmodel::AttentionShape attention;
  MemoryStep step = MemoryStep::Copy;
  std::int64_t elements = 0;  // MemoryBound
  costmodel::CollectiveKind collective = costmodel::CollectiveKind::AllReduce;
  int ranks = 1, nodes = 1;
  int stride = 1;            // between the world ranks of a group
  int groups = 1;            // that do the same at the same time
  costmodel::Bytes payload;  // nccl-tests' convention
};

/// The same for equal points, different for others: what a measurement is stored under.
/// "gemm bf16 forward 4096x6144x4096".
[[nodiscard]] std::string name_of(const Point& point);
/// FLOPs of one execution; 0 for what moves bytes only.
[[nodiscard]] costmodel::Flops flops_of(const Point& point);
/// Bytes that one execution reads and writes at least.
[[nodiscard]] costmodel::Bytes traffic_of(const Point& point);

/// A point and every repetition of it.
struct Measurement {
  Point point;
  std::vector<double> seconds;
  std::optional<DeviceState> state;  // of the device while the last sample ran
  [[nodiscard]] double median() const;
  /// Half the distance between the quartiles, over the median.
  [[nodiscard]] double spread() const;
};

}  // namespace hexaplan::validator
