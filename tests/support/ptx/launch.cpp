#include "tests/support/ptx/launch.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/ptx/fault.h"
#include "tests/support/ptx/warp.h"

namespace hexaplan::tests::ptx {
namespace {

/// [0, count) in the order that is asked for; the same one for the same `seed`.
std::vector<std::size_t> in_order(std::size_t count, Order order, unsigned seed) {
  std::vector<std::size_t> which(count);
  std::iota(which.begin(), which.end(), std::size_t{0});
  if (order == Order::Backward) std::reverse(which.begin(), which.end());
  std::mt19937 random{seed};
  if (order == Order::Shuffled) std::shuffle(which.begin(), which.end(), random);
  return which;
}

/// From barrier to barrier.
void run_block(Block& block, Clock& clock, unsigned seed) {
  const Dim3 of = block.grid.threads;
  const unsigned threads = of.x * of.y * of.z;
  std::vector<std::unique_ptr<Warp>> warps;
  for (unsigned first = 0; first < threads; first += kLanes)
    warps.push_back(std::make_unique<Warp>(block, first, std::min(kLanes, threads - first)));
  for (;;) {
    for (const std::size_t w : in_order(warps.size(), block.grid.order, seed++)) warps[w]->run();
    const auto ended = std::count_if(warps.begin(), warps.end(), [](const auto& w) { return w->ended(); });
    if (ended == static_cast<std::ptrdiff_t>(warps.size())) return;
    const auto waiting = std::find_if(warps.begin(), warps.end(), [](const auto& w) { return !w->ended(); });
    const std::uint32_t at = (*waiting)->waits_at();
    const Instruction& barrier = block.kernel.code[at];
    const std::string where =
        block.kernel.name + ", line " + std::to_string(barrier.line) + ": `" + barrier.text + "` ";
    if (ended > 0)
      throw Fault{where + "is not reached by " + std::to_string(ended) +
                  " warps of the block, which have ended"};
    for (const auto& warp : warps) {
      if (warp->waits_at() != at)
        throw Fault{where + "is reached by some warps while others wait at line " +
                    std::to_string(block.kernel.code[warp->waits_at()].line)};
      warp->pass_barrier();
    }
    block.now.segment = clock.next();
  }
}

}  // namespace

Work run(const Kernel& kernel, const Grid& grid, const std::byte* arguments, GlobalMemory& memory,
         Clock& clock) {
  Work work;
  const std::uint64_t shared_bytes = kernel.dynamic_shared + grid.dynamic_shared_bytes;
  constexpr unsigned kBitsOfAWord = 2;
  Block block{.kernel = kernel,
              .grid = grid,
              .arguments = arguments,
              .memory = memory,
              .index = {},
              .shared = std::vector<std::byte>(shared_bytes),
              .shared_shadow = Shadow{shared_bytes, kBitsOfAWord},
              .now = {},
              .work = work};
  block.now.launch_began = clock.next();
  const std::size_t blocks = std::size_t{grid.blocks.x} * grid.blocks.y * grid.blocks.z;
  for (const std::size_t b : in_order(blocks, grid.order, block.now.launch_began)) {
    block.index = {static_cast<unsigned>(b % grid.blocks.x),
                   static_cast<unsigned>(b / grid.blocks.x % grid.blocks.y),
                   static_cast<unsigned>(b / grid.blocks.x / grid.blocks.y)};
    block.now.block_began = block.now.segment = clock.next();
    run_block(block, clock, block.now.segment);
  }
  return work;
}

}  // namespace hexaplan::tests::ptx
