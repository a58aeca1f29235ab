#include "costmodel/compute/kernel_time.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <span>

#include "costmodel/units/ceil_div.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel {
namespace {

/// Of the peak, forward, without a measurement; backward 0.85 of it, as on A100.
constexpr double kPriorAttentionShare = 0.30;

/// Fused attention that draws a random number per score. Estimate: Philox's ten rounds give 16 bytes, one per
/// score, about 7 integer operations of 64 lanes each beside 4·d FLOPs of the tensor cores forward and 10·d
/// backward.
constexpr double kDropoutForward = 1.3, kDropoutBackward = 1.15;

/// Position on an axis: the knot at or below, and how far to the next one in [0, 1].
struct Cell {
  std::size_t index = 0;
  double weight = 0;
};

Cell locate(std::span<const double> knots, double x) {
  if (knots.size() < 2 || x <= knots.front()) {
    return {};
  }
  if (x >= knots.back()) {
    return {knots.size() - 2, 1.0};
  }
  std::size_t i = 0;
  while (x >= knots[i + 1]) {  // a dozen knots at most
    ++i;
  }
  return {i, (x - knots[i]) / (knots[i + 1] - knots[i])};
}

double interpolate(std::span<const double> knots, std::span<const double> values, double x) {
  if (values.size() < 2) {
    return values.empty() ? 0.0 : values.front();
  }
  const Cell cell = locate(knots, x);
  return values[cell.index] + cell.weight * (values[cell.index + 1] - values[cell.index]);
}

double correction(const GemmCurve& curve, double area, double k) {
  if (curve.correction.empty()) {
    return 0.0;
  }
  const Cell row = locate(curve.area.log2, std::log2(area));
  const Cell column = locate(curve.depth.log2, std::log2(k));
  const std::size_t stride = curve.depth.log2.size();
  const double* corner = curve.correction.data() + row.index * stride + column.index;
  const double low = corner[0] + column.weight * (corner[1] - corner[0]);
  const double high = corner[stride] + column.weight * (corner[stride + 1] - corner[stride]);
  return low + row.weight * (high - low);
}

/// Bytes per element of A and B as the tensor cores read them.
double operand_bytes(Precision precision) {
  switch (precision) {
    case Precision::Fp32:
    case Precision::Tf32:
      return 4.0;
    case Precision::Fp16:
    case Precision::Bf16:
      return 2.0;
    case Precision::Nvfp4:
      return 0.5 + 1.0 / 16;  // one fp8 scale per 16 elements
    default:
      return 1.0;
  }
}

/// The next wider type of the tensor cores.
Precision wider(Precision precision) {
  switch (precision) {
    case Precision::Nvfp4:
      return Precision::Fp8;
    case Precision::Fp8:
    case Precision::Fp8Block:
    case Precision::Mxfp8:
      return Precision::Bf16;
    case Precision::Bf16:
      return Precision::Fp16;
    default:
      return Precision::Fp32;
  }
}

FlopsPerSecond peak_rate(Precision precision, const GpuSpec& gpu) {
  const FlopsPerSecond peak = gpu.peak_of(precision);
  return peak.value() > 0 ? peak : gpu.peak_vector;
}

/// Rows that do not start at 16 bytes: the tensor cores are fed in smaller pieces (a vocabulary of 50,257
/// instead of 50,304 costs nanoGPT a quarter of its step); batched GEMMs fall back to the vector units
/// (BLOOM's heads of 225 elements: bigscience train/tr11-176B-ml chronicles, "choosing the fastest
/// topology").
FlopsPerSecond rate_of_alignment(const GemmShape& shape, FlopsPerSecond aligned, const GpuSpec& gpu) {
  constexpr std::int64_t kAligned = 8;
  constexpr double kUnalignedShare = 0.5, kUnalignedVectorShare = 0.6;
  if (shape.alignment >= kAligned) return aligned;
  if (shape.batch == 1 || gpu.peak_vector.value() <= 0) return kUnalignedShare * aligned;
  return std::min(kUnalignedShare * aligned, kUnalignedVectorShare * gpu.peak_vector);
}

double element_bytes(Precision precision) {
  return bytes_per_element(activation_dtype(precision));
}

/// The library's own curve first, then that of its neighbours in speed.
double library_distance(AttentionLibrary a, AttentionLibrary b) {
  return 100.0 * std::abs(static_cast<double>(a) - static_cast<double>(b));
}

Seconds time_along(const MemoryCurve& curve, Bytes bytes, const GpuSpec& gpu,
                   const Calibration& calibration) {
  return larger(curve.ramp + bytes / (curve.share * gpu.memory_bandwidth), calibration.launch_floor);
}

/// Rate against causal attention of as many keys per query. Blocks with and without a mask follow one
/// another.
double rate_of_mask(const AttentionShape& shape, const Calibration& calibration) {
  if (shape.window > 0) return calibration.attention_windowed;
  const double unmasked = shape.causal && !mutant("causal-attention-costs-all-pairs") ? shape.unmasked : 1;
  return 1 / (1 - unmasked + unmasked / calibration.attention_unmasked);
}

const AttentionCurve* nearest_curve(const Calibration& calibration, AttentionLibrary library,
                                    double head_dim) {
  const AttentionCurve* best = nullptr;
  double best_distance = 0;
  for (const AttentionCurve& curve : calibration.attention) {
    const double ratio = static_cast<double>(curve.head_dim) / head_dim;
    const double distance = (ratio > 1 ? ratio : 1 / ratio) + library_distance(curve.library, library);
    if (best == nullptr || distance < best_distance) {
      best = &curve;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace

Precision executed_precision(Precision precision, const GpuSpec& gpu) {
  while (gpu.peak_of(precision).value() <= 0 && precision != Precision::Fp32) {
    precision = wider(precision);
  }
  return precision;
}

double quantised_area(const GemmCurve& curve, const GemmShape& shape, int sm_count) {
  const double sms = sm_count > 0 ? sm_count : 1.0;
  double best = 0;
  for (const GemmTile& tile : curve.tiles) {
    const double tiles = std::ceil(static_cast<double>(shape.m) / tile.m) *
                         std::ceil(static_cast<double>(shape.n) / tile.n) * static_cast<double>(shape.batch);
    const double rounded = mutant("products-ignore-wave-quantisation") ? tiles : std::ceil(tiles / sms) * sms;
    const double busy = tiles + curve.quantisation * (rounded - tiles);
    const double area = tile.cost * busy * tile.m * tile.n;
    best = best == 0 || area < best ? area : best;
  }
  return best;
}

namespace {

/// Kernels that widen weights as they read them take 16 rows at a time, up to 64, and near the rate of memory
/// for few of them, since the SMs share columns and depth of a product (arXiv:2408.11743, "Marlin"; 64: from
/// memory of its thread_m_blocks, unverified). Beyond that they are as any other product, as vLLM warns:
/// "may degrade performance for compute-heavy workloads".
double busy_area(const GemmCurve& curve, const GemmShape& shape, int sm_count) {
  constexpr std::int64_t kRows = 16, kMostRows = 64;
  const double area = quantised_area(curve, shape, sm_count);
  if (shape.narrow_bytes <= 0 || shape.m > kMostRows) return area;
  const auto rows = static_cast<double>(ceil_div(shape.m, kRows) * kRows);
  return std::min(area, rows * static_cast<double>(shape.n) * static_cast<double>(shape.batch));
}

}  // namespace

Seconds gemm_time(const GemmShape& shape, Precision precision, const GpuSpec& gpu,
                  const Calibration& calibration) {
  assert(shape.m >= 1 && shape.n >= 1 && shape.k >= 1 && shape.batch >= 1);
  const Precision executed = executed_precision(precision, gpu);
  const GemmCurve& curve = calibration.gemm[static_cast<std::size_t>(executed)];
  const double m = static_cast<double>(shape.m), n = static_cast<double>(shape.n);
  const double k = static_cast<double>(shape.k), batch = static_cast<double>(shape.batch);

  const double area = busy_area(curve, shape, gpu.sm_count);
  const double share = curve.share * calibration.sustained * curve.sustained *
                       (shape.batch > 1 ? calibration.grouped : 1.0) * std::exp2(correction(curve, area, k));
  const FlopsPerSecond rate = rate_of_alignment(shape, share * peak_rate(executed, gpu), gpu);
  const Seconds compute = Flops{2.0 * area * (k + curve.k_half)} / rate;

  const BytesPerSecond bandwidth = calibration.memory.share * gpu.memory_bandwidth;
  const double wide = operand_bytes(executed), weight = shape.narrow_bytes > 0 ? shape.narrow_bytes : wide;
  const Bytes traffic{batch * (wide * m * k + weight * k * n + element_bytes(executed) * m * n)};
  const Bytes accumulate{batch * m * n * shape.accumulate_bytes};
  return larger(compute, traffic / bandwidth) + calibration.accumulate_exposed * (accumulate / bandwidth) +
         calibration.launch_floor;
}

Seconds integer_gemm_time(const GemmShape& shape, const GpuSpec& gpu, const Calibration& calibration) {
  if (gpu.peak_integer.value() <= 0) return gemm_time(shape, Precision::Bf16, gpu, calibration);
  GpuSpec of_integers = gpu;
  of_integers.peak[static_cast<std::size_t>(Precision::Fp8)] = gpu.peak_integer;
  return gemm_time(shape, Precision::Fp8, of_integers, calibration);
}

Seconds attention_time(const AttentionShape& shape, Direction direction, Precision precision,
                       const GpuSpec& gpu, const Calibration& calibration) {
  assert(shape.batch >= 1 && shape.heads >= 1 && shape.seq_q >= 1 && shape.pairs > 0);
  const bool forward = direction == Direction::Forward;
  const double v_head_dim = static_cast<double>(shape.v_head_dim > 0 ? shape.v_head_dim : shape.head_dim);
  const double head_dims = static_cast<double>(shape.head_dim) + v_head_dim;
  const Precision half = executed_precision(is_quantized(precision) ? Precision::Bf16 : precision, gpu);

  // What the curve was measured over: causal sequences of s keys have s/2 keys per query.
  const double queries = static_cast<double>(shape.seq_q);
  const double sequence = 2.0 * shape.pairs / queries;
  const AttentionCurve* curve = nearest_curve(calibration, shape.library, 0.5 * head_dims);
  double share = forward ? kPriorAttentionShare : 0.85 * kPriorAttentionShare, rows = 128;
  if (curve != nullptr) {
    share =
        interpolate(curve->sequence.log2, forward ? curve->forward : curve->backward, std::log2(sequence));
    rows = forward ? curve->tile_rows_forward : curve->tile_rows_backward;
  }

  // All SMs share the work, but none finishes before the longest tile: with causal masks a row of all keys.
  const double flops_per_pair = (forward ? 2.0 : 5.0) * head_dims;
  const double heads = static_cast<double>(shape.batch * shape.heads);
  const double visible = static_cast<double>(shape.seq_kv);
  const double keys = shape.window > 0 ? std::min(static_cast<double>(shape.window), visible) : visible;
  const double longest_pairs = std::min(std::min(rows, queries) * std::max(keys, 1.0), shape.pairs);
  const FlopsPerSecond rate =
      share * calibration.attention_rate * rate_of_mask(shape, calibration) * peak_rate(half, gpu);
  const Seconds busy = Flops{flops_per_pair * shape.pairs * heads} / rate;
  const Seconds longest = Flops{flops_per_pair * longest_pairs * std::max(gpu.sm_count, 1)} / rate;
  const double random = !shape.dropout ? 1.0 : forward ? kDropoutForward : kDropoutBackward;
  const Seconds compute{random * std::hypot(busy.value(), longest.value())};

  const double query_side = queries * heads * head_dims;
  const double key_side = visible * static_cast<double>(shape.batch * shape.kv_heads) * head_dims;
  const Bytes traffic{element_bytes(half) * (query_side + key_side) * (forward ? 1.0 : 2.5)};
  return larger(compute, traffic / (calibration.memory.share * gpu.memory_bandwidth)) +
         calibration.launch_floor;
}

Seconds scan_time(Flops flops, Bytes bytes, bool by_elements, Direction direction, Precision precision,
                  const GpuSpec& gpu, const Calibration& calibration) {
  if (by_elements) {
    // "faster than … FlashAttention-2 beyond sequence length 2K" (arXiv:2312.00752 section 4.5, A100, states
    // of 16 rows): there 7·16 FLOPs of a token and channel take as long as attention's 4·1024, whose kernel
    // runs 137 TFLOP/s (arXiv:2307.08691 figure 5, causal, heads of 64; from memory) of fp32's 19.5.
    constexpr double kShareOfVectors = 7.0 * 16 / (4 * 1024) * 137 / 19.5;
    return larger(flops / (kShareOfVectors * gpu.peak_vector), memory_bound_time(bytes, gpu, calibration));
  }
  // "SSD is … faster than FlashAttention-2 for sequence length 2k and above" (arXiv:2405.21060 figure 10,
  // left: heads of 64, a state of 64 rows, chunks of 256): there both take the same time, attention for
  // 4·64·1024 FLOPs of a token and head, the scan for 2·256·64 + 4·64·64.
  constexpr double kSequence = 2048, kWidth = 64, kChunk = 256;
  constexpr double kScanOverAttention =
      (2 * kChunk * kWidth + 4 * kWidth * kWidth) / (4 * kWidth * kSequence / 2);
  constexpr std::int64_t kHeads = 512;  // enough to fill any GPU
  const AttentionShape attention{.batch = 1,
                                 .heads = kHeads,
                                 .kv_heads = kHeads,
                                 .seq_q = static_cast<std::int64_t>(kSequence),
                                 .seq_kv = static_cast<std::int64_t>(kSequence),
                                 .head_dim = static_cast<std::int64_t>(kWidth),
                                 .v_head_dim = static_cast<std::int64_t>(kWidth),
                                 .pairs = kSequence * kSequence / 2,
                                 .library = AttentionLibrary::FlashAttention2};
  const double per_pair = (direction == Direction::Forward ? 4.0 : 10.0) * kWidth;
  const Flops of_attention{per_pair * attention.pairs * static_cast<double>(kHeads)};
  const FlopsPerSecond rate =
      kScanOverAttention * (of_attention / attention_time(attention, direction, precision, gpu, calibration));
  return larger(flops / rate, memory_bound_time(bytes, gpu, calibration));
}

Seconds memory_bound_time(Bytes bytes, const GpuSpec& gpu, const Calibration& calibration) {
  return time_along(calibration.memory, bytes, gpu, calibration);
}

Seconds optimizer_time(Bytes bytes, const GpuSpec& gpu, const Calibration& calibration) {
  const bool own = calibration.optimizer.share > 0;
  return time_along(own ? calibration.optimizer : calibration.memory, bytes, gpu, calibration);
}

}  // namespace hexaplan::costmodel
