#include "validator/backends/module.h"
#include "validator/device/cuda/cuda_module.h"

namespace hexaplan::validator {
namespace {

constexpr const char* kBuildIt =
    "build with preset `cuda` (CUDA toolkit 12 or newer), or install the package that was built with it";

/// A module that is there but cannot be loaded lacks one of CUDA's libraries; the loader names it.
FoundCuda look() {
  const Module module = load_module("hexaplan_cuda", "hexaplan_cuda");
  if (module.path.empty()) return {nullptr, {false, module.problem, kBuildIt}};
  if (module.entry == nullptr) {
    return {
        nullptr,
        {false, module.problem, "install CUDA's libraries (cuBLAS), or add their folder to LD_LIBRARY_PATH"}};
  }
  using Entry = decltype(&hexaplan_cuda);
  const CudaModule* functions = reinterpret_cast<Entry>(module.entry)();  // NOLINT(*-reinterpret-cast)
  if (functions->size_of_device != sizeof(Device))
    return {nullptr, {false, module.path + " belongs to another build", kBuildIt}};
  FoundCuda found{functions, functions->probe()};
  if (!found.state.available) found.module = nullptr;
  return found;
}

}  // namespace

const FoundCuda& find_cuda() {
  static const FoundCuda found = look();
  return found;
}

}  // namespace hexaplan::validator
