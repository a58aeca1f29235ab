#include "presets/scenario/recompute_text.h"

#include <gtest/gtest.h>

#include "presets/json/input_error.h"

namespace hexaplan::presets {
namespace {

class WrittenRecompute : public testing::TestWithParam<std::string> {};
TEST_P(WrittenRecompute, reads_back_the_same) {
  EXPECT_EQ(to_recompute_text(parse_recompute(GetParam(), "recompute")), GetParam());
}
INSTANTIATE_TEST_SUITE_P(table, WrittenRecompute,
                         testing::Values("none", "selective", "selective-op", "full", "layers=4",
                                         "layers=4/0/2/0", "modules=core_attn",
                                         "modules=core_attn,layernorm,mlp"));

TEST(parse_recompute, norm_is_short_for_layernorm) {
  EXPECT_EQ(parse_recompute("modules=norm", "f"), parse_recompute("modules=layernorm", "f"));
}

TEST(parse_recompute, rejects_what_it_does_not_know) {
  for (const char* text : {"", "fulll", "layers", "layers=0", "layers=-1", "layers=x", "layers=1/",
                           "layers=1//2", "modules=", "modules=core_attn,", "modules=mpl"}) {
    EXPECT_THROW((void)parse_recompute(text, "f"), InputError) << text;
  }
}

}  // namespace
}  // namespace hexaplan::presets
