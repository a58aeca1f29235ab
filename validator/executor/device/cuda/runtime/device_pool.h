#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace hexaplan::validator::cuda {

/// Memory of one rank on its GPU, taken and given back in the order of one stream. A pool of its own keeps
/// what was given back, so that the driver is asked only while the peak still grows.
class DevicePool {
 public:
  DevicePool(int gpu, cudaStream_t stream);
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;
  ~DevicePool();

  /// Aligned to 256 bytes. nullptr when the GPU has no more, also after what the pool keeps was returned.
  [[nodiscard]] std::byte* try_take(std::size_t bytes);
  /// Throws std::bad_alloc instead.
  [[nodiscard]] std::byte* take(std::size_t bytes);
  /// Throws OutOfMemory that names what it was for.
  [[nodiscard]] std::byte* take_for(const char* what, std::size_t bytes);
  void give_back(std::byte* memory, std::size_t bytes) noexcept;

  /// What the rank asked for, and what the pool made of it, at most so far.
  [[nodiscard]] std::int64_t requested_high() const { return requested_high_; }
  [[nodiscard]] std::int64_t used_high() const { return attribute(cudaMemPoolAttrUsedMemHigh); }
  [[nodiscard]] std::int64_t reserved_high() const { return attribute(cudaMemPoolAttrReservedMemHigh); }
  [[nodiscard]] std::int64_t reserved() const { return attribute(cudaMemPoolAttrReservedMemCurrent); }
  /// On the GPU, and kept by the pool without use.
  [[nodiscard]] std::int64_t free_bytes() const;

 private:
  [[nodiscard]] std::int64_t attribute(cudaMemPoolAttr which) const;

  cudaMemPool_t pool_ = nullptr;
  cudaStream_t stream_;
  std::int64_t requested_ = 0, requested_high_ = 0;
};

/// Memory for one call: given back behind it in the stream.
class Scratch {
 public:
  Scratch(DevicePool& pool, const char* what, std::size_t bytes)
      : pool_{pool}, bytes_{bytes}, data_{pool.take_for(what, bytes)} {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { pool_.give_back(data_, bytes_); }
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  DevicePool& pool_;
  std::size_t bytes_;
  std::byte* data_;
};

}  // namespace hexaplan::validator::cuda
