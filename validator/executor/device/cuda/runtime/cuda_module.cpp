#include "validator/executor/device/cuda/cuda_module.h"

#include <cuda_runtime_api.h>

#include <string>

#include "validator/executor/device/cuda/gpu_error.h"
#include "validator/executor/device/cuda/runtime/cuda_device.h"
#include "validator/executor/device/timed.h"

namespace hexaplan::validator {
namespace {

constexpr const char* kInstallDriver = "install NVIDIA's driver, and see that nvidia-smi lists the GPU";

std::string name_of_gpu(int gpu) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, gpu) != cudaSuccess) return "GPU";
  return properties.name;
}

LibraryState probe() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    cudaGetLastError();
    const std::string_view hint = hint_for(cudaGetErrorName(error));
    return {false, cudaGetErrorString(error), hint.empty() ? kInstallDriver : std::string{hint}};
  }
  if (count == 0) return {false, "no GPU is visible", std::string{hint_for("cudaErrorNoDevice")}};
  int driver = 0;
  cudaDriverGetVersion(&driver);
  return {true,
          std::to_string(count) + " × " + name_of_gpu(0) + ", driver for CUDA " +
              std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10),
          {}};
}

}  // namespace
}  // namespace hexaplan::validator

const hexaplan::validator::CudaModule* hexaplan_cuda() {
  using namespace hexaplan::validator;
  static const CudaModule module{
      .probe = probe, .make_device = [](const CudaDeviceOptions& options) {
        return std::unique_ptr<Device>{std::make_unique<Timed<cuda::CudaDevice>>(options)};
      }};
  return &module;
}
