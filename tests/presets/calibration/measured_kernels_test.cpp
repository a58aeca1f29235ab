// Kernels as published, against the curves fitted to (mostly) other points of the same tables.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "costmodel/compute/kernel_time.h"
#include "presets/calibration/find_calibration.h"
#include "presets/gpus/gpu_preset.h"

namespace hexaplan::presets {
namespace {

using costmodel::AttentionLibrary;
using costmodel::AttentionShape;
using costmodel::Bytes;
using costmodel::Direction;
using costmodel::GemmShape;
using costmodel::Precision;

struct Machine {
  costmodel::GpuSpec gpu;
  costmodel::Calibration calibration;
};

const Machine& machine(const std::string& name) {
  static std::map<std::string, Machine> cache;
  const auto [entry, fresh] = cache.try_emplace(name);
  if (fresh) {
    entry->second.gpu = find_gpu(name);
    entry->second.calibration = find_calibration(entry->second.gpu);
  }
  return entry->second;
}

/// Cards of the A100 kind at the clocks of a kernel measured alone: what training sustains is less.
Machine alone(const std::string& name) {
  Machine on = machine(name);
  if (name.starts_with("a100")) on.calibration.sustained /= machine("a100-80-sxm").calibration.sustained;
  return on;
}

double gemm_us(const Machine& on, const GemmShape& shape) {
  return gemm_time(shape, Precision::Bf16, on.gpu, on.calibration).value() * 1e6;
}

/// Fails with the whole table when a row or the median of the rows is further off than allowed.
class Comparison {
 public:
  void add(const std::string& row, double measured, double predicted) {
    const double error = std::log(predicted / measured);
    errors_.push_back(std::abs(error));
    text_ += fmt::format("{:48} measured {:10.1f}  predicted {:10.1f}  {:+.1f} %\n", row, measured, predicted,
                         100 * (std::exp(error) - 1));
  }
  void expect(double median, double worst) {
    std::sort(errors_.begin(), errors_.end());
    EXPECT_LE(errors_[errors_.size() / 2], median) << text_;
    EXPECT_LE(errors_.back(), worst) << text_;
  }

