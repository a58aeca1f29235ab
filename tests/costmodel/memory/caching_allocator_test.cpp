// Rules of PyTorch's caching allocator, counted by hand (pytorch/pytorch c10/cuda/CUDACachingAllocator.cpp).
// Against the allocator itself: tests/presets/frameworks/allocator_oracle_test.cpp.
#include "costmodel/memory/caching_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <random>
#include <vector>

namespace hexaplan::costmodel {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

double reserved_mib(const CachingAllocator& allocator) {
  return allocator.use().reserved.value() / static_cast<double>(kMiB);
}
AllocationId take(CachingAllocator& allocator, std::int64_t bytes, StreamNumber stream = 0) {
  const auto id = allocator.allocate(bytes, stream);
  EXPECT_TRUE(id.has_value());
  return id.value_or(0);
}

TEST(caching_allocator, rounds_to_512_bytes) {
  const CachingAllocator allocator;
  EXPECT_EQ(allocator.rounded(1), 512);
  EXPECT_EQ(allocator.rounded(512), 512);
  EXPECT_EQ(allocator.rounded(513), 1024);
}

TEST(caching_allocator, rounds_to_steps_between_powers_of_two_where_asked) {
  // Four steps from 1 MiB to 2 MiB: 1.25, 1.5, 1.75 (PyTorch's notes: 1200 becomes 1280).
  const CachingAllocator allocator{{.roundup_power2_divisions = 4}};
  EXPECT_EQ(allocator.rounded(1200), 1536);  // at most 4 · 512: to 512 bytes
  EXPECT_EQ(allocator.rounded(4200), 5120);
  EXPECT_EQ(allocator.rounded(kMiB + 1), kMiB + kMiB / 4);
  EXPECT_EQ(allocator.rounded(2 * kMiB), 2 * kMiB);
}

TEST(caching_allocator, takes_segments_of_2_and_20_mib_and_even_ones_above_10) {
  CachingAllocator allocator;
  take(allocator, kMiB);
  EXPECT_EQ(reserved_mib(allocator), 2);
  take(allocator, kMiB + 1);
  EXPECT_EQ(reserved_mib(allocator), 2 + 20);
  take(allocator, 18 * kMiB);  // what is left there, 19 MiB less 512 bytes, takes it
  EXPECT_EQ(reserved_mib(allocator), 22);
  take(allocator, 10 * kMiB);
  EXPECT_EQ(reserved_mib(allocator), 32);
  take(allocator, 10 * kMiB + 1);
  EXPECT_EQ(reserved_mib(allocator), 44);
}

TEST(caching_allocator, splits_a_large_block_where_more_than_1_mib_is_left) {
  CachingAllocator allocator;
  allocator.free(take(allocator, 40 * kMiB));
  const AllocationId whole = take(allocator, 39 * kMiB);  // 1 MiB is left: not split
  EXPECT_EQ(allocator.use().allocated.value(), 40.0 * kMiB);
  allocator.free(whole);
  take(allocator, 39 * kMiB - 512);
  EXPECT_EQ(allocator.use().allocated.value(), 39.0 * kMiB - 512);
}

TEST(caching_allocator, takes_the_smallest_block_that_is_large_enough) {
  CachingAllocator allocator;
  const AllocationId large = take(allocator, 60 * kMiB), small = take(allocator, 30 * kMiB);
  allocator.free(large);
  allocator.free(small);
  take(allocator, 25 * kMiB);
  EXPECT_EQ(allocator.use().largest_free.value(), 60.0 * kMiB);
}

TEST(caching_allocator, merges_neighbours) {
  CachingAllocator allocator;
  allocator.free(take(allocator, 60 * kMiB));
  const AllocationId a = take(allocator, 20 * kMiB), b = take(allocator, 20 * kMiB);
  allocator.free(a);
  allocator.free(b);
  take(allocator, 60 * kMiB);
  EXPECT_EQ(reserved_mib(allocator), 60);
}

TEST(caching_allocator, keeps_what_a_stream_freed_from_other_streams) {
  CachingAllocator allocator;
  allocator.free(take(allocator, 40 * kMiB, 1));
  take(allocator, 40 * kMiB, 2);
  EXPECT_EQ(reserved_mib(allocator), 80);
  take(allocator, 40 * kMiB, 1);
  EXPECT_EQ(reserved_mib(allocator), 80);
}

TEST(caching_allocator, returns_a_recorded_block_when_the_other_stream_is_done) {
  CachingAllocator allocator;
  const AllocationId sent = take(allocator, 40 * kMiB);
  allocator.record_stream(sent, 1);
  allocator.free(sent);
  const AllocationId beside = take(allocator, 40 * kMiB);
  EXPECT_EQ(reserved_mib(allocator), 80);
  allocator.complete(1);
  take(allocator, 40 * kMiB);
  EXPECT_EQ(reserved_mib(allocator), 80);
  allocator.record_stream(beside, 0);  // its own stream: nothing to wait for
  allocator.free(beside);
  take(allocator, 40 * kMiB);
  EXPECT_EQ(reserved_mib(allocator), 80);
}

TEST(caching_allocator, grows_one_segment_where_they_are_expandable) {
  CachingAllocator plain, expandable{{.expandable_segments = true}};
  for (CachingAllocator* allocator : {&plain, &expandable}) {
    allocator->free(take(*allocator, 100 * kMiB));
    take(*allocator, 110 * kMiB);
  }
  EXPECT_EQ(reserved_mib(plain), 210);
  EXPECT_EQ(reserved_mib(expandable), 120);  // pages of 20 MiB
}

TEST(caching_allocator, gives_unused_segments_back_before_memory_runs_out) {
  CachingAllocator allocator{{.capacity = 100 * kMiB}};
  allocator.free(take(allocator, 60 * kMiB));
  take(allocator, 80 * kMiB);
  EXPECT_EQ(reserved_mib(allocator), 80);
  EXPECT_EQ(allocator.use().retries, 1);
  EXPECT_FALSE(allocator.allocate(30 * kMiB, 0).has_value());
}

TEST(caching_allocator, has_no_block_larger_than_any_card) {
  CachingAllocator expandable{{.expandable_segments = true}}, plain;
  EXPECT_FALSE(expandable.allocate(std::int64_t{1} << 50, 0).has_value());
  for (int i = 0; i < 8; ++i)  // addresses end somewhere
    if (const auto id = plain.allocate((std::int64_t{1} << 59) + i * 4 * kMiB, 0)) plain.free(*id);
  EXPECT_FALSE(plain.allocate((std::int64_t{1} << 59) + 64 * kMiB, 0).has_value());
}

TEST(caching_allocator, keeps_segments_in_which_something_lives) {
  CachingAllocator allocator{{.capacity = 100 * kMiB}};
  allocator.free(take(allocator, 60 * kMiB));
  take(allocator, 10 * kMiB);  // inside the 60
  EXPECT_FALSE(allocator.allocate(60 * kMiB, 0).has_value());
  EXPECT_EQ(reserved_mib(allocator), 60);
}

TEST(caching_allocator, does_not_split_blocks_of_max_split_size) {
  CachingAllocator allocator{{.max_split_size = 32 * kMiB}};
  allocator.free(take(allocator, 64 * kMiB));
  take(allocator, 16 * kMiB);
  EXPECT_EQ(reserved_mib(allocator), 80);
  take(allocator, 50 * kMiB);  // within 20 MiB of the large one
  EXPECT_EQ(reserved_mib(allocator), 80);
}

TEST(caching_allocator, collects_the_segments_that_wait_longest_above_the_threshold) {
  CachingAllocator allocator{{.garbage_collection_threshold = 0.5, .capacity = 200 * kMiB}};
  allocator.free(take(allocator, 60 * kMiB));
  take(allocator, 80 * kMiB);
  EXPECT_EQ(reserved_mib(allocator), 140);
  take(allocator, 90 * kMiB);  // 140 are above the half of 200
  EXPECT_EQ(reserved_mib(allocator), 170);
  EXPECT_EQ(allocator.use().retries, 0);
}

/// Tensors of random sizes that come and go.
struct RandomCalls {
  explicit RandomCalls(unsigned seed) : draw{seed} {}
  std::mt19937 draw;
  std::vector<AllocationId> alive;
  void one(CachingAllocator& allocator) {
    if (!alive.empty() && draw() % 2 == 0) {
      std::swap(alive[draw() % alive.size()], alive.back());
      allocator.free(alive.back());
      alive.pop_back();
    } else if (const auto id = allocator.allocate(1 + static_cast<std::int64_t>(draw() % (64U << 20U)), 0)) {
      alive.push_back(*id);
    }
  }
};

TEST(caching_allocator, holds_its_laws_over_random_calls) {
  for (const bool expandable : {false, true}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      CachingAllocator allocator{{.expandable_segments = expandable}};
      RandomCalls calls{seed};
      Bytes before;
      for (int i = 0; i < 400; ++i) {
        calls.one(allocator);
        const AllocatorUse use = allocator.use();
        ASSERT_GE(use.reserved, use.allocated);
        ASSERT_GE(use.reserved, before);  // nothing presses: what was taken stays
        ASSERT_EQ(use.peak_reserved, use.reserved);
        ASSERT_LE(use.largest_free, use.cached());
        before = use.reserved;
      }
      for (const AllocationId id : calls.alive) allocator.free(id);
      allocator.empty_cache();
      EXPECT_EQ(allocator.use().reserved.value(), 0);
      EXPECT_EQ(allocator.use().allocated.value(), 0);
    }
  }
}

}  // namespace
}  // namespace hexaplan::costmodel
