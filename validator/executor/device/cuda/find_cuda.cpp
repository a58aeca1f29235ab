#include "validator/executor/backends/module.h"
#include "validator/executor/device/cuda/attention_library.h"
#include "validator/executor/device/cuda/cuda_module.h"

namespace hexaplan::validator {
namespace {

constexpr const char* kBuildIt =
    "build with preset `cuda` (CUDA toolkit 12 or newer), or install the package that was built with it";

/// One module: which it is, what to install when a library of it is missing (the loader names the library).
struct ModuleRow {
  const char* name;
  const char* build;
  const char* libraries;
};
constexpr ModuleRow kCuda{"hexaplan_cuda", kBuildIt,
                          "install CUDA's libraries (cuBLAS), or add their folder to LD_LIBRARY_PATH"};
constexpr ModuleRow kCudnn{
    "hexaplan_cudnn", "install cuDNN 9 (its folder may be named by CUDNN_HOME) and build with preset `cuda`",
    "install cuDNN 9, or add its folder to LD_LIBRARY_PATH"};

/// What the module's function of the same name returns; nullptr and a state that says why.
template <class Functions>
const Functions* load(const ModuleRow& row, std::size_t Functions::*size, LibraryState& state) {
  const Module module = load_module(row.name, row.name);
  if (module.entry == nullptr) {
    state = {false, module.problem, module.path.empty() ? row.build : row.libraries};
    return nullptr;
  }
  using Entry = const Functions* (*)();
  const Functions* functions = reinterpret_cast<Entry>(module.entry)();  // NOLINT(*-reinterpret-cast)
  if (functions->*size == Functions{}.*size) return functions;
  state = {false, module.path + " belongs to another build", row.build};
  return nullptr;
}

FoundCuda look_for_cuda() {
  prepare_cuda_environment();
  FoundCuda found;
  const auto* module = load(kCuda, &CudaModule::size_of_device, found.state);
  if (module == nullptr) return found;
  found.state = module->probe();
  if (found.state.available) found.module = module;
  return found;
}

FoundCudnn look_for_cudnn() {
  FoundCudnn found;
  const auto* module = load(kCudnn, &CudnnModule::size_of_graph, found.state);
  if (module == nullptr) return found;
  found.library = module->library();
  found.state = {true, found.library->name(), {}};
  return found;
}

}  // namespace

const FoundCuda& find_cuda() {
  static const FoundCuda found = look_for_cuda();
  return found;
}

const FoundCudnn& find_cudnn() {
  static const FoundCudnn found = look_for_cudnn();
  return found;
}

}  // namespace hexaplan::validator
