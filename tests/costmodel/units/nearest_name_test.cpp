#include "costmodel/units/nearest_name.h"

#include <gtest/gtest.h>

namespace hexaplan::costmodel {
namespace {

constexpr std::string_view kNames[] = {
    "tensor_parallel", "pipeline_parallel", "micro_batch", "tp", "h100-80-sxm", "h200"};

struct NearestCase {
  std::string name;
  std::string_view word, nearest;
};
class NearestName : public testing::TestWithParam<NearestCase> {};
TEST_P(NearestName, is) {
  EXPECT_EQ(nearest_name(GetParam().word, kNames), GetParam().nearest);
}
INSTANTIATE_TEST_SUITE_P(table, NearestName,
                         testing::Values(NearestCase{"dropped_letter", "tensor_paralel", "tensor_parallel"},
                                         NearestCase{"swapped_letters", "mirco_batch", "micro_batch"},
                                         NearestCase{"case_and_dashes", "Micro-Batch", "micro_batch"},
                                         NearestCase{"short_word", "tpp", "tp"},
                                         NearestCase{"same", "h200", "h200"},
                                         NearestCase{"nothing_like_it", "colour", ""},
                                         NearestCase{"one_letter", "x", ""}, NearestCase{"empty", "", ""}),
                         [](const auto& row) { return row.param.name; });

TEST(nearest_name, prefers_the_first_of_equals) {
  constexpr std::string_view kEqual[] = {"abcd", "abce"};
  EXPECT_EQ(nearest_name("abcf", kEqual), "abcd");
}

TEST(nearest_name, is_quick_on_absurd_words) {
  EXPECT_EQ(nearest_name(std::string(1'000'000, 'a'), kNames), "");
}

}  // namespace
}  // namespace hexaplan::costmodel
