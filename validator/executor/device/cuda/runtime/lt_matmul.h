#pragma once
#include <cublasLt.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "validator/executor/device/cuda/gemm_cache.h"
#include "validator/executor/device/cuda/kernels/kernels.h"
#include "validator/executor/device/cuda/runtime/device_pool.h"

namespace hexaplan::validator::cuda {

/// Products of matrices by cuBLASLt on one stream, each form with the algorithm that was fastest on this GPU
/// when the form first came. Sums are fp32; fp32 operands are not rounded to TF32.
class LtMatmul {
 public:
  LtMatmul(std::string_view gpu_name, DevicePool& pool, const Queue& queue);
  LtMatmul(const LtMatmul&) = delete;
  LtMatmul& operator=(const LtMatmul&) = delete;
  ~LtMatmul();

  /// Throws UnsupportedProduct for E4m3 operands that cuBLASLt does not take; others own kernels do instead.
  void run(const Gemm& g);
  /// Whether cuBLASLt has an algorithm for it; nothing is computed, operands need not be there.
  [[nodiscard]] bool takes(const Gemm& g);
  /// One product per group. Sizes change from step to step: an algorithm of a size near by is used, none is
  /// timed.
  void run_grouped(const Gemm& g, std::span<const std::int64_t> offsets);
  /// Recommended for Hopper; more is not used (cuBLAS documentation, cublasSetWorkspace).
  static constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

 private:
  struct Operands;
  void provide_scale(const LtGemm& form);
  void run_own(const Gemm& g);
  [[nodiscard]] bool run_with(const TunedAlgorithm& algorithm, const LtGemm& form, const Gemm& g);
  void run_group(const Gemm& g);
  /// Empty data: cuBLASLt has none.
  [[nodiscard]] TunedAlgorithm fastest(const LtGemm& form, const Gemm& g);
  [[nodiscard]] std::vector<TunedAlgorithm> candidates(const LtGemm& form, int most) const;
  [[nodiscard]] float time(const TunedAlgorithm& algorithm, const LtGemm& form, const Gemm& g);

  cublasLtHandle_t handle_ = nullptr;
  DevicePool& pool_;
  Queue queue_;
  std::byte* workspace_ = nullptr;
  std::byte* scale_ = nullptr;  // of E4m3 operands; taken when the first come
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  GemmCache tuned_;
  GemmCache near_{{}};
};

}  // namespace hexaplan::validator::cuda
