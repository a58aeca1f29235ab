// What the emulation of CUDA on the host promises to those who trust its verdict on kernels.
#include "validator/executor/device/cuda/emulation/emulation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <thread>
#include <vector>

namespace hexaplan::validator::cuda {
namespace {

unsigned thread_of_block() {
  return threadIdx.x + threadIdx.y * blockDim.x;
}

TEST(emulation, every_thread_of_every_block_runs_once) {
  std::vector<int> runs(3 * 2 * 64);
  emulation::run({.grid = {3, 2, 1}, .block = {16, 4, 1}},
                 [&] { ++runs[(blockIdx.y * gridDim.x + blockIdx.x) * 64 + thread_of_block()]; });
  EXPECT_EQ(runs, std::vector<int>(runs.size(), 1));
}

TEST(emulation, a_barrier_lets_threads_see_what_all_wrote_before_it) {
  for (const auto order : {emulation::Order::Forward, emulation::Order::Backward}) {
    emulation::set_order(order);
    std::vector<int> seen(128);
    emulation::run({.block = {128, 1, 1}, .shared_bytes = 128 * sizeof(int)}, [&] {
      int* shared = shared_memory<int>();
      shared[threadIdx.x] = static_cast<int>(threadIdx.x);
      sync_block();
      seen[threadIdx.x] = shared[127 - threadIdx.x];
    });
    for (int i = 0; i < 128; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], 127 - i);
  }
  emulation::set_order(emulation::Order::Forward);
}

TEST(emulation, without_the_barrier_the_two_orders_differ) {
  std::vector<std::vector<int>> seen;
  for (const auto order : {emulation::Order::Forward, emulation::Order::Backward}) {
    emulation::set_order(order);
    std::vector<int>& mine = seen.emplace_back(32);
    emulation::run({.block = {32, 1, 1}, .shared_bytes = 32 * sizeof(int)}, [&] {
      int* shared = shared_memory<int>();
      shared[threadIdx.x] = static_cast<int>(threadIdx.x);
      mine[threadIdx.x] = shared[31 - threadIdx.x];
    });
  }
  emulation::set_order(emulation::Order::Forward);
  EXPECT_NE(seen[0], seen[1]);
}

/// Sums over the block, twice, as over_block makes them but without the barrier before the second.
std::vector<unsigned> two_sums(emulation::Order order, bool barrier) {
  emulation::set_order(order);
  std::vector<unsigned> seen(64);
  emulation::run({.block = {64, 1, 1}, .shared_bytes = 2 * sizeof(unsigned)}, [&] {
    unsigned* const of_warps = shared_memory<unsigned>();
    for (unsigned turn = 1; turn < 3; ++turn) {
      unsigned mine = turn;
      for (unsigned lanes = 16; lanes > 0; lanes /= 2) mine += shuffle_xor(mine, lanes);
      if (barrier) sync_block();
      if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
      sync_block();
      seen[threadIdx.x] += of_warps[0] + of_warps[1];
    }
  });
  emulation::set_order(emulation::Order::Forward);
  return seen;
}
TEST(emulation, a_warp_runs_ahead_of_those_that_still_read) {
  const std::vector<unsigned> right(64, 64 + 128);
  for (const auto order : {emulation::Order::Forward, emulation::Order::Backward}) {
    EXPECT_EQ(two_sums(order, true), right);
    EXPECT_NE(two_sums(order, false), right);
  }
}

TEST(emulation, shared_memory_holds_no_numbers_before_it_is_written) {
  std::vector<float> seen(2);
  emulation::run({.grid = {2, 1, 1}, .block = {32, 1, 1}, .shared_bytes = sizeof(float)}, [&] {
    if (threadIdx.x != 0) return;
    seen[blockIdx.x] = *shared_memory<float>();
    *shared_memory<float>() = 1;
  });
  EXPECT_TRUE(std::isnan(seen[0]) && std::isnan(seen[1]));
}

TEST(emulation, lanes_of_one_warp_exchange_values_again_and_again) {
  std::vector<unsigned> sums(64);
  std::vector<unsigned> odd(64);
  emulation::run({.block = {64, 1, 1}}, [&] {
    unsigned sum = threadIdx.x;
    for (unsigned lanes = 16; lanes > 0; lanes /= 2) sum += shuffle_xor(sum, lanes);
    sums[threadIdx.x] = sum;
    odd[threadIdx.x] = ballot(threadIdx.x % 2 == 1);
  });
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(sums[i], i < 32 ? 31U * 16 : 31U * 16 + 32 * 32);
    EXPECT_EQ(odd[i], 0xaaaaaaaaU);
  }
}

TEST(emulation, warps_may_do_different_things_between_barriers) {
  unsigned sum = 0;
  emulation::run({.block = {64, 1, 1}}, [&] {
    if (threadIdx.x >= 32) {
      unsigned mine = 1;
      for (unsigned lanes = 16; lanes > 0; lanes /= 2) mine += shuffle_xor(mine, lanes);
      if (threadIdx.x == 32) sum = mine;
    }
    sync_block();
  });
  EXPECT_EQ(sum, 32U);
}

// Kernels of their own: lines of a macro's arguments are all the same.
void some_miss_the_barrier() {
  if (threadIdx.x < 7) sync_block();
}
void two_barriers() {
  if (threadIdx.x < 7) {
    sync_block();
  } else {
    sync_block();
  }
}
void some_lanes_miss() {
  if (threadIdx.x < 7) sync_warp();
}

TEST(emulation, a_barrier_that_not_all_threads_reach_is_an_error_and_later_kernels_run) {
  const emulation::Launch launch{.block = {32, 1, 1}};
  for (const auto kernel : {some_miss_the_barrier, two_barriers, some_lanes_miss}) {
    EXPECT_THROW(emulation::run(launch, kernel), std::logic_error);
    int runs = 0;
    emulation::run(launch, [&] { ++runs; });
    EXPECT_EQ(runs, 32);
  }
}

TEST(emulation, the_error_says_where_threads_wait) {
  try {
    emulation::run({.block = {32, 1, 1}}, [] {
      if (threadIdx.x == 3) sync_block();
    });
    FAIL();
  } catch (const std::logic_error& error) {
    const std::string line = std::to_string(__LINE__ - 4);
    EXPECT_EQ(error.what(), "threads of a block do not meet: thread 3 at the barrier of line " + line +
                                ", 31 of 32 have ended");
  }
}

TEST(emulation, host_threads_run_kernels_beside_each_other) {
  std::vector<unsigned> sums(4);
  {
    std::vector<std::jthread> hosts;
    for (std::size_t h = 0; h < sums.size(); ++h) {
      hosts.emplace_back([&sums, h] {
        for (int again = 0; again < 50; ++again) {
          emulation::run({.block = {64, 1, 1}}, [&] {
            unsigned sum = static_cast<unsigned>(h);
            for (unsigned lanes = 16; lanes > 0; lanes /= 2) sum += shuffle_xor(sum, lanes);
            sync_block();
            if (threadIdx.x == 0) sums[h] = sum;
          });
        }
      });
    }
  }
  for (unsigned h = 0; h < 4; ++h) EXPECT_EQ(sums[h], 32 * h);
}

}  // namespace
}  // namespace hexaplan::validator::cuda
