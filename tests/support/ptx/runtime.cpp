// The functions of the CUDA runtime that nvcc's host code calls (crt/host_runtime.h of CUDA 12 and 13), for
// kernels that are interpreted.
#include <cstddef>

#include "tests/support/ptx/gpu.h"

using hexaplan::tests::ptx::Dim3;
using hexaplan::tests::ptx::Gpu;

namespace {

struct Configuration {
  Dim3 blocks, threads;
  std::size_t shared_bytes = 0;
  void* stream = nullptr;
};
Configuration& pushed() {
  static Configuration configuration;
  return configuration;
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): CUDA's names
extern "C" {

void** __cudaRegisterFatBinary(void* /*binary*/) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}
void __cudaUnregisterFatBinary(void** /*handle*/) {}
char __cudaInitModule(void** /*handle*/) {
  return 1;
}
void __cudaRegisterFunction(void** /*handle*/, const char* host, char* /*device*/, const char* name,
                            int /*thread_limit*/, void* /*tid*/, void* /*bid*/, void* /*block*/,
                            void* /*grid*/, int* /*warp*/) {
  Gpu::instance().add_function(host, name);
}
unsigned __cudaPushCallConfiguration(Dim3 blocks, Dim3 threads, std::size_t shared_bytes, void* stream) {
  pushed() = {blocks, threads, shared_bytes, stream};
  return 0;
}
int __cudaPopCallConfiguration(Dim3* blocks, Dim3* threads, std::size_t* shared_bytes, void* stream) {
  *blocks = pushed().blocks;
  *threads = pushed().threads;
  *shared_bytes = pushed().shared_bytes;
  *static_cast<void**>(stream) = pushed().stream;
  return 0;
}
int __cudaGetKernel(const void** kernel, const void* host) {
  *kernel = host;
  return 0;
}
int cudaLaunchKernel(const void* host, Dim3 blocks, Dim3 threads, void** arguments, std::size_t shared_bytes,
                     void* /*stream*/) {
  return Gpu::instance().launch(host, blocks, threads, arguments, shared_bytes);
}
int __cudaLaunchKernel(const void* kernel, Dim3 blocks, Dim3 threads, void** arguments,
                       std::size_t shared_bytes, void* stream) {
  return cudaLaunchKernel(kernel, blocks, threads, arguments, shared_bytes, stream);
}
int cudaFuncSetAttribute(const void* host, int attribute, int value) {
  constexpr int kMaxDynamicSharedMemorySize = 8;  // cudaFuncAttribute
  return attribute == kMaxDynamicSharedMemorySize ? Gpu::instance().allow_shared_bytes(host, value) : 1;
}
int cudaGetLastError() {
  return Gpu::instance().take_error();
}
const char* cudaGetErrorName(int error) {
  return error == 1 ? "cudaErrorInvalidValue" : "cudaErrorInvalidConfiguration";
}
const char* cudaGetErrorString(int error) {
  return error == 1 ? "invalid argument" : "invalid configuration argument";
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
