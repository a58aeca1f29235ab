// A CUDA runtime of which PyTorch's caching allocator notices nothing: addresses come one behind the other
// and nobody touches them, the card has FAKE_CUDA_MEMORY bytes, and events pass when fake_cuda_complete says
// so. Built as libcudart.so.13, which libc10_cuda.so loads, and found as libnvidia-ml.so.1 as well.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

namespace {

std::size_t capacity() {
  static const char* said = std::getenv("FAKE_CUDA_MEMORY");
  static const std::size_t bytes = said ? std::strtoull(said, nullptr, 10) : std::size_t{1} << 44;
  return bytes;
}
std::uintptr_t next_address = std::uintptr_t{1} << 40;
std::size_t held = 0;
std::map<void*, std::size_t> segments;
std::map<CUmemGenericAllocationHandle, std::size_t> pages;
struct Event {
  cudaStream_t stream = nullptr;
  bool passed = true;
};
std::map<cudaEvent_t, Event> events;

CUresult driver_device_get(CUdevice* device, int) {
  return *device = 0, CUDA_SUCCESS;
}
CUresult driver_attribute(int* value, CUdevice_attribute, CUdevice) {
  return *value = 0, CUDA_SUCCESS;
}
CUresult driver_reserve(CUdeviceptr* at, std::size_t size, std::size_t, CUdeviceptr, unsigned long long) {
  *at = next_address;
  next_address += size;
  return CUDA_SUCCESS;
}
CUresult driver_create(CUmemGenericAllocationHandle* handle, std::size_t size, const CUmemAllocationProp*,
                       unsigned long long) {
  static CUmemGenericAllocationHandle last = 0;
  if (held + size > capacity()) return CUDA_ERROR_OUT_OF_MEMORY;
  held += size;
  pages[*handle = ++last] = size;
  return CUDA_SUCCESS;
}
CUresult driver_release(CUmemGenericAllocationHandle handle) {
  held -= pages[handle];
  pages.erase(handle);
  return CUDA_SUCCESS;
}
CUresult driver_text(CUresult, const char** text) {
  return *text = "driver error", CUDA_SUCCESS;
}
CUresult driver_granularity(std::size_t* size, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  return *size = std::size_t{2} << 20, CUDA_SUCCESS;
}
CUresult driver_nothing() {
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {
void fake_cuda_complete(cudaStream_t stream) {
  for (auto& [id, event] : events) event.passed |= event.stream == stream;
}
cudaError_t cudaMalloc(void** at, std::size_t size) {
  if (held + size > capacity()) return cudaErrorMemoryAllocation;
  *at = reinterpret_cast<void*>(next_address);
  next_address += size;
  held += size;
  segments[*at] = size;
  return cudaSuccess;
}
cudaError_t cudaFree(void* at) {
  held -= segments[at];
  segments.erase(at);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = capacity() - held;
  *total = capacity();
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::memset(properties, 0, sizeof *properties);
  properties->totalGlobalMem = capacity();
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  return *count = 1, cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  return *device = 0, cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  return *version = 13000, cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return *least = *greatest = 0, cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  return *status = cudaStreamCaptureStatusNone, cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  static std::uintptr_t last = 0;
  *event = reinterpret_cast<cudaEvent_t>(++last);
  events[*event] = {};
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  events[event] = {stream, false};
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return events[event].passed ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return events[event].passed = true, cudaSuccess;
}
const char* cudaGetErrorName(cudaError_t) {
  return "error";
}
const char* cudaGetErrorString(cudaError_t) {
  return "error";
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** entry, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  static const std::map<std::string_view, void*> table{
      {"cuDeviceGet", reinterpret_cast<void*>(&driver_device_get)},
      {"cuDeviceGetAttribute", reinterpret_cast<void*>(&driver_attribute)},
      {"cuMemAddressReserve", reinterpret_cast<void*>(&driver_reserve)},
      {"cuMemCreate", reinterpret_cast<void*>(&driver_create)},
      {"cuMemRelease", reinterpret_cast<void*>(&driver_release)},
      {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(&driver_granularity)},
      {"cuGetErrorString", reinterpret_cast<void*>(&driver_text)},
  };
  const auto found = table.find(name);
  *entry = found == table.end() ? reinterpret_cast<void*>(&driver_nothing) : found->second;
  if (result != nullptr) *result = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
}

// Which the allocator calls, or is linked against, and whose answer does not matter.
#define EMPTY(name)                                     \
  extern "C" cudaError_t empty_##name() __asm__(#name); \
  cudaError_t empty_##name() {                          \
    return cudaSuccess;                                 \
  }
EMPTY(cudaDeviceCanAccessPeer)
EMPTY(cudaDeviceEnablePeerAccess)
EMPTY(cudaDeviceGetDefaultMemPool)
EMPTY(cudaDeviceGetGraphMemAttribute)
EMPTY(cudaDeviceSetGraphMemAttribute)
EMPTY(cudaEventElapsedTime)
EMPTY(cudaFreeAsync)
EMPTY(cudaGraphNodeGetDependencies)
EMPTY(cudaIpcCloseMemHandle)
EMPTY(cudaIpcGetMemHandle)
EMPTY(cudaIpcOpenMemHandle)
EMPTY(cudaMallocAsync)
EMPTY(cudaMemPoolGetAttribute)
EMPTY(cudaMemPoolSetAccess)
EMPTY(cudaMemPoolSetAttribute)
EMPTY(cudaMemPoolTrimTo)
EMPTY(cudaMemcpy)
EMPTY(cudaMemcpyAsync)
EMPTY(cudaMemcpyPeerAsync)
EMPTY(cudaStreamCreateWithPriority)
EMPTY(cudaStreamGetCaptureInfo)
EMPTY(cudaStreamQuery)
EMPTY(cudaStreamWaitEvent)
EMPTY(cudaThreadExchangeStreamCaptureMode)
EMPTY(cudaDeviceSynchronize)
EMPTY(cudaEventDestroy)
EMPTY(cudaGetLastError)
EMPTY(cudaSetDevice)
EMPTY(cudaStreamSynchronize)
// NVML, which is asked before segments grow whether other cards may see them.
EMPTY(nvmlInit_v2)
EMPTY(nvmlDeviceGetHandleByPciBusId_v2)
EMPTY(nvmlDeviceGetNvLinkRemoteDeviceType)
EMPTY(nvmlDeviceGetNvLinkRemotePciInfo_v2)
EMPTY(nvmlSystemGetCudaDriverVersion_v2)
extern "C" int nvmlDeviceGetComputeRunningProcesses(void*, unsigned* count, void*) {
  return *count = 0, 0;
}
extern "C" int nvmlDeviceGetGpuFabricInfoV() {
  return 3;
}  // NVML_ERROR_NOT_SUPPORTED
