#pragma once
#include <cuda_runtime_api.h>

namespace hexaplan::validator::cuda {

/// Throws GpuError for the current GPU, and takes the error off the runtime's own record.
[[noreturn]] void fail(cudaError_t error, const char* call, const char* file, int line);

}  // namespace hexaplan::validator::cuda

/// A macro, so that an error carries the call's text and place.
#define HEXAPLAN_CUDA(call)                                                         \
  do {                                                                              \
    const cudaError_t hexaplan_error = (call);                                      \
    if (hexaplan_error != cudaSuccess)                                              \
      ::hexaplan::validator::cuda::fail(hexaplan_error, #call, __FILE__, __LINE__); \
  } while (false)
