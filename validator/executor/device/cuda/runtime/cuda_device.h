#pragma once
#include <memory>
#include <string>
#include <vector>

#include "validator/executor/device/cuda/cuda_module.h"
#include "validator/executor/device/cuda/kernels/kernels.h"
#include "validator/executor/device/cuda/runtime/device_pool.h"
#include "validator/executor/device/cuda/runtime/fused_attention.h"
#include "validator/executor/device/cuda/runtime/lt_matmul.h"
#include "validator/executor/device/cuda/runtime/memory_diary.h"
#include "validator/executor/device/cuda/runtime/nvml.h"
#include "validator/executor/device/cuda/runtime/staging.h"
#include "validator/executor/device/cuda/runtime/streams.h"
#include "validator/executor/device/device.h"

namespace hexaplan::validator::cuda {

/// A GPU, current on the calling thread, and what is known of it before there is a context.
struct OpenedGpu {
  explicit OpenedGpu(int wanted);
  int gpu = 0;
  std::string name, pci_address;
  int major = 0, minor = 0, multiprocessors = 0;
};

/// One rank's GPU, or its share of one: two streams, a memory pool, own kernels, cuBLASLt and cuDNN. Made and
/// used on the rank's thread.
class CudaDevice : public Device {
 public:
  explicit CudaDevice(const CudaDeviceOptions& options);
  ~CudaDevice() override;

  [[nodiscard]] std::string description() const override;
  [[nodiscard]] std::vector<DeviceFact> facts() override;
  [[nodiscard]] Element element_of(costmodel::DType dtype) const override;
  [[nodiscard]] std::vector<costmodel::Precision> narrow_gemms() override;

  void fill(const View& to, double value) override { cuda::fill(compute_, to, value); }
  void upload(const View& to, std::span<const double> from) override { staging_.upload(to, from); }
  void upload(const View& to, std::span<const std::int32_t> from) override { staging_.upload(to, from); }
  void download(std::span<double> to, const View& from) override { staging_.download(to, from); }
  void download(std::span<std::int32_t> to, const View& from) override { staging_.download(to, from); }

  [[nodiscard]] Event record(Stream stream) override { return ordered(stream).record(); }
  void wait(Stream stream, Event event) override { ordered(stream).wait(event); }
  void synchronize() override;
  [[nodiscard]] void* native_stream(Stream stream) override { return ordered(stream).raw(); }
  [[nodiscard]] TimeMark mark(Stream stream) override { return marks_.record(ordered(stream).raw()); }
  [[nodiscard]] costmodel::Seconds between(TimeMark begin, TimeMark end) const override {
    return marks_.between(begin, end);
  }
  void release_marks() override { marks_.release(); }

  void reduce_parts(std::span<const View> parts, Reduction reduction, const View& to,
                    Stream stream) override {
    cuda::reduce_parts(queue(stream), parts, reduction, to);
  }
  void fill_noise(const View& to, std::uint64_t seed, double scale, Stream stream) override {
    cuda::fill_noise(queue(stream), to, seed, scale);
  }

