#pragma once
#include <cstddef>
#include <type_traits>

#include "validator/executor/device/cuda/kernels/kernels.h"

// What the kernels are written in: CUDA where nvcc compiles them, else the host emulation.
#ifdef __CUDACC__
// At most so many threads per block: the compiler then keeps to the registers that a full block has, 128 a
// thread, and no block can ask for more than there are.
#define HEXAPLAN_KERNEL_OF(threads) __global__ void __launch_bounds__(threads)
#define HEXAPLAN_DEVICE __device__ __forceinline__
#define HEXAPLAN_SHARED __shared__
#define HEXAPLAN_UNROLL _Pragma("unroll")
#else
#include "validator/executor/device/cuda/emulation/emulation.h"
#define HEXAPLAN_KERNEL_OF(threads) static void
#define HEXAPLAN_DEVICE inline
// One block at a time runs on a host thread, all of its threads do.
#define HEXAPLAN_SHARED static thread_local
#define HEXAPLAN_UNROLL
#endif
#define HEXAPLAN_KERNEL HEXAPLAN_KERNEL_OF(hexaplan::validator::cuda::kLargestBlock)

namespace hexaplan::validator::cuda {

inline constexpr unsigned kWarp = 32;

#ifdef __CUDACC__
using Dim = dim3;

template <class T>
__device__ T* shared_memory() {
  extern __shared__ uint4 shared_words[];
  return reinterpret_cast<T*>(shared_words);
}
__device__ __forceinline__ void sync_block() {
  __syncthreads();
}
__device__ __forceinline__ void sync_warp() {
  __syncwarp();
}
template <class T>
__device__ __forceinline__ T shuffle_xor(T value, unsigned lanes) {
  return __shfl_xor_sync(0xffffffffU, value, static_cast<int>(lanes));
}
__device__ __forceinline__ unsigned ballot(bool mine) {
  return __ballot_sync(0xffffffffU, mine);
}
__device__ __forceinline__ int count_bits(unsigned bits) {
  return __popc(bits);
}
/// Throws std::runtime_error when the launch before it was refused.
void check_launch(const char* kernel);
#else
inline int count_bits(unsigned bits) {
  return __builtin_popcount(bits);
}
#endif

/// How a kernel is spread. Blocks have whole warps, at most kLargestBlock threads.
inline constexpr unsigned kLargestBlock = 512;
struct Spread {
  const char* name;  // for messages
  Dim grid, block;
  std::size_t shared_bytes = 0;
};

/// Puts kernel(arguments…) on the queue.
template <class... P>
void launch(const Queue& queue, const Spread& spread, void (*kernel)(P...),
            const std::type_identity_t<P>&... arguments) {
  if (spread.grid.x == 0 || spread.grid.y == 0 || spread.grid.z == 0) return;
#ifdef __CUDACC__
  constexpr std::size_t kWithoutAsking = 48
                                         << 10;  // CUDA C++ Programming Guide, table of compute capabilities
  if (spread.shared_bytes > kWithoutAsking) {
    cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                         static_cast<int>(spread.shared_bytes));
  }
  kernel<<<spread.grid, spread.block, spread.shared_bytes, static_cast<cudaStream_t>(queue.stream)>>>(
      arguments...);
  check_launch(spread.name);
#else
  static_cast<void>(queue);
  emulation::run({spread.grid, spread.block, spread.shared_bytes}, [&] { kernel(arguments...); });
#endif
}

}  // namespace hexaplan::validator::cuda
