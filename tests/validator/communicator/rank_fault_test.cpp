#include "validator/executor/communicator/rank_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "tests/validator/communicator/fault_of.h"
#include "validator/executor/communicator/communicator.h"
#include "validator/executor/communicator/threads/thread_ranks.h"

namespace hexaplan::validator {
namespace {

using testing::HasSubstr;

/// The fault that `program` ends in, on four ranks.
RankFault fault_of_ranks(const RankProgram& program, double timeout = 20) {
  return fault_of([&] { ThreadRanks{}.run({.ranks = 4, .timeout = costmodel::Seconds{timeout}}, program); });
}

TEST(rank_fault, a_rank_that_throws_wakes_the_others_and_is_named) {
  const RankFault fault = fault_of_ranks([](Communicator& world) {
    meet(world);
    if (world.rank() == 2) throw std::length_error{"no room for logits"};
    meet(world);
  });
  EXPECT_STREQ(fault.what(),
               "rank 2 after mlp.down (all-reduce), layer 3, micro-batch 1: no room for logits");
  EXPECT_EQ(fault.fault.cause, FaultCause::Threw);
  EXPECT_EQ(fault.fault.last_calls.size(), 4U);
  EXPECT_THROW(std::rethrow_exception(fault.original), std::length_error);
  EXPECT_FALSE(fault.ranks_left_behind);
}

/// An error of what runs between two messages.
struct KnowsItsPlace : std::runtime_error, PlacedError {
  KnowsItsPlace()
      : std::runtime_error{"mlp.up of layer 5: no room"},
        PlacedError{{.text = "mlp.up of layer 5", .operation = "mlp.up", .layer = 5}} {}
};

TEST(rank_fault, an_error_that_knows_its_place_is_named_by_it_and_not_by_the_last_message) {
  const RankFault fault = fault_of_ranks([](Communicator& world) {
    meet(world);
    if (world.rank() == 2) throw KnowsItsPlace{};
    meet(world);
  });
  EXPECT_STREQ(fault.what(), "rank 2: mlp.up of layer 5: no room");
  ASSERT_TRUE(fault.fault.place);
  EXPECT_EQ(fault.fault.place->operation, "mlp.up");
  EXPECT_EQ(fault.fault.place->layer, 5);
}

TEST(rank_fault, a_rank_that_does_not_arrive_is_named_when_the_time_is_over) {
  const RankFault fault = fault_of_ranks(
      [](Communicator& world) {
        meet(world);
        if (world.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds{600});
        meet(world);
      },
      0.2);
  EXPECT_EQ(fault.fault.cause, FaultCause::TimedOut);
  EXPECT_EQ(fault.fault.rank, 1);
  EXPECT_THAT(fault.what(), HasSubstr("did not come within 0.2 s to mlp.down (all-reduce), layer 3"));
}

TEST(rank_fault, the_rank_that_keeps_a_chain_waiting_is_named_not_its_neighbour) {
  const RankFault fault = fault_of_ranks(
      [](Communicator& world) {
        double value = 0;
        if (world.rank() == 3) std::this_thread::sleep_for(std::chrono::milliseconds{600});
        if (world.rank() < 3) world.receive(std::span{&value, 1}, world.rank() + 1, kCall).wait();
        if (world.rank() > 0) world.send(std::span<const double>{&value, 1}, world.rank() - 1, kCall).wait();
      },
      0.2);
  EXPECT_EQ(fault.fault.rank, 3);
}

TEST(rank_fault, a_rank_that_ends_early_is_noticed_at_once) {
  const auto begin = std::chrono::steady_clock::now();
  const RankFault fault = fault_of_ranks([](Communicator& world) {
    if (world.rank() != 3) meet(world);
  });
  EXPECT_EQ(fault.fault.cause, FaultCause::Died);
  EXPECT_EQ(fault.fault.rank, 3);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{10});
}

TEST(rank_fault, calls_that_do_not_fit_together_are_reported_with_both) {
  const RankFault sizes = fault_of_ranks([](Communicator& world) {
    std::vector<double> data(world.rank() == 2 ? 3 : 2);
    world.all_reduce(std::span{data}, Reduction::Sum, kCall).wait();
  });
  EXPECT_EQ(sizes.fault.cause, FaultCause::Mismatch);
  EXPECT_THAT(sizes.what(), HasSubstr("meets rank 2 in mlp.down, layer 3, with 3 elements"));
  const RankFault message = fault_of_ranks([](Communicator& world) {
    std::vector<double> data(static_cast<std::size_t>(world.rank() + 1));
    if (world.rank() == 0) world.send(std::span<const double>{data}, 1, kCall).wait();
    if (world.rank() == 1) world.receive(std::span{data}, 0, kCall).wait();
  });
  EXPECT_THAT(message.what(), HasSubstr("expects 16 bytes of rank 0, which sent 8"));
}

TEST(rank_fault, ranks_that_list_different_groups_are_told_so) {
  const RankFault fault = fault_of_ranks([](Communicator& world) {
    const std::vector<int> all{0, 1, 2, 3}, two{2, 3};
    (void)world.split(world.rank() == 3 ? two : all, costmodel::Group::Data);
  });
  EXPECT_EQ(fault.fault.cause, FaultCause::Mismatch);
  EXPECT_THAT(fault.what(), HasSubstr("list different members of a new group"));
}

TEST(rank_fault, a_fault_ends_waits_in_other_groups_too) {
  const RankFault fault = fault_of_ranks([](Communicator& world) {
    const auto pair = world.split(ranks_where(4, [&](int r) { return r / 2 == world.rank() / 2; }),
                                  costmodel::Group::Tensor);
    if (world.rank() == 0) throw std::runtime_error{"broken"};
    if (world.rank() == 3) {
      double never = 0;
      pair->receive(std::span{&never, 1}, 0, kCall).wait();
    }
    meet(*pair);
  });
  EXPECT_EQ(fault.fault.rank, 0);
  EXPECT_THAT(fault.what(), HasSubstr("broken"));
}

TEST(rank_fault, a_rank_that_cannot_be_stopped_is_left_behind_after_the_grace) {
  std::promise<void>* const never_freed = new std::promise<void>;  // the hung rank outlives the test
  const std::shared_future<void> release = never_freed->get_future().share();
  try {
    ThreadRanks{}.run({.ranks = 2, .timeout = costmodel::Seconds{0.1}, .grace = costmodel::Seconds{0.2}},
                      [release](Communicator& world) {
                        if (world.rank() == 1) return release.wait();
                        meet(world);
                      });
    FAIL() << "no fault";
  } catch (const RankFault& fault) {
    EXPECT_TRUE(fault.ranks_left_behind);
    EXPECT_EQ(fault.fault.rank, 1);
  }
  never_freed->set_value();
  std::this_thread::sleep_for(std::chrono::milliseconds{200});
  delete never_freed;
}

}  // namespace
}  // namespace hexaplan::validator
