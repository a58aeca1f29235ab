#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

/// Runs CUDA kernels that were compiled as ordinary C++ on the host, for tests: every thread of a block is a
/// fiber, so that barriers and warp shuffles mean what they mean on a GPU. Blocks run one after the other on
/// the calling thread; kernels of several host threads run beside each other.
///
/// Found: a barrier or a warp operation that not all threads reach (std::logic_error); shared memory that is
/// read before it is written (it holds not-a-numbers); a missing barrier, by running the warps in another
/// order (set_order), each as far as it gets before the next, and comparing.
namespace hexaplan::validator::cuda {

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};
// What CUDA calls its built-in variables.
// NOLINTBEGIN(readability-identifier-naming, cppcoreguidelines-avoid-non-const-global-variables)
inline thread_local Dim threadIdx, blockIdx, blockDim, gridDim;
// NOLINTEND(readability-identifier-naming, cppcoreguidelines-avoid-non-const-global-variables)

namespace emulation {

struct Launch {
  Dim grid, block;
  std::size_t shared_bytes = 0;
};
/// Calls `kernel` once per thread. Throws std::logic_error at a barrier or warp operation that only some of
/// the threads reach, or that they reach at different places.
void run(const Launch& launch, const std::function<void()>& kernel);

/// The order in which warps between two barriers, their lanes, and blocks, run. Of the calling host thread.
enum class Order : std::uint8_t { Forward, Backward };
void set_order(Order order);

void* shared_memory();
void sync_block(int line);
void sync_warp(int line);
/// Every lane's value to every lane of the warp: the place of lane 0's.
const std::uint64_t* exchange(std::uint64_t mine, int line);

}  // namespace emulation

template <class T>
T* shared_memory() {
  return static_cast<T*>(emulation::shared_memory());
}
inline void sync_block(int line = __builtin_LINE()) {
  emulation::sync_block(line);
}
inline void sync_warp(int line = __builtin_LINE()) {
  emulation::sync_warp(line);
}
/// The value of the lane whose number differs from this one's in the bits of `lanes`.
template <class T>
T shuffle_xor(T value, unsigned lanes, int line = __builtin_LINE()) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  const unsigned lane = (threadIdx.x + blockDim.x * threadIdx.y) % 32;
  std::memcpy(&value, &emulation::exchange(bits, line)[lane ^ lanes], sizeof value);
  return value;
}
/// Bit i: what lane i says.
inline unsigned ballot(bool mine, int line = __builtin_LINE()) {
  const std::uint64_t* lanes = emulation::exchange(mine ? 1 : 0, line);
  unsigned bits = 0;
  for (unsigned i = 0; i < 32; ++i) bits |= (lanes[i] != 0 ? 1U : 0U) << i;
  return bits;
}

}  // namespace hexaplan::validator::cuda
