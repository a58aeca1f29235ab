#include "validator/executor/backends/module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace hexaplan::validator {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> module_folders() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  return {folder / "lib/hexaplan", folder.parent_path() / "lib/hexaplan"};
}

}  // namespace

void prepare_cuda_environment() {
  constexpr int kKeep = 0;
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", kKeep);  // NOLINT(concurrency-mt-unsafe): before ranks begin
}

Module load_module(const std::string& name, const char* symbol) {
  const std::string file = name + ".so";
  std::string looked_in;
  for (const fs::path& folder : module_folders()) {
    const std::string path = folder / file;
    std::error_code error;
    if (!fs::exists(path, error)) {
      looked_in += (looked_in.empty() ? "" : " and ") + folder.string();
      continue;
    }
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    void* const entry = library == nullptr ? nullptr : dlsym(library, symbol);
    if (entry != nullptr) return {entry, path, {}};
    const char* const problem = dlerror();
    return {nullptr, path, problem == nullptr ? "cannot be loaded" : problem};
  }
  return {nullptr, {}, fmt::format("no {} in {}", file, looked_in)};
}

}  // namespace hexaplan::validator
