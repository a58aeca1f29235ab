#include <stdexcept>
#include <string>

#include "validator/executor/device/cuda/kernels/launch.h"

namespace hexaplan::validator::cuda {

#ifdef __CUDACC__
void check_launch(const char* kernel) {
  const cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string{"kernel "} + kernel + " was not started: " + cudaGetErrorName(status) +
                           ", " + cudaGetErrorString(status));
}
#endif

}  // namespace hexaplan::validator::cuda
