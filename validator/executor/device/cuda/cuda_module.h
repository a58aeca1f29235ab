#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "validator/executor/device/device.h"

namespace hexaplan::validator {

class AttentionLibrary;

/// Whether something works on this machine.
struct LibraryState {
  bool available = false;
  std::string detail;  // what was found: "NVIDIA H200, driver 13.0", or why nothing can be done
  std::string remedy;  // what to install or do; empty when available
};

struct CudaDeviceOptions {
  Element element = Element::Bf16;  // of what the ledger stores in 16 bits; or F32 for everything
  int gpu = 0;                      // modulo the number of GPUs
  /// Attention of cuDNN; nullptr: own kernels, with a notice. Outlives the device.
  AttentionLibrary* attention = nullptr;
};

/// What the program takes from the module hexaplan_cuda, the only code but kernels that is compiled against
/// the CUDA toolkit. Program and module come from one build and speak C++ to each other.
struct CudaModule {
  std::size_t size_of_device = sizeof(Device);  // guards against a module of another build
  LibraryState (*probe)();
  /// Throws GpuError when the GPU cannot be used.
  std::unique_ptr<Device> (*make_device)(const CudaDeviceOptions& options);
};

/// The module hexaplan_cuda, loaded once per process; nullptr and a state that says why not.
struct FoundCuda {
  const CudaModule* module = nullptr;
  LibraryState state;
};
[[nodiscard]] const FoundCuda& find_cuda();

/// The module hexaplan_cudnn, loaded once per process; nullptr and a state that says why not.
struct FoundCudnn {
  AttentionLibrary* library = nullptr;
  LibraryState state;
};
[[nodiscard]] const FoundCudnn& find_cudnn();

}  // namespace hexaplan::validator

/// The module's only symbol.
extern "C" const hexaplan::validator::CudaModule* hexaplan_cuda();
