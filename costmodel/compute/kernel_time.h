#pragma once
#include "costmodel/calibrate/calibration.h"
#include "costmodel/compute/operation.h"
#include "costmodel/spec/cluster_spec.h"

namespace hexaplan::costmodel {

/// Time of one GEMM (batched: `shape.batch` of them in one launch) on `gpu`: the larger of compute at the
/// calibrated rate and memory traffic, plus the exposed part of adding into C, plus the launch floor. Casts
/// to fp8 or fp4 are memory-bound operations of their own.  [docs/formulas.md#T1] Never decreases with m, n,
/// k or batch. Precondition: m, n, k, batch >= 1. No allocation.
[[nodiscard]] Seconds gemm_time(const GemmShape& shape, Precision precision, const GpuSpec& gpu,
                                const Calibration& calibration);

/// The same of products of signed 8-bit integers: at the datasheet's rate for them and the efficiency of
/// 8-bit floats, for want of a measured curve; where no rate is known, as 16-bit floats.
/// [docs/formulas.md#T12]
[[nodiscard]] Seconds integer_gemm_time(const GemmShape& shape, const GpuSpec& gpu,
                                        const Calibration& calibration);

/// What `gpu` computes `precision` in: devices without a unit for it convert up and run the nearest wider
/// one.
[[nodiscard]] Precision executed_precision(Precision precision, const GpuSpec& gpu);

/// Area of C that the GPU is busy with: whole tiles of the cheapest kernel, the last wave partly as a full
/// one.  [docs/formulas.md#T1]  What the correction of the curve is read at.
[[nodiscard]] double quantised_area(const GemmCurve& curve, const GemmShape& shape, int sm_count);

enum class Direction : std::uint8_t { Forward, Backward };
/// Time of fused attention.  [docs/formulas.md#T2]  FLOPs: 2·pairs·heads·batch·(d+d_v) forward, 2.5×
/// backward. Few heads on a short sequence leave SMs idle. Precondition: batch, heads, seq_q, pairs > 0. No
/// allocation.
[[nodiscard]] Seconds attention_time(const AttentionShape& shape, Direction direction, Precision precision,
                                     const GpuSpec& gpu, const Calibration& calibration);

/// Products of a recurrence, chunk by chunk: the longer of their FLOPs and their traffic. Nobody has measured
/// a curve; FLOPs run at a share of FlashAttention-2's rate, those `by_elements` at one of fp32's beside the
/// tensor cores.  [docs/formulas.md#T15]
[[nodiscard]] Seconds scan_time(Flops flops, Bytes bytes, bool by_elements, Direction direction,
                                Precision precision, const GpuSpec& gpu, const Calibration& calibration);

/// Time of a memory-bound kernel that moves `bytes` (reads + writes).  [docs/formulas.md#T3]
[[nodiscard]] Seconds memory_bound_time(Bytes bytes, const GpuSpec& gpu, const Calibration& calibration);

/// Time of the optimizer's kernels, which read and write `bytes`: by their own curve where one was measured,
/// else as other memory-bound kernels.  [docs/formulas.md#T7]
[[nodiscard]] Seconds optimizer_time(Bytes bytes, const GpuSpec& gpu, const Calibration& calibration);

}  // namespace hexaplan::costmodel
