#include "tests/support/emulated_device.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <new>
#include <vector>

#include "validator/executor/device/bf16.h"
#include "validator/executor/device/cuda/kernels/kernel_device.h"
#include "validator/executor/device/cuda/lt_gemm.h"
#include "validator/executor/device/e4m3.h"
#include "validator/executor/device/fp16.h"
#include "validator/executor/device/unsupported_product.h"

namespace hexaplan::tests {
namespace {

namespace cuda = validator::cuda;
using validator::AttentionBlock;
using validator::Bf16;
using validator::E4m3;
using validator::Element;
using validator::Gemm;
using validator::Stream;
using validator::UnsupportedProduct;
using validator::View;

/// Of what cudaMalloc gives out (CUDA C++ Programming Guide, "Device Memory Accesses").
constexpr std::align_val_t kAlignment{256};

double read(const View& v, std::int64_t r, std::int64_t c) {
  const std::int64_t i = r * v.stride + c;
  switch (v.element) {
    case Element::F64:
      return v.as<double>()[i];
    case Element::F32:
      return static_cast<double>(v.as<float>()[i]);
    case Element::Bf16:
      return static_cast<double>(validator::to_float(v.as<Bf16>()[i]));
    case Element::F16:
      return static_cast<double>(validator::to_float(v.as<validator::Fp16>()[i]));
    case Element::E4m3:
      return static_cast<double>(validator::to_float(v.as<E4m3>()[i]));
    case Element::I32:
      return v.as<std::int32_t>()[i];
    case Element::U8:
      return v.as<std::uint8_t>()[i];
  }
  return 0;
}
void write(const View& v, std::int64_t r, std::int64_t c, double x) {
  const std::int64_t i = r * v.stride + c;
  switch (v.element) {
    case Element::F64:
      v.as<double>()[i] = x;
      break;
    case Element::F32:
      v.as<float>()[i] = static_cast<float>(x);
      break;
    case Element::Bf16:
      v.as<Bf16>()[i] = validator::to_bf16(static_cast<float>(x));
      break;
    case Element::F16:
      v.as<validator::Fp16>()[i] = validator::to_fp16(static_cast<float>(x));
      break;
    case Element::E4m3:
      v.as<E4m3>()[i] = validator::to_e4m3(static_cast<float>(x));
      break;
    case Element::I32:
      v.as<std::int32_t>()[i] = static_cast<std::int32_t>(x);
      break;
    case Element::U8:
      v.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(x);
      break;
  }
}
template <class Host>
void upload_all(const View& to, std::span<const Host> from, MemoryWatcher* watcher) {
  assert(static_cast<std::int64_t>(from.size()) == to.elements());
  const Host* next = from.data();
  const std::size_t bytes = validator::bytes_of(to.element);
  for (std::int64_t r = 0; r < to.rows; ++r) {
    for (std::int64_t c = 0; c < to.cols; ++c) {
      const auto x = static_cast<double>(*next++);
      write(to, r, c, x);
      if (watcher == nullptr) continue;
      watcher->written_by_host(to.data + static_cast<std::size_t>(r * to.stride + c) * bytes, bytes,
                               !std::isnan(x));
    }
  }
}
template <class Host>
void download_all(std::span<Host> to, const View& from) {
  assert(static_cast<std::int64_t>(to.size()) == from.elements());
  Host* next = to.data();
  for (std::int64_t r = 0; r < from.rows; ++r) {
    for (std::int64_t c = 0; c < from.cols; ++c) *next++ = static_cast<Host>(read(from, r, c));
  }
}

class EmulatedDevice final : public cuda::KernelDevice {
 public:
  EmulatedDevice(Element element, MemoryWatcher* watcher)
      : element_{element}, watcher_{watcher}, queue_{nullptr, acquire(cuda::kScratchBytes)} {}
  ~EmulatedDevice() override { release(queue_.scratch); }
  EmulatedDevice(const EmulatedDevice&) = delete;
  EmulatedDevice& operator=(const EmulatedDevice&) = delete;

