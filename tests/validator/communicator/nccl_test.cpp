// The communicator of GPUs on a stand-in for NCCL: all that the host does of it, without a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/validator/communicator/communicator_conformance.h"
#include "tests/validator/communicator/fake_nccl.h"
#include "tests/validator/communicator/fault_of.h"
#include "tests/validator/communicator/streamed_device.h"
#include "validator/executor/communicator/bootstrap/socket.h"
#include "validator/executor/communicator/nccl/nccl_ranks.h"
#include "validator/executor/communicator/rank_fault.h"
#include "validator/executor/device/cpu/cpu_device.h"

namespace hexaplan::validator {
namespace {

using testing::HasSubstr;

/// Runs `program` with a device in use.
void run_on_devices(const RankOptions& options, const RankProgram& program, NcclRanksOptions how = {}) {
  NcclRanks{fake_nccl(), std::move(how)}.run(options, [&](Communicator& world) {
    const auto device = make_cpu_device(Element::F64);
    const DeviceInUse in_use{world, *device};
    program(world);
  });
}

std::vector<ConformanceCase> laws_without_tags() {
  std::vector<ConformanceCase> laws;
  for (const ConformanceCase& law : conformance_cases()) {
    if (!law.needs_tags) laws.push_back(law);
  }
  return laws;
}

class Nccl : public testing::TestWithParam<std::tuple<ConformanceCase, int>> {};

TEST_P(Nccl, keeps_the_contract) {
  const auto& [law, ranks] = GetParam();
  std::vector<std::string> complaints(static_cast<std::size_t>(ranks));
  run_on_devices({.ranks = ranks}, [&, check = law.check](Communicator& world) {
    complaints[static_cast<std::size_t>(world.rank())] = check(world);
  });
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_EQ(complaints[static_cast<std::size_t>(rank)], "") << "on rank " << rank;
}

INSTANTIATE_TEST_SUITE_P(
    Communicator, Nccl, testing::Combine(testing::ValuesIn(laws_without_tags()), testing::Values(1, 2, 3, 4)),
    [](const auto& param) {
      return std::string{std::get<0>(param.param).name} + "_on_" + std::to_string(std::get<1>(param.param));
    });

/// The fault that `program` ends in, on three ranks.
RankFault fault_of_ranks(const RankProgram& program, double timeout = 20) {
  return fault_of([&] { run_on_devices({.ranks = 3, .timeout = costmodel::Seconds{timeout}}, program); });
}

TEST(nccl, neighbours_that_both_send_before_they_receive_do_not_stand_still) {
  run_on_devices({.ranks = 2}, [](Communicator& world) {
    for (int round = 0; round < 20; ++round) {
      const int other = 1 - world.rank();
      std::vector<double> mine(1000, world.rank() + round), theirs(1000);
      world.send(std::span<const double>{mine}, other, kCall).wait();
      std::fill(mine.begin(), mine.end(), -1);
      world.receive(std::span{theirs}, other, kCall).wait();
      ASSERT_EQ(theirs, std::vector<double>(1000, other + round));
    }
  });
}

TEST(nccl, a_message_that_is_never_taken_holds_up_no_collective) {
  run_on_devices({.ranks = 2}, [](Communicator& world) {
    std::vector<double> early(100, 7);
    if (world.rank() == 0) world.send(std::span<const double>{early}, 1, kCall).wait();
    for (int i = 0; i < 5; ++i) meet(world);
    if (world.rank() == 1) world.receive(std::span{early}, 0, kCall).wait();
  });
}

TEST(nccl, a_rank_that_throws_wakes_the_others_and_is_named) {
  const RankFault fault = fault_of_ranks([](Communicator& world) {
    meet(world);
    if (world.rank() == 2) throw std::length_error{"no room for logits"};
    meet(world);
  });
  EXPECT_STREQ(fault.what(),
               "rank 2 after mlp.down (all-reduce), layer 3, micro-batch 1: no room for logits");
  EXPECT_EQ(fault.fault.cause, FaultCause::Threw);
}

/// An error of what runs between two messages.
struct KnowsItsPlace : std::runtime_error, PlacedError {
  KnowsItsPlace()
      : std::runtime_error{"mlp.up of layer 5: no room"},
        PlacedError{{.text = "mlp.up of layer 5", .operation = "mlp.up", .layer = 5}} {}
};

TEST(nccl, other_ranks_hear_where_an_error_lies) {
  std::optional<StepPlace> heard;
  const RankFault fault = fault_of_ranks([&](Communicator& world) {
    meet(world);
    if (world.rank() == 2) throw KnowsItsPlace{};
    try {
      while (true) meet(world);
    } catch (const RankFault& of_another) {
      if (world.rank() == 1) heard = of_another.fault.place;
      throw;
    }
  });
  EXPECT_STREQ(fault.what(), "rank 2: mlp.up of layer 5: no room");
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->operation, "mlp.up");
  EXPECT_EQ(heard->layer, 5);
}

TEST(nccl, ranks_that_wait_too_long_say_where) {
  const auto begin = std::chrono::steady_clock::now();
  const RankFault fault = fault_of_ranks(
      [](Communicator& world) {
        meet(world);
        if (world.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds{3});
        meet(world);
      },
      1);
  EXPECT_EQ(fault.fault.cause, FaultCause::TimedOut);
  EXPECT_THAT(fault.what(), HasSubstr("mlp.down (all-reduce), layer 3"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{30});
}

/// NCCL keeps its caller while ranks connect: one that never comes back from there.
TEST(nccl, a_call_that_does_not_come_back_is_aborted_by_the_watcher) {
  static std::atomic<int> aborted{0};
  aborted = 0;
  HexaplanNccl keeps = fake_nccl();
  keeps.all_reduce = [](void*, void*, void*, std::int64_t, int, int) -> int {
    while (aborted == 0) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    return kHexaplanNcclFailed;
  };
  keeps.abort = [](void* communicator) {
    ++aborted;
    fake_nccl().abort(communicator);
  };
  const RankFault fault = fault_of([&] {
    NcclRanks{keeps, {}}.run({.ranks = 2, .timeout = costmodel::Seconds{0.5}}, [](Communicator& world) {
      const auto device = make_cpu_device(Element::F64);
      const DeviceInUse in_use{world, *device};
      meet(world);
    });
  });
  EXPECT_EQ(fault.fault.cause, FaultCause::TimedOut) << fault.what();
  EXPECT_THAT(fault.what(), HasSubstr("in mlp.down (all-reduce), layer 3"));
  EXPECT_GT(aborted, 0);
}

TEST(nccl, a_message_that_nobody_sends_is_given_up) {
  const RankFault fault = fault_of_ranks(
      [](Communicator& world) {
        double value = 0;
        if (world.rank() == 0) world.receive(std::span{&value, 1}, 1, kCall).wait();
        meet(world);
      },
      1);
  EXPECT_EQ(fault.fault.cause, FaultCause::TimedOut) << fault.what();
}

/// Streams that all-reduces ran on and splits that were made, of rank 0.
struct Seen {
  std::vector<void*> streams;
  int splits = 0;
};
Seen& seen() {
  static thread_local Seen here;
  return here;
}

/// One all-reduce that the host does not wait for.
void meet_later(Communicator& world) {
  static thread_local double value = 1;
  world.all_reduce(std::span{&value, 1}, Reduction::Sum, kCall).wait();
}

/// What `program` makes of its groups on the streams of a device, as rank 0 of three sees it.
Seen& run_seen(const std::function<void(Communicator& world)>& program) {
  static Seen of_rank_0;
  HexaplanNccl watched = fake_nccl();
  watched.all_reduce = [](void* communicator, void* stream, void* data, std::int64_t count, int type,
                          int reduction) {
    seen().streams.push_back(stream);
    return fake_nccl().all_reduce(communicator, stream, data, count, type, reduction);
  };
  watched.split = [](void* parent, int colour, int key) {
    ++seen().splits;
    return fake_nccl().split(parent, colour, key);
  };
  of_rank_0.streams.clear();
  NcclRanks{watched, {}}.run({.ranks = 3}, [&](Communicator& world) {
    const auto device = make_streamed_device();
    const DeviceInUse in_use{world, *device};
    program(world);
    device->synchronize();  // what it was given reads this thread's memory
    if (world.rank() != 0) return;
    of_rank_0.streams = seen().streams;
    of_rank_0.splits = seen().splits;
  });
  return of_rank_0;
}

std::vector<int> first_two_or_alone(const Communicator& world) {
  return world.rank() < 2 ? std::vector{0, 1} : std::vector{2};
}

TEST(nccl, groups_of_other_ranks_do_not_wait_for_each_other) {
  const Seen& here = run_seen([](Communicator& world) {
    const auto pair = world.split(first_two_or_alone(world), costmodel::Group::Tensor);
    meet_later(world);
    if (pair->size() == 2) meet_later(*pair);
    meet_later(world);
  });
  ASSERT_EQ(here.streams.size(), 3U);
  EXPECT_NE(here.streams[0], here.streams[1]) << "one stream is one order";
  EXPECT_EQ(here.streams[0], here.streams[2]);
}

TEST(nccl, groups_of_the_same_ranks_are_one_communicator) {
  const Seen& here = run_seen([](Communicator& world) {
    const std::vector<int> all{0, 1, 2};
    const auto tensor = world.split(first_two_or_alone(world), costmodel::Group::Tensor);
    const auto shard = world.split(first_two_or_alone(world), costmodel::Group::Shard);
    const auto data = world.split(all, costmodel::Group::Data);
    if (tensor->size() == 2) {
      meet_later(*tensor);
      meet_later(*shard);
    }
    meet_later(*data);
    // Known to some ranks and new to others: all take part in a split.
    const auto mixed =
        world.split(world.rank() == 1 ? std::vector{1} : std::vector{0, 2}, costmodel::Group::Mirror);
    if (mixed->size() == 2) meet_later(*mixed);
    EXPECT_EQ(world.traffic().of(costmodel::CollectiveKind::AllReduce, costmodel::Group::Shard).messages,
              world.rank() < 2 ? 1 : 0)
        << "counted under its own name";
  });
  EXPECT_EQ(here.splits, 2) << "of the first pair and of the mixed one; the world is there already";
  ASSERT_EQ(here.streams.size(), 4U);
  EXPECT_EQ(here.streams[0], here.streams[1]);
}

TEST(nccl, the_device_times_messages_where_calls_are_timed_but_for_the_first) {
  run_on_devices({.ranks = 2}, [](Communicator& world) {
    const auto count = [&] {
      world.settle_traffic();
      return world.traffic().of(costmodel::CollectiveKind::AllReduce, costmodel::Group::World);
    };
    for (int i = 0; i < 3; ++i) meet(world);
    EXPECT_EQ(count().messages, 3);
    EXPECT_EQ(count().timed, 2) << "the first one connects";
    EXPECT_EQ(count().device_time.value(), 2 * kFakeMessageTime.value());
    EXPECT_EQ(count().timed_bytes.value(), count().bytes.value() * 2 / 3);
  });
}

TEST(nccl, processes_of_a_launcher_with_a_gpu_each) {
  // Two "processes", each with its part of the job: as torchrun would start them.
  const int port = port_of(listen_on(0));  // free a moment ago
  const auto place = [&](int process) {
    return NcclRanksOptions{.place = JobPlace{.launcher = "test",
                                              .process = process,
                                              .processes = 2,
                                              .local_process = process,
                                              .meeting = {"127.0.0.1", port},
                                              .job = "two"},
                            .gpus = 2};
  };
  std::atomic<int> sum{0};
  std::thread other{[&] {
    run_on_devices(
        {.ranks = 4},
        [&](Communicator& world) {
          sum += world.rank();
          meet(world);
        },
        place(1));
  }};
  run_on_devices(
      {.ranks = 4},
      [&](Communicator& world) {
        sum += world.rank();
        meet(world);
      },
      place(0));
  other.join();
  EXPECT_EQ(sum, 0 + 1 + 2 + 3);
  const NcclRanks ranks{fake_nccl(), place(1)};
  EXPECT_EQ(ranks.fixed_ranks(), 4);
  EXPECT_EQ(ranks.first_local_rank(), 2);
  EXPECT_EQ(ranks.gpu_of(3), 3);
}

TEST(nccl, too_few_gpus_or_ranks_are_refused_with_a_way_out) {
  HexaplanNccl one_gpu = fake_nccl();
  one_gpu.gpus = [] { return 1; };
  const auto refusal = [](NcclRanks ranks, int needed) -> std::string {
    try {
      ranks.run({.ranks = needed}, [](Communicator&) {});
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(NcclRanks{one_gpu, {}}, 8), HasSubstr("1 GPU found, 8 needed"));
  EXPECT_THAT(refusal(NcclRanks{fake_nccl(), {.place = {}, .gpus = 2}}, 8),
              HasSubstr("the layout has 8 ranks"));
}

}  // namespace
}  // namespace hexaplan::validator
