#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "costmodel/compute/kernel_time.h"
#include "tests/support/random_scenario.h"

namespace hexaplan::costmodel {
namespace {

GemmShape any_gemm() {
  const auto size = [] { return *rc::gen::inRange<std::int64_t>(1, 40000); };
  return {.m = size(), .n = size(), .k = size(), .batch = *rc::gen::inRange<std::int64_t>(1, 17)};
}
AttentionShape any_attention() {
  AttentionShape a;
  a.batch = *rc::gen::inRange<std::int64_t>(1, 9);
  a.heads = *rc::gen::inRange<std::int64_t>(1, 65);
  a.kv_heads = a.heads;
  a.seq_q = a.seq_kv = 128 * *rc::gen::inRange<std::int64_t>(1, 257);
  a.head_dim = a.v_head_dim = *rc::gen::element<std::int64_t>(64, 128, 256);
  a.pairs = static_cast<double>(a.seq_q) * static_cast<double>(a.seq_q) / 2;
  return a;
}
Bytes any_bytes() {
  return Bytes{std::exp2(*rc::gen::inRange(0, 3700) / 100.0)};
}
GpuSpec any_gpu() {
  return support::random_cluster(8).gpu;
}

GpuSpec with_twice_the_bandwidth(GpuSpec gpu) {
  gpu.memory_bandwidth *= 2;
  return gpu;
}
GpuSpec with_twice_the_peak(GpuSpec gpu) {
  for (FlopsPerSecond& peak : gpu.peak) peak *= 2;
  return gpu;
}

RC_GTEST_PROP(kernel_laws, gemm_takes_finite_time_never_below_the_peak, ()) {
  const Calibration c = *support::any_calibration();
  const GpuSpec gpu = any_gpu();
  const GemmShape shape = any_gemm();
  const Seconds t = gemm_time(shape, Precision::Bf16, gpu, c);
  RC_ASSERT(std::isfinite(t.value()));
  RC_ASSERT(t >= shape.flops() / gpu.peak_of(Precision::Bf16));
}

RC_GTEST_PROP(kernel_laws, a_faster_gpu_never_slows_a_kernel, ()) {
  const Calibration c = *support::any_calibration();
  const GpuSpec gpu = any_gpu();
  const GemmShape gemm = any_gemm();
  const AttentionShape attention = any_attention();
  const Bytes bytes = any_bytes();
  for (const GpuSpec& faster : {with_twice_the_bandwidth(gpu), with_twice_the_peak(gpu)}) {
    RC_ASSERT(gemm_time(gemm, Precision::Bf16, faster, c) <= gemm_time(gemm, Precision::Bf16, gpu, c));
    RC_ASSERT(attention_time(attention, Direction::Forward, Precision::Bf16, faster, c) <=
              attention_time(attention, Direction::Forward, Precision::Bf16, gpu, c));
    RC_ASSERT(memory_bound_time(bytes, faster, c) <= memory_bound_time(bytes, gpu, c));
  }
}

RC_GTEST_PROP(kernel_laws, twice_the_rows_never_take_less_time, ()) {
  const Calibration c = *support::any_calibration();
  const GpuSpec gpu = any_gpu();
  const GemmShape shape = any_gemm();
  GemmShape taller = shape;
  taller.m *= 2;
  GemmShape deeper = shape;
  deeper.k *= 2;
  const Seconds t = gemm_time(shape, Precision::Bf16, gpu, c);
  RC_ASSERT(gemm_time(taller, Precision::Bf16, gpu, c) >= t);
  RC_ASSERT(gemm_time(deeper, Precision::Bf16, gpu, c) >= t);
}

RC_GTEST_PROP(kernel_laws, attention_backward_takes_at_least_as_long_as_forward, ()) {
  const Calibration c = *support::any_calibration();
  const GpuSpec gpu = any_gpu();
  const AttentionShape shape = any_attention();
  RC_ASSERT(attention_time(shape, Direction::Backward, Precision::Bf16, gpu, c) >=
            attention_time(shape, Direction::Forward, Precision::Bf16, gpu, c));
}

RC_GTEST_PROP(kernel_laws, more_bytes_never_take_less_time, ()) {
  const Calibration c = *support::any_calibration();
  const GpuSpec gpu = any_gpu();
  const Bytes bytes = any_bytes();
  RC_ASSERT(memory_bound_time(2 * bytes, gpu, c) >= memory_bound_time(bytes, gpu, c));
}

}  // namespace
}  // namespace hexaplan::costmodel
