#include "presets/scenario/layout_text.h"

#include <gtest/gtest.h>

#include "presets/json/input_error.h"

namespace hexaplan::presets {
namespace {

using costmodel::Layout;
using costmodel::ScheduleKind;
using costmodel::StageSplit;

TEST(parse_layout, reads_degrees_in_any_order_and_spelling) {
  const LayoutRequest spaced = parse_layout("tp8 pp4 dp16 zero1 sp vpp2 cp2 ep8 etp1", "layout");
  EXPECT_EQ(spaced, parse_layout("ETP=1, ep=8,cp2  vpp2 SP Zero1\tdp16 PP4,tp8", "layout"));
  const Layout& l = spaced.layout;
  EXPECT_TRUE(spaced.dp_given);
  EXPECT_EQ((std::vector{l.dp, l.tp, l.cp, l.pp, l.vpp, l.ep, l.etp}), (std::vector{16, 8, 2, 4, 2, 8, 1}));
  EXPECT_TRUE(l.sp);
  EXPECT_EQ(l.sharding.stage, 1);
}

TEST(parse_layout, nothing_is_one_rank_whose_dp_is_open) {
  EXPECT_EQ(parse_layout("", "layout"), LayoutRequest{});
  EXPECT_FALSE(parse_layout("tp8", "layout").dp_given);
}

TEST(parse_layout, model_chunks_are_interleaved_unless_a_schedule_is_named) {
  EXPECT_EQ(parse_layout("pp4 vpp2", "layout").layout.schedule, ScheduleKind::Interleaved);
  EXPECT_EQ(parse_layout("pp4 vpp2 zb-v", "layout").layout.schedule, ScheduleKind::Zbv);
}

TEST(parse_layout, sharding_has_several_names) {
  EXPECT_EQ(parse_layout("fsdp", "layout").layout.sharding.stage, 3);
  EXPECT_EQ(parse_layout("hsdp8", "layout").layout.sharding.group, 8);
  EXPECT_EQ(parse_layout("hsdp8", "layout").layout.sharding.stage, 3);
  EXPECT_EQ(parse_layout("ddp", "layout").layout.sharding.stage, 0);
}

class WrittenLayout : public testing::TestWithParam<std::string> {};
TEST_P(WrittenLayout, reads_back_the_same) {
  EXPECT_EQ(to_layout_text(parse_layout(GetParam(), "layout")), GetParam());
}
INSTANTIATE_TEST_SUITE_P(table, WrittenLayout,
                         testing::Values("", "dp1", "dp16 tp8 cp2 pp4 vpp2 ep8 etp1 sp zero1", "tp8 zero3",
                                         "hsdp8", "zero1 shard64", "zero3 hpz8 qwz qgz", "pp4 zb-h1",
                                         "pp4 zb-v", "pp2 dualpipev", "pp4 vpp2 1f1b", "cp4 allgather",
                                         "cp4 alltoall", "pp4 ends-minus-one", "pp4 compute-cost",
                                         "pp4 stages=4/5/5/4", "pp4 vocab-1", "pp4 vocab-interlaced",
                                         "partition-activations", "order=tp/dp/cp/pp"));

struct BadLayout {
  std::string name;
  std::string text;
  std::string message;
};
class LayoutError : public testing::TestWithParam<BadLayout> {};
TEST_P(LayoutError, says_which_word_and_why) {
  try {
    (void)parse_layout(GetParam().text, "--layout");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), "--layout: " + GetParam().message);
  }
}
INSTANTIATE_TEST_SUITE_P(
    table, LayoutError,
    testing::Values(
        BadLayout{"unknown_word", "tp8 tpp4",
                  "got \"tpp4\", expected a layout word such as tp8, pp4, zero1 or sp; did you mean \"tp\"?"},
        BadLayout{"zero", "tp0", "got \"tp0\", expected tp with a whole number from 1 to 1000000"},
        BadLayout{"negative", "tp-2", "got \"tp-2\", expected tp with a whole number from 1 to 1000000"},
        BadLayout{"no_number", "tp", "got \"tp\", expected tp with a whole number from 1 to 1000000"},
        BadLayout{"overflow", "tp99999999999999999999",
                  "got \"tp99999999999999999999\", expected tp with a whole number from 1 to 1000000"},
        BadLayout{"fraction", "tp1.5", "got \"tp1.5\", expected tp with a whole number from 1 to 1000000"},
        BadLayout{"zero_four", "zero4", "got \"zero4\", expected zero with a whole number from 0 to 3"},
        BadLayout{"twice", "tp2 tp4", "got \"tp4\", expected tp only once"},
        BadLayout{"sharding_twice", "zero1 fsdp", "got \"fsdp\", expected zero only once"},
        BadLayout{"schedule_twice", "1f1b zb-v", "got \"zb-v\", expected schedule only once"},
        BadLayout{"absurd_world", "dp1000000 tp1000",
                  "got a world of more than 10 million ranks, expected dp·tp·cp·pp of at most 10,000,000"},
        BadLayout{"bad_stages", "stages=4/x",
                  "got \"stages=4/x\", expected stages with layers per chunk, as in stages=4/5/5/4"},
        BadLayout{
            "bad_order", "order=tp/tp/dp/pp",
            "got \"order=tp/tp/dp/pp\", expected each of tp, cp, dp, pp once, as in order=tp/cp/dp/pp"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace hexaplan::presets
