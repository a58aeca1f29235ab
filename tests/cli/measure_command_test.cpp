// `hexaplan measure import`: runs of one's own beside their prediction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kLogs = HEXAPLAN_SOURCE_DIR "/tests/presets/runs/logs/";

TEST(measure_command, says_what_is_steady_in_a_log) {
  const Finished run = run_hexaplan("measure import " + kLogs + "megatron_deepspeed.log");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("Megatron-LM, steps 1 to 4, 4 lines\n  a step takes: 16.1 s (median of 3;"));
  EXPECT_THAT(run.out, HasSubstr("1 of warm-up left out: step 1 (line 3) 17.7 s\n"));
  EXPECT_THAT(run.out, HasSubstr("peak of ranks 0 1: 13.7 GiB allocated, 16.8 GiB reserved\n"));
  EXPECT_THAT(run.out, HasSubstr("bwd_inner 10.5 s"));
}

TEST(measure_command, a_rate_becomes_a_step_once_it_is_known_what_ran) {
  const std::string log = kLogs + "torchtitan_float8.log";
  EXPECT_THAT(run_hexaplan("measure import " + log).out,
              HasSubstr("rate: 7022.0 tokens/s per GPU (median of 3"));
  const Finished run = run_hexaplan("measure import " + log +
                                    " --model llama-3.1-8b --cluster 8xH100 --layout fsdp --framework fsdp2 "
                                    "--seq 8192 --global-batch 8 --compile true");
  EXPECT_THAT(run.out, HasSubstr("a step takes: 1.17 s"));  // 8192 tokens / 7022 tokens/s
  EXPECT_THAT(run.out, HasSubstr("reserved, fullest rank"));
}

TEST(measure_command, megatrons_own_arguments_are_the_question) {
  const presets::JsonValue answer =
      json_of("measure import --json --cluster V100 " + kLogs + "megatron_lm.log");
  EXPECT_EQ(at(answer, "schema"), presets::JsonValue{"hexaplan/measure/1"});
  EXPECT_EQ(at(answer, "scenario.model"), presets::JsonValue{"gpt2-medium"});
  EXPECT_EQ(at(answer, "scenario.layout"), presets::JsonValue{"tp4 sp"});
  const auto* runs = at(answer, "runs").get_if<presets::JsonArray>();
  ASSERT_EQ(runs->size(), 1U);
  EXPECT_NEAR(number_at(runs->front(), "time.seconds"), 0.385, 0.001);
  EXPECT_EQ(number_at(runs->front(), "said.processes"), 4);
  const auto* memory = at(runs->front(), "compared.memory").get_if<presets::JsonArray>();
  ASSERT_EQ(memory->size(), 2U);  // allocated and reserved, of the fullest rank
  EXPECT_NEAR(number_at(memory->front(), "error"), 0, 0.1);
}

TEST(measure_command, what_the_log_and_the_question_say_of_the_same_run_must_agree) {
  const Finished run = run_hexaplan("measure import " + kLogs +
                                    "nemo.log --model qwen3-30b-a3b --cluster 8xH200 --layout ep8 --seq 4096 "
                                    "--global-batch 256");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("not what was asked: the log says global batch 512, the question 256"));
}

TEST(measure_command, the_global_batch_of_the_log_fills_what_nobody_said) {
  const presets::JsonValue answer = json_of("measure import --json " + kLogs +
                                            "nemo.log --model qwen3-30b-a3b --cluster 8xH200 --layout ep8");
  EXPECT_EQ(number_at(answer, "scenario.recipe.global_batch"), 512);
}

TEST(measure_command, a_layout_that_no_rule_allows_is_said_and_the_log_still_read) {
  const Finished run =
      run_hexaplan("measure import " + kLogs +
                   "megatron_mixtral.log --model mixtral-8x7b --cluster 16xH100 --layout 'ep8 pp4'");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("Cannot run: "));
  EXPECT_THAT(run.out, HasSubstr("a step takes: 5.39 s"));
}

TEST(measure_command, says_where_the_steps_of_a_trace_go) {
  const std::string trace = HEXAPLAN_SOURCE_DIR "/tests/presets/runs/traces/a100_ddp_rank0.json.gz";
  const Finished run = run_hexaplan("measure import " + trace);
  if (run.err.find("without zlib") != std::string::npos) GTEST_SKIP();
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("rank 0 of 2, NVIDIA A100-PG509-200"));
  EXPECT_THAT(run.out, HasSubstr("the device runs 23.6 % of it, 76.4 % nothing; messages alone 5.9 %"));
  EXPECT_THAT(run.out, HasSubstr("allreduce default_pg"));
  const Finished asked =
      run_hexaplan("measure import " + trace +
                   " --model gpt2 --cluster 2xA100 --seq 512 --global-batch 2 --framework ddp");
  EXPECT_THAT(asked.out, HasSubstr("where the step loses time"));
  const presets::JsonValue answer = json_of("measure import --json " + trace + " " + trace);
  EXPECT_EQ(at(answer, "traces").get_if<presets::JsonArray>()->size(), 2U);
}

TEST(measure_command, says_what_a_memory_snapshot_holds) {
  const std::string snapshot = HEXAPLAN_SOURCE_DIR "/tests/presets/runs/snapshots/small_5.pickle";
  const Finished run =
      run_hexaplan("measure import " + snapshot + " --model llama-3.2-1b --cluster 1xH100 --seq 512");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("peak over 5 recorded events: 685 KiB allocated, 2 MiB reserved"));
  EXPECT_THAT(run.out, HasSubstr("ran out of memory 1 times, last when 118 MiB were asked for"));
  EXPECT_THAT(run.out, HasSubstr("train.py:7 step"));
  EXPECT_THAT(run.out, HasSubstr("beside the prediction"));
  const presets::JsonValue answer = json_of("measure import --json " + snapshot);
  EXPECT_EQ(at(answer, "snapshots").get_if<presets::JsonArray>()->size(), 1U);
}

TEST(measure_command, needs_a_file_that_it_knows) {
  EXPECT_EQ(run_hexaplan("measure").exit_code, 2);
  EXPECT_EQ(run_hexaplan("measure import").exit_code, 2);
  EXPECT_EQ(run_hexaplan("measure export x.log").exit_code, 2);
  const TemporaryFile notes{"nothing\n"};
  const Finished run = run_hexaplan("measure import " + notes.path());
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("torchtitan"));
  EXPECT_EQ(run.out, "");
}

}  // namespace
}  // namespace hexaplan::cli
