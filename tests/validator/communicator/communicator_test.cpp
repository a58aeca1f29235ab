#include <gtest/gtest.h>

#include <tuple>

#include "tests/validator/communicator/communicator_conformance.h"
#include "validator/executor/communicator/threads/thread_ranks.h"

namespace hexaplan::validator {
namespace {

class Threads : public testing::TestWithParam<std::tuple<ConformanceCase, int>> {};

TEST_P(Threads, keep_the_contract) {
  const auto& [law, ranks] = GetParam();
  std::vector<std::string> complaints(static_cast<std::size_t>(ranks));
  ThreadRanks{}.run({.ranks = ranks}, [&, check = law.check](Communicator& world) {
    complaints[static_cast<std::size_t>(world.rank())] = check(world);
  });
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_EQ(complaints[static_cast<std::size_t>(rank)], "") << "on rank " << rank;
}

INSTANTIATE_TEST_SUITE_P(Communicator, Threads,
                         testing::Combine(testing::ValuesIn(conformance_cases()),
                                          testing::Values(1, 2, 3, 4, 8)),
                         [](const auto& param) {
                           return std::string{std::get<0>(param.param).name} + "_on_" +
                                  std::to_string(std::get<1>(param.param));
                         });

}  // namespace
}  // namespace hexaplan::validator
