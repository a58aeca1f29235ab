// `hexaplan export`: a plan in the words of its framework.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using testing::HasSubstr;

constexpr const char* kPlan = "export --model llama-3.1-8b --cluster 16xH100 --seq 4096 --global-batch 64 ";

TEST(export_command, writes_the_framework_s_file_and_says_what_it_cannot_say) {
  const Finished run = run_hexaplan(std::string{kPlan} + "--layout 'tp2 zero1' --framework torchtitan");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\ntensor_parallel_degree = 2\n"));
  EXPECT_THAT(run.err, HasSubstr("ZeRO-1: torchtitan shards parameters too, or nothing"));
}

TEST(export_command, takes_the_framework_from_the_scenario) {
  const TemporaryFile scenario{
      R"({"schema": "hexaplan/scenario/1", "model": "llama-3.1-8b", "cluster": "8xH100",
      "framework": "nanotron", "layout": "tp2", "recipe": {"sequence": 4096, "global_batch": 64}})",
      ".json"};
  const Finished run = run_hexaplan("export --scenario " + scenario.path());
  EXPECT_THAT(run.out, HasSubstr("\n  tp: 2\n")) << run.err;
}

TEST(export_command, a_layout_that_cannot_run_has_no_file) {
  const Finished run = run_hexaplan(std::string{kPlan} + "--layout tp2,ep3");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("cannot run"));
}

TEST(export_command, names_the_frameworks_whose_files_it_can_write) {
  const Finished run = run_hexaplan(std::string{kPlan} + "--framework maxtext");
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("megatron, nanotron, torchtitan, deepspeed"));
}

}  // namespace
}  // namespace hexaplan::cli
