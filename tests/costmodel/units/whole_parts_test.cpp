#include "costmodel/units/whole_parts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace hexaplan::costmodel {
namespace {

TEST(whole_parts, the_largest_fractions_are_rounded_up) {
  EXPECT_EQ(whole_parts(std::vector{1.5, 2.25, 0.25}, 4), (std::vector<std::int64_t>{2, 2, 0}));
  EXPECT_EQ(whole_parts(std::vector{10.2, 0.5, 0.3}, 11), (std::vector<std::int64_t>{10, 1, 0}));
  EXPECT_EQ(whole_parts(std::vector{3.0, 7.0}, 10), (std::vector<std::int64_t>{3, 7}));
}

TEST(whole_parts, the_largest_part_takes_what_parts_of_another_sum_leave) {
  EXPECT_EQ(whole_parts(std::vector{1.0, 5.0}, 4), (std::vector<std::int64_t>{1, 3}));
  EXPECT_TRUE(whole_parts({}, 4).empty());
}

TEST(whole_parts, add_up_to_the_whole_and_are_off_by_less_than_a_byte) {
  std::mt19937_64 draw(7);
  for (int run = 0; run < 1000; ++run) {
    std::vector<double> parts(1 + draw() % 12);
    for (double& part : parts) part = static_cast<double>(draw() % (1 << 30)) / 64;
    const auto total = std::llround(std::accumulate(parts.begin(), parts.end(), 0.0));
    const std::vector<std::int64_t> whole = whole_parts(parts, total);
    EXPECT_EQ(std::accumulate(whole.begin(), whole.end(), std::int64_t{0}), total);
    for (std::size_t i = 0; i < parts.size(); ++i)
      EXPECT_LT(std::abs(static_cast<double>(whole[i]) - parts[i]), 1);
  }
}

}  // namespace
}  // namespace hexaplan::costmodel
