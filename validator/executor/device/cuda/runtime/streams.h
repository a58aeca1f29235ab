#pragma once
#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "validator/executor/device/device.h"

namespace hexaplan::validator::cuda {

/// One stream of a rank with the points that others wait for. A point that is used again lies further on in
/// the same stream, so that whoever still waits for the earlier one waits longer, never less.
class OrderedStream {
 public:
  /// `urgent`: its kernels get multiprocessors first.
  explicit OrderedStream(bool urgent);
  OrderedStream(const OrderedStream&) = delete;
  OrderedStream& operator=(const OrderedStream&) = delete;
  ~OrderedStream();
  [[nodiscard]] cudaStream_t raw() const { return stream_; }
  [[nodiscard]] Event record();
  void wait(Event event) const;

 private:
  static constexpr std::size_t kPoints = 256;
  cudaStream_t stream_ = nullptr;
  std::array<cudaEvent_t, kPoints> points_{};
  std::size_t next_ = 0;
};

/// Moments in streams, timed by the GPU. Ids count from 1 since the last release.
class MarkPool {
 public:
  MarkPool() = default;
  MarkPool(const MarkPool&) = delete;
  MarkPool& operator=(const MarkPool&) = delete;
  ~MarkPool();
  [[nodiscard]] TimeMark record(cudaStream_t stream);
  [[nodiscard]] costmodel::Seconds between(TimeMark begin, TimeMark end) const;
  void release() { used_ = 0; }

 private:
  std::vector<cudaEvent_t> events_;
  std::size_t used_ = 0;
};

}  // namespace hexaplan::validator::cuda
