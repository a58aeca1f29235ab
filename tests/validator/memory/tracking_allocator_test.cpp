#include "validator/executor/memory/tracking_allocator.h"

#include <gmock/gmock.h>

namespace hexaplan::validator {
namespace {

using costmodel::DType;
using costmodel::TensorKind;

constexpr TensorLabel kQuery{"attention.query", TensorKind::Activation, DType::Bf16};
constexpr TensorLabel kGradient{"mlp.down.weight", TensorKind::Gradient, DType::Fp32};
constexpr auto kActivation = static_cast<std::size_t>(TensorKind::Activation);

TEST(tracking_allocator, counts_the_bytes_of_the_ledgers_type) {
  TrackingAllocator memory;
  memory.allocated(kQuery, 10);
  memory.allocated(kGradient, 10);
  EXPECT_EQ(memory.live_bytes(), 10 * 2 + 10 * 4);
  EXPECT_EQ(memory.live_by_kind()[kActivation], 20);
}

TEST(tracking_allocator, remembers_what_was_alive_at_the_peak) {
  TrackingAllocator memory;
  memory.allocated(kQuery, 100);
  memory.allocated(kGradient, 25);
  memory.released(kQuery, 100);
  memory.allocated(kGradient, 20);
  EXPECT_EQ(memory.peak_bytes(), 300);
  const auto tensors = memory.peak_tensors();
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(tensors[0].name, "attention.query");
  EXPECT_EQ(tensors[0].bytes, 200);
  EXPECT_EQ(tensors[1].bytes, 100);
}

TEST(tracking_allocator, keeps_a_peak_for_every_instant_of_the_step) {
  TrackingAllocator memory;
  memory.enter(costmodel::kForward);
  memory.allocated(kQuery, 5);
  memory.enter(costmodel::kBackward);
  memory.released(kQuery, 5);
  memory.allocated(kQuery, 3);
  EXPECT_EQ(memory.peak_at(costmodel::kForward)[kActivation], 10);
  EXPECT_EQ(memory.peak_at(costmodel::kBackward)[kActivation], 10) << "alive when the instant began";
  EXPECT_EQ(memory.peak_at(costmodel::kOptimizer)[kActivation], 0);
}

TEST(tracking_allocator, refuses_what_the_limit_forbids_and_names_the_tensor) {
  TrackingAllocator memory;
  memory.set_limit(100);
  memory.allocated(kQuery, 40);
  try {
    memory.allocated(kGradient, 6);
    FAIL() << "104 bytes fit in 100";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.tensor(), "mlp.down.weight");
    EXPECT_EQ(error.requested_bytes(), 24);
    EXPECT_EQ(error.live_bytes(), 80);
    EXPECT_STREQ(error.what(), "mlp.down.weight needs 24 bytes; 80 of 100 are in use");
  }
  EXPECT_EQ(memory.live_bytes(), 80);
  memory.allocated(kGradient, 5);
}

TEST(tracking_allocator, keeps_a_timeline_when_asked) {
  TrackingAllocator memory;
  memory.keep_timeline(true);
  memory.allocated(kQuery, 1);
  memory.released(kQuery, 1);
  ASSERT_EQ(memory.timeline().size(), 2U);
  EXPECT_EQ(memory.timeline()[0].live[kActivation], 2);
  EXPECT_EQ(memory.timeline()[1].live[kActivation], 0);
}

}  // namespace
}  // namespace hexaplan::validator
