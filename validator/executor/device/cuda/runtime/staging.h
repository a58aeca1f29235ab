#pragma once
#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <span>

#include "validator/executor/device/view.h"

namespace hexaplan::validator::cuda {

/// Copies between host and GPU through pinned memory in two halves: one is converted while the other moves.
class Staging {
 public:
  explicit Staging(cudaStream_t stream);
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();
  /// Both wait until the copy is done.
  template <class Host>
  void upload(const View& to, std::span<const Host> from);
  template <class Host>
  void download(std::span<Host> to, const View& from);

 private:
  static constexpr std::size_t kHalfBytes = std::size_t{4} << 20;
  struct Half {
    std::byte* memory = nullptr;
    cudaEvent_t moved = nullptr;
  };
  void move(const View& on_gpu, std::byte* staged, cudaMemcpyKind kind) const;

  cudaStream_t stream_;
  std::array<Half, 2> halves_;
};

}  // namespace hexaplan::validator::cuda
