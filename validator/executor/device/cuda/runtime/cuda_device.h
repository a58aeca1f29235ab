#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "validator/executor/device/cuda/cuda_module.h"
#include "validator/executor/device/cuda/kernels/kernel_device.h"
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
class CudaDevice : public KernelDevice {
 public:
  explicit CudaDevice(const CudaDeviceOptions& options);
  ~CudaDevice() override;

  [[nodiscard]] std::string description() const override;
  [[nodiscard]] std::vector<DeviceFact> facts() override;
  [[nodiscard]] std::optional<DeviceState> state() override { return nvml_.state(); }
  [[nodiscard]] Element element_of(costmodel::DType dtype) const override;
  [[nodiscard]] std::vector<costmodel::Precision> narrow_gemms() override;

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

 protected:
  [[nodiscard]] const Queue& queue(Stream stream) const override {
    return stream == Stream::Compute ? compute_ : communication_;
  }
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