 private:
  std::vector<double> errors_;
  std::string text_;
};

struct GemmRow {
  const char* gpu;
  std::int64_t m, n, k;
  double us;
};

// ai-dynamo/aiconfigurator@095f58a, GEMM tables, bf16; microseconds. Short runs, so without the sustained
// factor.
constexpr GemmRow kShortRuns[] = {
    {"a100-80-sxm", 2048, 3584, 1024, 88.4},
    {"a100-80-sxm", 1024, 12288, 6144, 609.2},
    {"a100-80-sxm", 2048, 3072, 5120, 255.0},
    {"a100-80-sxm", 2048, 12288, 8192, 1615.7},
    {"a100-80-sxm", 8192, 12288, 6144, 4816.1},
    {"a100-80-sxm", 2048, 12288, 5120, 1017.0},
    {"h100-80-sxm", 16384, 65536, 7168, 20788.0},
    {"h100-80-sxm", 3328, 3072, 6144, 187.6},
    {"h100-80-sxm", 16384, 16384, 7168, 5240.5},
    {"h100-80-sxm", 2048, 16384, 10240, 852.2},
    {"h100-80-sxm", 2304, 1536, 3072, 33.3},
    {"h100-80-sxm", 1280, 6144, 2560, 56.5},
    {"h200", 3584, 65536, 7168, 4436.1},
    {"h200", 3328, 3072, 6144, 175.1},
    {"h200", 16384, 16384, 7168, 5234.6},
    {"h200", 1536, 16384, 10240, 661.4},
    {"h200", 1792, 1536, 3072, 24.2},
    {"h200", 1536, 6144, 2560, 63.9},
    {"b200", 16384, 65536, 7168, 10526.6},
    {"b200", 3328, 3072, 6144, 85.0},
    {"b200", 16384, 16384, 7168, 2889.4},
    {"b200", 2048, 16384, 10240, 436.6},
    {"b200", 2048, 1536, 3072, 16.0},
    {"b200", 1536, 6144, 2560, 31.5},
    {"b300", 3840, 65536, 7168, 2509.9},
    {"b300", 3328, 3072, 6144, 76.8},
    {"b300", 16384, 16384, 7168, 2633.7},
    {"b300", 2304, 16384, 10240, 441.7},
    {"b300", 2304, 1536, 3072, 13.7},
    {"b300", 1536, 6144, 2560, 29.1},
    {"gb200", 3840, 65536, 7168, 2235.5},
    {"gb200", 3072, 3072, 6144, 69.2},
    {"gb200", 16384, 16384, 7168, 2117.1},
    {"gb200", 2304, 16384, 10240, 477.3},
    {"gb200", 2048, 1536, 3072, 14.1},
    {"gb200", 1536, 6144, 2560, 29.5},
    {"gb300", 3840, 65536, 7168, 2089.2},
    {"gb300", 3328, 3072, 6144, 69.9},
    {"gb300", 16384, 16384, 7168, 2064.7},
    {"gb300", 2048, 16384, 10240, 353.0},
    {"gb300", 2304, 1536, 3072, 13.7},
    {"gb300", 1536, 6144, 2560, 27.3},
    {"l40s", 3584, 65536, 7168, 16136.0},
    {"l40s", 2816, 3072, 6144, 420.4},
    {"l40s", 8192, 16384, 7168, 9532.9},
    {"l40s", 2048, 16384, 10240, 3492.5},
    {"l40s", 2560, 1536, 3072, 95.3},
    {"l40s", 1536, 6144, 2560, 300.3},
};

TEST(measured_gemm, short_runs_on_eight_gpu_types) {
  Comparison table;
  for (const GemmRow& row : kShortRuns) {
    Machine on = machine(row.gpu);
    on.calibration.sustained = 1.0;
    table.add(fmt::format("{} {}x{}x{}", row.gpu, row.m, row.n, row.k), row.us,
              gemm_us(on, {.m = row.m, .n = row.n, .k = row.k}));
  }
  table.expect(0.05, 0.25);
}

struct LinearRow {
  const char* layer;
  std::int64_t tokens, outputs, inputs;
  double forward_us, backward_us;
};

// DebarghaG/estimate-train-time, Perlmutter, A100-SXM4-80GB, fp16: linear layers under tensor parallelism.
// Not fitted.
constexpr LinearRow kPerlmutter[] = {
    {"linear1", 3072, 9984, 6656, 1548.8, 3043.0},
    {"linear1", 32768, 4608, 3072, 3851.4, 6533.4},
    {"linear1", 4096, 1536, 4096, 221.0, 444.0},
    {"linear1", 18432, 1344, 3584, 720.0, 1437.8},
    {"linear2", 32768, 3072, 3072, 2518.6, 4396.4},
    {"linear2", 12288, 2048, 2048, 418.0, 829.2},
    {"linear2", 9216, 2560, 2560, 486.8, 902.2},
    {"linear2", 2048, 3584, 3584, 221.0, 438.0},
    {"linear3", 3072, 13312, 6656, 2034.8, 3860.6},
    {"linear3", 32768, 6144, 3072, 4757.6, 8529.6},
    {"linear3", 4096, 2048, 4096, 274.4, 527.0},
    {"linear3", 18432, 1792, 3584, 911.8, 1714.2},
    {"linear4", 3072, 6656, 13312, 2005.0, 3812.0},
    {"linear4", 32768, 3072, 6144, 4500.6, 8646.8},
    {"linear4", 4096, 4096, 2048, 292.2, 529.6},
    {"linear4", 18432, 3584, 1792, 1100.0, 1707.6},
    {"linear_final", 3072, 25152, 6656, 3743.0, 7053.8},
    {"linear_final", 32768, 25152, 3072, 18272.8, 37173.8},
    {"linear_final", 4096, 6288, 4096, 856.0, 1574.6},
    {"linear_final", 18432, 6288, 3584, 3361.2, 5919.8},
};

TEST(measured_gemm, linear_layers_of_a_training_job_on_a100) {
  const Machine a100 = alone("a100-80-sxm");
  Comparison table;
  for (const LinearRow& row : kPerlmutter) {
    const GemmShape forward{.m = row.tokens, .n = row.outputs, .k = row.inputs};
    const GemmShape data{.m = row.tokens, .n = row.inputs, .k = row.outputs};
    const GemmShape weight{.m = row.outputs, .n = row.inputs, .k = row.tokens};
    const std::string name = fmt::format("{} {}x{}x{}", row.layer, row.tokens, row.outputs, row.inputs);
    table.add(name + " forward", row.forward_us, gemm_us(a100, forward));
    table.add(name + " backward", row.backward_us, gemm_us(a100, data) + gemm_us(a100, weight));
  }
  table.expect(0.07, 0.30);
}

// MooreThreads/SimuMax@4dcaae5 configs/system/b200_bf16_ceperm.json: long runs, at the power limit. Not
// fitted.
constexpr GemmRow kLongRuns[] = {
    {"b200", 4096, 14336, 8192, 866.2},     {"b200", 4096, 28672, 8192, 1803.6},
    {"b200", 65536, 1536, 5120, 973.5},     {"b200", 4096, 28672, 8192, 1730.0},
    {"b200", 16384, 5120, 102400, 15262.4}, {"b200", 16384, 5120, 24576, 3696.1},
    {"b200", 4096, 4096, 32128, 937.1},     {"b200", 65536, 24576, 1536, 4663.3},
};

TEST(measured_gemm, long_runs_on_b200_are_held_back_by_power) {
  Comparison table;
  for (const GemmRow& row : kLongRuns) {
    table.add(fmt::format("{}x{}x{}", row.m, row.n, row.k), row.us,
              gemm_us(machine(row.gpu), {.m = row.m, .n = row.n, .k = row.k}));
  }
  table.expect(0.10, 0.25);
}

struct ExpertRow {
  const char* gpu;
  std::int64_t experts, m, n, k;
  double us_per_expert;
};

// MooreThreads/SimuMax@4dcaae5 group_matmul, forward. Below 600 rows per expert its B200 runs wait for the
// host, about 9 us per expert and launch, which is not the kernel's time.
constexpr ExpertRow kExperts[] = {
    {"a100-80-pcie", 40, 616, 3072, 5120, 98.4},   {"a100-80-pcie", 40, 616, 5120, 1536, 49.3},
    {"a100-80-pcie", 20, 1232, 3072, 5120, 175.6}, {"a100-80-pcie", 20, 1232, 5120, 1536, 92.0},
    {"b200", 20, 1232, 3072, 5120, 33.5},          {"b200", 20, 1232, 5120, 1536, 21.7},
    {"b200", 32, 1024, 4096, 7168, 58.5},          {"b200", 40, 2460, 3072, 5120, 70.7},
    {"b200", 40, 9832, 3072, 5120, 289.6},         {"b200", 40, 9832, 5120, 1536, 154.5},
};

TEST(measured_gemm, experts_of_a_mixture) {
  Comparison table;
  for (const ExpertRow& row : kExperts) {
    table.add(fmt::format("{} {} experts {}x{}x{}", row.gpu, row.experts, row.m, row.n, row.k),
              row.us_per_expert,
              gemm_us(alone(row.gpu), {.m = row.m, .n = row.n, .k = row.k, .batch = row.experts}) /
                  static_cast<double>(row.experts));
  }
  table.expect(0.08, 0.20);
}

// --- attention
// -----------------------------------------------------------------------------------------------

struct AttentionRow {
  const char* gpu;
  AttentionLibrary library;
  std::int64_t batch, heads, kv_heads, sequence, head_dim, v_head_dim;
  bool causal;
  double forward_tflops, backward_tflops;  // FLOPs of the pairs that the mask keeps; 0 = not published
};
constexpr AttentionLibrary kVendor = AttentionLibrary::Vendor, kFlash2 = AttentionLibrary::FlashAttention2;

// h200: NVIDIA/cudnn-frontend@df73764, cuDNN 9.19.1. h100: arXiv:2407.08608 figures 5 and 6.
// a100, b200: MooreThreads/SimuMax@4dcaae5 configs/system, halved for the mask.
constexpr AttentionRow kAttention[] = {
    {"h200", kVendor, 1, 64, 8, 2048, 128, 128, true, 484, 370},
    {"h200", kVendor, 1, 64, 8, 8192, 128, 128, true, 644, 541},
    {"h200", kVendor, 1, 64, 8, 32768, 128, 128, true, 688, 581},
    {"h200", kVendor, 1, 64, 8, 8192, 128, 128, false, 691, 594},
    {"h100-80-sxm", kFlash2, 4, 16, 16, 4096, 128, 128, true, 319, 0},
    {"h100-80-sxm", kFlash2, 4, 16, 16, 4096, 128, 128, false, 368, 310},
    {"h100-80-sxm", kFlash2, 8, 32, 32, 2048, 64, 64, false, 318, 264},
    {"h100-80-sxm", kVendor, 4, 8, 8, 4096, 256, 256, true, 612, 0},
    {"a100-80-pcie", kVendor, 1, 8, 2, 4096, 128, 128, true, 121, 119},
    {"a100-80-pcie", kVendor, 1, 16, 4, 4096, 128, 128, true, 154.5, 137.5},
    {"a100-80-pcie", kVendor, 1, 32, 8, 4096, 128, 128, true, 176.5, 152.5},
    {"a100-80-pcie", kVendor, 1, 64, 8, 4096, 128, 128, true, 185, 157},
    {"a100-80-pcie", kVendor, 1, 64, 64, 4096, 192, 128, true, 164.5, 124},
    {"b200", kVendor, 1, 4, 1, 4096, 128, 128, true, 188, 388},
    {"b200", kVendor, 1, 8, 1, 4096, 128, 128, true, 348, 741},
    {"b200", kVendor, 1, 16, 4, 4096, 128, 128, true, 651, 827},
    {"b200", kVendor, 1, 32, 8, 4096, 128, 128, true, 817, 885},
    {"b200", kVendor, 1, 128, 16, 4096, 128, 128, true, 1093, 931},
    {"b200", kVendor, 1, 16, 2, 32768, 128, 128, true, 1311, 980},
    {"b200", kVendor, 1, 128, 128, 4096, 192, 128, true, 934, 723},
};

TEST(measured_attention, from_four_heads_to_many) {
  Comparison table;
  for (const AttentionRow& row : kAttention) {
    const double s = static_cast<double>(row.sequence);
    const AttentionShape shape{.batch = row.batch,
                               .heads = row.heads,
                               .kv_heads = row.kv_heads,
                               .seq_q = row.sequence,
                               .seq_kv = row.sequence,
                               .head_dim = row.head_dim,
                               .v_head_dim = row.v_head_dim,
                               .causal = row.causal,
                               .pairs = row.causal ? s * s / 2 : s * s,
                               .library = row.library};
    const double flops =
        2 * shape.pairs * static_cast<double>(row.batch * row.heads * (row.head_dim + row.v_head_dim));
    const Machine& on = machine(row.gpu);
    const std::string name =
        fmt::format("{} {} heads {} keys d {}", row.gpu, row.batch * row.heads, row.sequence, row.head_dim);
    const auto us = [&](Direction direction) {
      return attention_time(shape, direction, Precision::Bf16, on.gpu, on.calibration).value() * 1e6;
    };
    table.add(name + " forward", flops / row.forward_tflops / 1e6, us(Direction::Forward));
    if (row.backward_tflops > 0) {
      table.add(name + " backward", 2.5 * flops / row.backward_tflops / 1e6, us(Direction::Backward));
    }
  }
  table.expect(0.06, 0.22);
}

// --- memory-bound
// --------------------------------------------------------------------------------------------

struct MemoryRow {
  const char* gpu;
  const char* kernel;
  double megabytes, us;
};

// DebarghaG/estimate-train-time (residual add, GELU on A100), linkedin/Liger-Kernel benchmark data (H100:
// RMSNorm and SwiGLU forward; about 3 us of each is its harness), NVIDIA/cudnn-frontend@df73764 (RMSNorm
// 16384×4096 on H200).
constexpr MemoryRow kMemory[] = {
    {"a100-80-sxm", "residual add", 276.8, 164.6},
    {"a100-80-sxm", "residual add", 1384.1, 783.6},
    {"a100-80-sxm", "residual add", 151.0, 93.8},
    {"a100-80-sxm", "GELU backward", 503.3, 309.0},
    {"h100-80-sxm", "RMSNorm", 67.1, 29.2},
    {"h100-80-sxm", "RMSNorm", 268.4, 95.0},
    {"h100-80-sxm", "SwiGLU", 201.3, 72.5},
    {"h100-80-sxm", "SwiGLU", 805.3, 267.0},
    {"h200", "RMSNorm", 268.4, 72.5},
};

TEST(measured_memory_bound, norms_and_elementwise_kernels) {
  Comparison table;
  for (const MemoryRow& row : kMemory) {
    const Machine& on = machine(row.gpu);
    table.add(fmt::format("{} {} {} MB", row.gpu, row.kernel, row.megabytes), row.us,
              memory_bound_time(Bytes{row.megabytes * 1e6}, on.gpu, on.calibration).value() * 1e6);
  }
  table.expect(0.06, 0.16);
}

}  // namespace
}  // namespace hexaplan::presets
