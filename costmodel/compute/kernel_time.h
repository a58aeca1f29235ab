#pragma once
#include "costmodel/calibrate/calibration.h"
#include "costmodel/compute/operation.h"
#include "costmodel/spec/cluster_spec.h"

namespace hexaplan::costmodel {

/// Time of one GEMM (batched: `shape.batch` of them) on `gpu`: max of compute at the calibrated rate and memory
/// traffic, plus the launch floor.  [docs/formulas.md#T1]  Precondition: m, n, k, batch >= 1. No allocation.
[[nodiscard]] Seconds gemm_time(const GemmShape& shape, Precision precision, const GpuSpec& gpu,
                                const Calibration& calibration);

enum class Direction : std::uint8_t { Forward, Backward };
/// Time of fused attention.  [docs/formulas.md#T2]  FLOPs: 2·pairs·heads·batch·(d+d_v) forward, 2.5× backward.
[[nodiscard]] Seconds attention_time(const AttentionShape& shape, Direction direction, Precision precision,
                                     const GpuSpec& gpu, const Calibration& calibration);

/// Time of a memory-bound kernel that moves `bytes` (reads + writes).  [docs/formulas.md#T3]
[[nodiscard]] Seconds memory_bound_time(Bytes bytes, const GpuSpec& gpu, const Calibration& calibration);

}  // namespace hexaplan::costmodel
