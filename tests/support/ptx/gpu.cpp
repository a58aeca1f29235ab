#include "tests/support/ptx/gpu.h"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "tests/support/ptx/fault.h"

namespace hexaplan::tests::ptx {
namespace {

// cudaError_t (driver_types.h).
constexpr int kInvalidValue = 1, kInvalidConfiguration = 9;
// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": every one; shared memory of
// 8.0, the oldest that the executor takes.
constexpr unsigned kMostThreads = 1024, kMostBlocksAcross = 0x7fffffff, kMostBlocks = 65535;
constexpr std::size_t kSharedUnasked = 48 << 10, kSharedMost = 163 << 10;

/// "norm_groups", "elementwise<Add>" of a mangled name.
std::string readable(const std::string& mangled) {
  int status = 0;
  char* const text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  if (text == nullptr) return mangled;
  std::string name{text};
  std::free(text);  // NOLINT(*-no-malloc, *-owning-memory): as __cxa_demangle asks
  // Namespaces, nvcc's for what is a file's own (_GLOBAL__N__…) among them.
  for (std::size_t colons = name.find("::"); colons != std::string::npos; colons = name.find("::")) {
    const std::size_t begin = name.find_last_of("<(, ", colons);
    name.erase(begin == std::string::npos ? 0 : begin + 1,
               colons + 2 - (begin == std::string::npos ? 0 : begin + 1));
  }
  name = name.substr(0, name.find('('));
  return name.rfind("void ", 0) == 0 ? name.substr(5) : name;
}

}  // namespace

Gpu& Gpu::instance() {
  static Gpu gpu;
  return gpu;
}

std::string Gpu::text_of(const std::string& source) {
  const std::filesystem::path file = std::filesystem::path{HEXAPLAN_PTX_FOLDER} / (source + ".ptx");
  std::ifstream in{file, std::ios::binary};
  if (!in) throw Fault{file.string() + " cannot be read"};
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::map<std::string, Module> Gpu::modules() const {
  std::map<std::string, Module> out;
  for (const auto& file : std::filesystem::directory_iterator{HEXAPLAN_PTX_FOLDER}) {
    if (file.path().extension() != ".ptx") continue;
    const std::string source = file.path().stem().string();
    std::string text = text_of(source);
    out.emplace(source, Module{edit_ ? edit_(source, std::move(text)) : std::move(text)});
  }
  return out;
}

void Gpu::set_edit(std::function<std::string(const std::string& source, std::string text)> edit) {
  edit_ = std::move(edit);
  kernels_.clear();
  modules_.clear();
}

const Kernel& Gpu::kernel_of(const std::string& name) {
  if (const auto known = kernels_.find(name); known != kernels_.end()) return known->second;
  if (modules_.empty()) modules_ = modules();
  for (const auto& [source, module] : modules_) {
    if (!module.has(name)) continue;
    Kernel kernel = module.read(name);
    kernel.name = source + ".cu: " + readable(name);
    return kernels_.emplace(name, std::move(kernel)).first->second;
  }
  throw Fault{"no PTX has the kernel " + name};
}

int Gpu::allow_shared_bytes(const void* host, int bytes) {
  if (bytes < 0 || static_cast<std::size_t>(bytes) > kSharedMost) return error_ = kInvalidValue;
  allowed_[host] = static_cast<std::size_t>(bytes);
  return 0;
}

int Gpu::launch(const void* host, Dim3 blocks, Dim3 threads, void** arguments, std::size_t shared_bytes) {
  const std::string& name = names_.at(host);
  const Kernel& kernel = kernel_of(name);
  const auto allowed = allowed_.find(host);
  const std::uint64_t block = std::uint64_t{threads.x} * threads.y * threads.z;
  if (block == 0 || block > kMostThreads || blocks.x == 0 || blocks.x > kMostBlocksAcross || blocks.y == 0 ||
      blocks.y > kMostBlocks || blocks.z == 0 || blocks.z > kMostBlocks)
    return error_ = kInvalidConfiguration;
  std::uint64_t fixed = 0;
  for (const SharedArray& array : kernel.shared) fixed += array.bytes;
  if (fixed + shared_bytes > (allowed == allowed_.end() ? kSharedUnasked : allowed->second + fixed) ||
      fixed + shared_bytes > kSharedMost)
    return error_ = kInvalidValue;
  std::vector<std::byte> laid_out(kernel.parameter_bytes);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i)
    std::memcpy(laid_out.data() + kernel.parameters[i].offset, arguments[i], kernel.parameters[i].bytes);
  const Grid grid{blocks, threads, shared_bytes, order_};
  launches_.push_back({kernel.name, grid, run(kernel, grid, laid_out.data(), memory_, clock_)});
  return 0;
}

}  // namespace hexaplan::tests::ptx