  void rms_norm(const View& x, const View& weight, double epsilon, const View& y, const View& rstd) override {
    cuda::rms_norm(compute_, x, weight, epsilon, y, rstd);
  }
  void rms_norm_backward(const View& dy, const View& x, const View& weight, const View& rstd, const View& dx,
                         const View& dweight) override {
    cuda::rms_norm_backward(compute_, dy, x, weight, rstd, dx, dweight);
  }
  void rope(const View& x, const View& positions, const Rotation& rotation, bool inverse) override {
    cuda::rope(compute_, x, positions, rotation, inverse);
  }
  void attention_merge(const View& o, const View& lse, const View& piece_o, const View& piece_lse,
                       std::int64_t heads) override {
    cuda::attention_merge(compute_, o, lse, piece_o, piece_lse, heads);
  }
  void attention_delta(const View& d_o, const View& o, const View& delta) override {
    cuda::attention_delta(compute_, d_o, o, delta);
  }
  void swiglu(const View& gate_up, const View& act) override { cuda::swiglu(compute_, gate_up, act); }
  void swiglu_backward(const View& d_act, const View& gate_up, const View& d_gate_up) override {
    cuda::swiglu_backward(compute_, d_act, gate_up, d_gate_up);
  }
  void embedding_lookup(const View& ids, const View& table, std::int64_t first, const View& out) override {
    cuda::embedding_lookup(compute_, ids, table, first, out);
  }
  void embedding_backward(const View& ids, const View& d_out, std::int64_t first,
                          const View& d_table) override {
    cuda::embedding_backward(compute_, ids, d_out, first, d_table);
  }
  void row_max(const View& logits, std::int64_t valid, const View& maxima) override {
    cuda::row_max(compute_, logits, valid, maxima);
  }
  void cross_entropy_sums(const View& logits, std::int64_t valid, const View& maxima, const View& targets,
                          std::int64_t first, const View& sums) override {
    cuda::cross_entropy_sums(compute_, logits, valid, maxima, targets, first, sums);
  }
  void cross_entropy_gradient(const View& logits, std::int64_t valid, const View& maxima, const View& sums,
                              const View& targets, std::int64_t first, double factor, const View& d_logits,
                              const View& loss) override {
    cuda::cross_entropy_gradient(compute_, logits, valid, maxima, sums, targets, first, factor, d_logits,
                                 loss);
  }
  void add(const View& to, const View& other) override { cuda::add(compute_, to, other); }
  void scale(const View& x, double factor) override { cuda::scale(compute_, x, factor); }
  void squared_norm(const View& x, const View& sum) override { cuda::squared_norm(compute_, x, sum); }
  void route(const View& logits, bool given, bool renormalise, const View& probabilities, const View& chosen,
             const View& weights) override {
    cuda::route(compute_, logits, given, renormalise, probabilities, chosen, weights);
  }
  void route_backward(const View& probabilities, const View& chosen, const View& weights, bool renormalise,
                      const View& d_weights, const View& d_mean, const View& d_logits) override {
    cuda::route_backward(compute_, probabilities, chosen, weights, renormalise, d_weights, d_mean, d_logits);
  }
  void gather_rows(const View& x, const View& rows, const View& out) override {
    cuda::gather_rows(compute_, x, rows, out);
  }
  void scatter_rows(const View& x, const View& rows, const View& factors, const View& out) override {
    cuda::scatter_rows(compute_, x, rows, factors, out);
  }
  void row_dots(const View& a, const View& b, const View& dots) override {
    cuda::row_dots(compute_, a, b, dots);
  }
  void column_sums(const View& x, const View& sums) override { cuda::column_sums(compute_, x, sums); }
  void scale_rows(const View& x, const View& factors) override { cuda::scale_rows(compute_, x, factors); }
  void adamw(const AdamW& update) override { cuda::adamw(compute_, update); }

 protected:
  [[nodiscard]] std::byte* take(std::size_t bytes) override { return pool_.take(bytes); }
  void give_back(std::byte* memory, std::size_t bytes) noexcept override { pool_.give_back(memory, bytes); }
  [[nodiscard]] std::int64_t free_bytes() override { return pool_.free_bytes(); }
  void run_copy(const View& to, const View& from, Stream stream) override;
  void run_gemm(const Gemm& g) override { products_->run(g); }
  void run_grouped_gemm(const Gemm& g, std::span<const std::int64_t> offsets) override {
    products_->run_grouped(g, offsets);
  }
  void run_attention_forward(const AttentionBlock& block, const View& q, const View& k, const View& v,
                             const View& o, const View& lse) override {
    attention_->forward(block, q, k, v, o, lse);
  }
  void run_attention_backward(const AttentionBlock& block, const View& q, const View& k, const View& v,
                              const View& d_o, const View& lse, const View& delta, const View& dq,
                              const View& dk, const View& dv) override {
    attention_->backward(block, q, k, v, d_o, lse, delta, dq, dk, dv);
  }

 private:
  [[nodiscard]] OrderedStream& ordered(Stream stream) {
    return stream == Stream::Compute ? compute_stream_ : communication_stream_;
  }
  [[nodiscard]] const Queue& queue(Stream stream) const {
    return stream == Stream::Compute ? compute_ : communication_;
  }

  OpenedGpu gpu_;
  Element element_;
  Nvml nvml_;
  MemoryDiary diary_;
  OrderedStream compute_stream_{false}, communication_stream_{true};
  DevicePool pool_;
  Staging staging_;
  MarkPool marks_;
  Queue compute_, communication_;
  std::unique_ptr<LtMatmul> products_;
  std::unique_ptr<FusedAttention> attention_;
  std::int64_t reserved_at_start_ = 0;
};

}  // namespace hexaplan::validator::cuda
