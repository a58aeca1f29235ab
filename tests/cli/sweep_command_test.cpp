// `hexaplan search --sweep` and `--sensitivity`: each cell is one search, as data and as text.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using presets::JsonArray;
using presets::JsonValue;
using testing::HasSubstr;

const std::string kQuestion =
    "search --model llama-3.1-8b --cluster 2x8xH100 --global-batch 64 --pp 1,2 --quiet ";

const JsonArray& array_at(const JsonValue& value, const std::string& path) {
  return *at(value, path).get_if<JsonArray>();
}
std::string word(const JsonValue& value) {
  return *value.get_if<std::string>();
}

TEST(sweep_command, every_cell_is_the_first_plan_of_the_search_with_its_flags) {
  const JsonValue sweep = json_of(kQuestion + "--sweep seq=4k..16k,gpus=8,16 --json");
  const JsonArray& cells = array_at(sweep, "cells");
  ASSERT_EQ(cells.size(), 6U);
  std::size_t next = 0;
  for (const char* sequence : {"4096", "8192", "16384"}) {
    for (const char* gpus : {"8", "16"}) {
      const JsonValue& cell = cells[next++];
      EXPECT_EQ(word(array_at(cell, "at")[0]), sequence);
      EXPECT_EQ(word(array_at(cell, "at")[1]), gpus);
      const JsonValue found = json_of(fmt::format("{}--seq {} --gpus {} --json", kQuestion, sequence, gpus));
      EXPECT_EQ(at(cell, "plan"), array_at(found, "plans")[0]) << sequence << " " << gpus;
      EXPECT_TRUE(at(cell, "nothing_because").is_null());
    }
  }
}

TEST(sweep_command, any_option_of_the_search_is_an_axis) {
  for (const char* axis : {"gpu=h100,a100 --gpus 8", "micro-batch=1..4", "network=ib100,ib400",
                           "framework=megatron,fsdp2", "model=llama-3.1-8b,llama-3.2-1b", "batch=32,64",
                           "optimizer=adamw,lion", "max-memory=50%,90%", "price=1,2"}) {
    const JsonValue sweep = json_of(fmt::format("{}--seq 4k --sweep {} --json", kQuestion, axis));
    const JsonArray& cells = array_at(sweep, "cells");
    ASSERT_GE(cells.size(), 2U) << axis;
    EXPECT_FALSE(at(cells[0], "plan").is_null()) << axis;
    EXPECT_NE(at(cells[0], "plan"), at(cells[1], "plan")) << axis;
  }
}

TEST(sweep_command, says_of_a_cell_without_a_plan_why) {
  const std::string question =
      "search --model llama-3.1-70b --cluster 8xH100 --global-batch 8 --seq 4k --quiet --sweep gpus=8,64 ";
  const JsonValue sweep = json_of(question + "--json");
  const JsonArray& cells = array_at(sweep, "cells");
  EXPECT_TRUE(at(cells[0], "plan").is_null());
  EXPECT_THAT(word(at(cells[0], "nothing_because")), HasSubstr("fits-in-memory: the one that comes closest"));
  EXPECT_FALSE(at(cells[1], "plan").is_null());
  const Finished text = run_hexaplan(question);
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("Nothing found\n  8: fits-in-memory: the one that comes closest"));
}

TEST(sweep_command, writes_a_grid_and_a_row_for_each_cell) {
  const Finished text = run_hexaplan(kQuestion + "--sweep seq=4k..8k,gpus=8,16 --tokens 1T");
  EXPECT_THAT(text.out, HasSubstr("Tokens per second and GPU of the best plan\nseq \\ gpus"));
  EXPECT_THAT(text.out, HasSubstr("training"));
  const Finished csv = run_hexaplan(kQuestion + "--sweep seq=4k..8k,gpus=8,16 --csv");
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 5);
  EXPECT_EQ(csv.out.rfind("sweep_seq,sweep_gpus,cluster,gpus,layout,", 0), 0U) << csv.out;
}

TEST(sweep_command, refuses_what_is_no_axis) {
  const auto error = [](const std::string& more) {
    const Finished done = run_hexaplan(kQuestion + more);
    EXPECT_EQ(done.exit_code, 2) << more;
    return done.err;
  };
  EXPECT_THAT(error("--sweep sequ=4k..8k"), HasSubstr("did you mean \"seq\"?"));
  EXPECT_THAT(error("--sweep 4k..8k"), HasSubstr("expected axes such as seq=4k..128k,gpus=64..4096"));
  EXPECT_THAT(error("--sweep seq=8k..4k"), HasSubstr("expected a range of whole numbers that doubles"));
  EXPECT_THAT(error("--sweep seq=4k,gpus=8,tp=1"), HasSubstr("expected one or two different options"));
  EXPECT_THAT(error("--sweep seq=4k,seq=8k"), HasSubstr("expected one or two different options"));
  EXPECT_THAT(error("--sweep seq=4k,gpus=8 --sensitivity"), HasSubstr("--sensitivity: got given"));
  EXPECT_THAT(error("--sweep seq=4k,gpus=12"), HasSubstr("--gpus"));
}

TEST(search_command, tells_how_the_first_plan_changes_with_the_machines) {
  const JsonValue found = json_of(kQuestion + "--seq 4k --sensitivity --json");
  const JsonValue& first = array_at(found, "plans")[0];
  const double step = number_at(first, "price.step_seconds");
  std::vector<std::string> changes;
  for (const JsonValue& changed : array_at(found, "sensitivity")) {
    changes.push_back(word(at(changed, "change")));
    // More of anything leaves every plan of before at least as fast and as safe.
    EXPECT_LE(number_at(changed, "plan.price.step_seconds"), step * (1 + 1e-9)) << changes.back();
    const double dollars = number_at(changed, "plan.price.dollars_per_step");
    if (changes.back().rfind("price", 0) == 0) {
      const double factor = changes.back() == "price 10 % lower" ? 0.9 : 1.1;
      EXPECT_NEAR(dollars, factor * number_at(first, "price.dollars_per_step"), 1e-9);
    }
  }
  EXPECT_THAT(changes, testing::ElementsAre("1 GiB more memory per GPU", "100 Gbit/s more per node",
                                            "links inside nodes 25 % faster", "price 10 % lower",
                                            "price 10 % higher"));
  const Finished text = run_hexaplan(kQuestion + "--seq 4k --sensitivity");
  EXPECT_THAT(text.out, HasSubstr("Sensitivity of the first plan"));
}

TEST(sweep_command, writes_a_page_that_asks_for_its_fastest_plan) {
  const TemporaryFile page{"", ".html"};
  const Finished run = run_hexaplan(kQuestion + "--sweep seq=4k,8k,gpus=8,16 --html " + page.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const std::string html = content_of(page.path());
  EXPECT_THAT(html, HasSubstr("4 of 4 searches found a plan."));
  const JsonValue again = json_of("estimate --scenario " + page.path() + " --json");
  const JsonValue sweep = json_of(kQuestion + "--sweep seq=4k,8k,gpus=8,16 --json");
  double most = 0;
  for (const JsonValue& cell : array_at(sweep, "cells"))
    most = std::max(most, number_at(cell, "plan.price.tokens_per_second_per_gpu"));
  // The search simulates its plans, the estimate has closed forms.
  EXPECT_NEAR(number_at(again, "throughput.tokens_per_second_per_gpu"), most, most * 0.01);
}

}  // namespace
}  // namespace hexaplan::cli
