#include "validator/executor/device/cuda/runtime/check.h"

#include "validator/executor/device/cuda/gpu_error.h"

namespace hexaplan::validator::cuda {

void fail(cudaError_t error, const char* call, const char* file, int line) {
  cudaGetLastError();
  int gpu = -1;
  cudaGetDevice(&gpu);
  cudaGetLastError();
  throw GpuError{{.library = "CUDA",
                  .call = call,
                  .code = cudaGetErrorName(error),
                  .message = cudaGetErrorString(error),
                  .file = file,
                  .line = line,
                  .gpu = gpu}};
}

}  // namespace hexaplan::validator::cuda
