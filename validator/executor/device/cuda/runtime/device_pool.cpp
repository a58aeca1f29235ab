#include "validator/executor/device/cuda/runtime/device_pool.h"

#include <algorithm>
#include <limits>
#include <new>

#include "validator/executor/device/cuda/runtime/check.h"
#include "validator/executor/memory/tracking_allocator.h"

namespace hexaplan::validator::cuda {
namespace {

/// Lets this process's other GPUs reach into the pool: NCCL reads buffers of ranks of its own process
/// directly, and memory of pools is closed to other GPUs until it is opened (NCCL documentation, environment
/// variables, NCCL_P2P_DIRECT_DISABLE; CUDA C++ Programming Guide, stream-ordered allocator, multi-GPU
/// support).
void open_to_peers(cudaMemPool_t pool, int gpu) {
  int gpus = 0;
  HEXAPLAN_CUDA(cudaGetDeviceCount(&gpus));
  for (int other = 0; other < gpus; ++other) {
    int reaches = 0;
    if (other != gpu) HEXAPLAN_CUDA(cudaDeviceCanAccessPeer(&reaches, other, gpu));
    if (reaches == 0) continue;
    cudaMemAccessDesc access{};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = other;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    HEXAPLAN_CUDA(cudaMemPoolSetAccess(pool, &access, 1));
  }
}

}  // namespace

DevicePool::DevicePool(int gpu, cudaStream_t stream) : stream_{stream} {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = gpu;
  HEXAPLAN_CUDA(cudaMemPoolCreate(&pool_, &properties));
  auto everything = std::numeric_limits<std::uint64_t>::max();
  HEXAPLAN_CUDA(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &everything));
  open_to_peers(pool_, gpu);
}

DevicePool::~DevicePool() {
  cudaStreamSynchronize(stream_);
  cudaMemPoolDestroy(pool_);
}

std::byte* DevicePool::try_take(std::size_t bytes) {
  void* memory = nullptr;
  const std::size_t some = std::max<std::size_t>(bytes, 1);
  cudaError_t error = cudaMallocFromPoolAsync(&memory, some, pool_, stream_);
  if (error == cudaErrorMemoryAllocation) {
    // What the pool keeps is in pieces that do not fit: without them the GPU may have one that does.
    cudaGetLastError();
    HEXAPLAN_CUDA(cudaStreamSynchronize(stream_));
    HEXAPLAN_CUDA(cudaMemPoolTrimTo(pool_, 0));
    error = cudaMallocFromPoolAsync(&memory, some, pool_, stream_);
  }
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  HEXAPLAN_CUDA(error);
  requested_ += static_cast<std::int64_t>(bytes);
  requested_high_ = std::max(requested_high_, requested_);
  return static_cast<std::byte*>(memory);
}

std::byte* DevicePool::take(std::size_t bytes) {
  std::byte* const memory = try_take(bytes);
  if (memory == nullptr) throw std::bad_alloc{};
  return memory;
}

std::byte* DevicePool::take_for(const char* what, std::size_t bytes) {
  std::byte* const memory = try_take(bytes);
  if (memory != nullptr) return memory;
  const std::int64_t used = attribute(cudaMemPoolAttrUsedMemCurrent);
  throw OutOfMemory{{.name = what, .kind = costmodel::TensorKind::Transient, .dtype = costmodel::DType::Bf16},
                    static_cast<std::int64_t>(bytes),
                    used,
                    used + free_bytes()};
}

void DevicePool::give_back(std::byte* memory, std::size_t bytes) noexcept {
  cudaFreeAsync(memory, stream_);
  requested_ -= static_cast<std::int64_t>(bytes);
}

std::int64_t DevicePool::free_bytes() const {
  std::size_t free = 0, total = 0;
  HEXAPLAN_CUDA(cudaMemGetInfo(&free, &total));
  return static_cast<std::int64_t>(free) + reserved() - attribute(cudaMemPoolAttrUsedMemCurrent);
}

std::int64_t DevicePool::attribute(cudaMemPoolAttr which) const {
  std::uint64_t value = 0;
  HEXAPLAN_CUDA(cudaMemPoolGetAttribute(pool_, which, &value));
  return static_cast<std::int64_t>(value);
}

}  // namespace hexaplan::validator::cuda
