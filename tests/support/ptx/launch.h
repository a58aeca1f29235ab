#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/support/ptx/memory.h"
#include "tests/support/ptx/module.h"

/// Runs kernels from the PTX that nvcc makes of them, and watches them.
///
/// A warp runs its lanes of the lowest address first; lanes wait for each other at operations of the warp. A
/// warp runs as far as it can before the next one of its block does: to the next barrier of the block. Found,
/// each with kernel, line, instruction, block and thread (Fault): accesses outside of allocations, or not
/// aligned; reads of memory that nobody wrote; two accesses of one place, one of them a write, that no
/// barrier orders (in shared and global memory, threads and blocks); barriers and warp operations that not
/// all threads reach; instructions that are not known.
namespace hexaplan::tests::ptx {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};
/// Which warp of a block, and which block, goes first.
enum class Order : std::uint8_t { Forward, Backward, Shuffled };

struct Grid {
  Dim3 blocks, threads;
  std::size_t dynamic_shared_bytes = 0;
  Order order = Order::Forward;
};

/// What a launch did.
struct Work {
  Traffic global;
  std::uint64_t instructions = 0;  // of warps
};

/// Numbers segments of all launches on one memory.
class Clock {
 public:
  std::uint32_t next() { return ++segment_; }

 private:
  std::uint32_t segment_ = 1;
};

/// `arguments`: as many bytes as the kernel has parameters, laid out as it says. Throws Fault.
Work run(const Kernel& kernel, const Grid& grid, const std::byte* arguments, GlobalMemory& memory,
         Clock& clock);

}  // namespace hexaplan::tests::ptx