  [[nodiscard]] std::string description() const override {
    return element_ == Element::Bf16  ? "CUDA kernels on the host, bfloat16"
           : element_ == Element::F16 ? "CUDA kernels on the host, float16"
                                      : "CUDA kernels on the host, float32";
  }
  [[nodiscard]] Element element_of(costmodel::DType dtype) const override {
    return stored_element(dtype, Element::F32, element_);
  }
  [[nodiscard]] std::vector<costmodel::Precision> narrow_gemms() override {
    if (element_ != Element::Bf16) return {};
    return {costmodel::Precision::Fp8};
  }

  void upload(const View& to, std::span<const double> from) override { upload_all(to, from, watcher_); }
  void upload(const View& to, std::span<const std::int32_t> from) override { upload_all(to, from, watcher_); }
  void download(std::span<double> to, const View& from) override { download_all(to, from); }
  void download(std::span<std::int32_t> to, const View& from) override { download_all(to, from); }

 protected:
  [[nodiscard]] const cuda::Queue& queue(Stream /*stream*/) const override { return queue_; }
  [[nodiscard]] std::byte* take(std::size_t bytes) override { return acquire(bytes); }
  void give_back(std::byte* memory, std::size_t /*bytes*/) noexcept override { release(memory); }
  void run_copy(const View& to, const View& from, Stream /*stream*/) override {
    cuda::copy(compute(), to, from);
  }
  void run_gemm(const Gemm& g) override {
    if (g.a.element != Element::E4m3) return cuda::gemm(compute(), g);
    // What is asked of cuBLASLt on a GPU, on what kernels make of the operands.
    if (!cuda::to_cublaslt(g)) throw UnsupportedProduct{"no form that cuBLASLt takes"};
    Gemm wide = g;
    wide.a = widened(g.a);
    wide.b = widened(g.b);
    cuda::gemm(compute(), wide);
    release(wide.a.data);
    release(wide.b.data);
  }
  void run_grouped_gemm(const Gemm& g, std::span<const std::int64_t> offsets) override {
    cuda::grouped_gemm(compute(), g, offsets);
  }
  void run_attention_forward(const AttentionBlock& block, const View& q, const View& k, const View& v,
                             const View& o, const View& lse) override {
    cuda::attention_forward(compute(), block, q, k, v, o, lse);
  }
  void run_attention_backward(const AttentionBlock& block, const View& q, const View& k, const View& v,
                              const View& d_o, const View& lse, const View& delta, const View& dq,
                              const View& dk, const View& dv) override {
    cuda::attention_backward(compute(), block, q, k, v, d_o, lse, delta, dq, dk, dv);
  }

 private:
  [[nodiscard]] std::byte* acquire(std::size_t bytes) {
    auto* memory = static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1), kAlignment));
    std::memset(memory, 0xff, bytes);
    if (watcher_ != nullptr) watcher_->taken(memory, bytes);
    return memory;
  }
  void release(std::byte* memory) noexcept {
    if (watcher_ != nullptr) watcher_->given_back(memory);
    ::operator delete(memory, kAlignment);
  }
  /// In memory that the caller releases.
  [[nodiscard]] View widened(const View& from) {
    View to{nullptr, Element::F32, from.rows, from.cols, from.cols};
    to.data = acquire(to.bytes());
    cuda::copy(compute(), to, from);
    return to;
  }

  Element element_;
  MemoryWatcher* watcher_;
  cuda::Queue queue_;
};

}  // namespace

std::unique_ptr<validator::Device> make_emulated_device(Element element, MemoryWatcher* watcher) {
  assert(element == Element::F32 || element == Element::Bf16 || element == Element::F16);
  return std::make_unique<EmulatedDevice>(element, watcher);
}

}  // namespace hexaplan::tests
