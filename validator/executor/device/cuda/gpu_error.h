#pragma once
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hexaplan::validator {

/// A call into one of NVIDIA's libraries that failed.
struct GpuCall {
  std::string_view library;  // "CUDA", "cuBLASLt", "cuDNN", "NCCL"
  std::string call;          // "cudaMallocFromPoolAsync(…)"
  std::string code;          // "cudaErrorMemoryAllocation"
  std::string message;       // the library's own words; may be empty
  const char* file = "";
  int line = 0;
  int gpu = -1;  // −1: none yet
};

/// Names the call, where it stands, the GPU, and what to do about the code where that is known. Which rank it
/// was says RankFault.
class GpuError : public std::runtime_error {
 public:
  explicit GpuError(GpuCall call);
  [[nodiscard]] const GpuCall& call() const { return call_; }

 private:
  GpuCall call_;
};

/// An error code and what users can do about it.
struct GpuHint {
  std::string_view code, text;
};
/// All that hint_for knows.
[[nodiscard]] std::span<const GpuHint> gpu_hints();
/// What users can do about an error code; empty where nothing general can be said.
[[nodiscard]] std::string_view hint_for(std::string_view code);

}  // namespace hexaplan::validator
