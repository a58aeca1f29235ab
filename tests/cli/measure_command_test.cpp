// `hexaplan measure import`: runs of one's own beside their prediction.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

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

TEST(measure_command, reads_what_nsight_systems_exports) {
  const std::string file = HEXAPLAN_SOURCE_DIR "/tests/presets/runs/nsight/cloverleaf_2024.sqlite";
  const Finished run = run_hexaplan("measure import " + file);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("Nsight Systems, NVIDIA A100-SXM4-80GB, 80 events, no steps marked"));
  EXPECT_THAT(run.out, HasSubstr("the device runs 55.7 % of it"));
  const TemporaryFile report{"NVDA", ".nsys-rep"};
  EXPECT_THAT(run_hexaplan("measure import " + report.path()).err,
              HasSubstr("write nsys export --type sqlite"));
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

TEST(measure_command, says_what_nvidia_smi_logged_beside_the_prediction) {
  const TemporaryFile log{
      "index, utilization.gpu [%], memory.used [MiB], power.draw [W], clocks.current.sm [MHz]\n"
      "0, 0 %, 500 MiB, 70 W, 345 MHz\n0, 99 %, 20480 MiB, 650 W, 1740 MHz\n",
      ".csv"};
  const std::string question = " --model llama-3.2-1b --cluster 1xH100 --seq 512";
  const Finished run = run_hexaplan("measure import " + log.path() + question);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("log of nvidia-smi"));
  EXPECT_THAT(run.out, HasSubstr("1740 MHz"));
  EXPECT_THAT(run.out, HasSubstr(" predicted, 20 GiB measured, "));
  const presets::JsonValue answer = json_of("measure import --json " + log.path() + question);
  const auto& logged = at(answer, "gpu_logs").get_if<presets::JsonArray>()->front();
  EXPECT_EQ(number_at(logged, "memory.measured"), 20480.0 * 1024 * 1024);
  EXPECT_EQ(number_at(at(logged, "gpus").get_if<presets::JsonArray>()->front(), "watts"), 650);
}

TEST(measure_command, tables_of_nccl_tests_stand_beside_what_the_cost_model_takes) {
  const std::string log =
      HEXAPLAN_SOURCE_DIR "/tests/presets/fabric/nccl_tests/gh200-2x4-slingshot-all_reduce.log";
  const Finished alone = run_hexaplan("measure import " + log);
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_THAT(alone.out, HasSubstr("all_reduce of nccl-tests over 8 ranks on 2 hosts, NVIDIA GH200 120GB"));
  EXPECT_THAT(alone.out, Not(HasSubstr("predicted")));

  const std::string machines =
      " --model llama-3.2-1b --cluster 2x4xgh200+slingshot200 --seq 512 --global-batch 8";
  const presets::JsonValue answer = json_of("measure import --json " + log + machines);
  const auto& table = at(answer, "links").get_if<presets::JsonArray>()->front();
  EXPECT_EQ(at(table, "collective"), presets::JsonValue{"all_reduce"});
  const auto& sizes = *at(table, "sizes").get_if<presets::JsonArray>();
  ASSERT_EQ(sizes.size(), 10U);
  // nccl-tests itself printed 107.69 and 108.39 GB/s for 64 MiB, out of place and in place.
  EXPECT_EQ(number_at(sizes[8], "bytes"), 67108864.0);
  EXPECT_NEAR(number_at(sizes[8], "bus_bandwidth"), 108.04e9, 0.1e9);
  EXPECT_NEAR(number_at(sizes[8], "measured"), (1090.5e-6 + 1083.5e-6) / 2, 1e-9);
  for (const presets::JsonValue& size : sizes)
    EXPECT_NEAR(number_at(size, "predicted") / number_at(size, "measured") - 1, number_at(size, "error"),
                1e-12);

  // What is compared is what is fitted: errors with the fitted links are those that the fit itself reports.
  const TemporaryFile fabric{"", ".json"};
  const presets::JsonValue fit =
      json_of("calibrate --json --cluster 2x4xgh200+slingshot200 --from " + log + " --out " + fabric.path());
  const presets::JsonValue fitted =
      json_of("measure import --json " + log + machines + " --fabric " + fabric.path());
  const auto& met = at(fitted, "links").get_if<presets::JsonArray>()->front();
  std::vector<double> errors;
  for (const presets::JsonValue& size : *at(met, "sizes").get_if<presets::JsonArray>())
    errors.push_back(std::abs(std::log(1 + number_at(size, "error"))));
  std::sort(errors.begin(), errors.end());
  EXPECT_NEAR((errors[4] + errors[5]) / 2, number_at(fit, "network.median"), 0.02);

  const Finished elsewhere =
      run_hexaplan("measure import " + log + " --model llama-3.2-1b --cluster 8xH100 --seq 512");
  EXPECT_EQ(elsewhere.exit_code, 0) << elsewhere.err;
  EXPECT_THAT(elsewhere.out, HasSubstr("not compared: the table is of NVIDIA GH200 120GB (gh200)"));
}

/// What nccl-tests print of an all-reduce of a gigabyte over H100s, so many of each host.
std::string table_of_hosts(const std::vector<int>& ranks_of_hosts) {
  std::string text =
      "# nThread 1 nGpus 1 minBytes 1073741824 maxBytes 1073741824 step: 2(factor) warmup iters: 1 iters: 20 "
      "agg iters: 1 validation: 1 graph: 0\n# Using devices\n";
  int rank = 0;
  for (std::size_t host = 0; host < ranks_of_hosts.size(); ++host) {
    for (int device = 0; device < ranks_of_hosts[host]; ++device, ++rank)
      text += fmt::format("#  Rank  {} Group  0 Pid 11 on  host{} device  {} [0x1b] NVIDIA H100 80GB HBM3\n",
                          rank, host, device);
  }
  return text + fmt::format(
                    "# out-of-place in-place\n"
                    "# size count type redop root time algbw busbw #wrong\n"
                    "# (B) (elements) (us) (GB/s) (GB/s)\n"
                    "1073741824 268435456 float sum -1 20000 53.69 {:.2f} 0\n",
                    53.69 * 2 * (rank - 1) / rank);
}

/// The prediction beside that table, in seconds; nothing where they are not compared, which `note` says.
std::optional<double> predicted_of_hosts(const std::vector<int>& ranks_of_hosts, const std::string& cluster,
                                         std::string& note) {
  const TemporaryFile log{table_of_hosts(ranks_of_hosts), "all_reduce.log"};
  const presets::JsonValue answer = json_of("measure import --json " + log.path() +
                                            " --model gpt2 --cluster " + cluster + " --global-batch 240");
  const auto& table = at(answer, "links").get_if<presets::JsonArray>()->front();
  for (const auto& said : *at(table, "notes").get_if<presets::JsonArray>())
    note = *said.get_if<std::string>();
  const auto& size = at(table, "sizes").get_if<presets::JsonArray>()->front();
  if (at(size, "predicted").is_null()) return std::nullopt;
  return number_at(size, "predicted");
}

TEST(measure_command, ranks_of_a_host_are_of_a_node_though_that_has_room_for_all) {
  std::string note;
  for (const int ranks : {1, 2, 4, 8}) {
    const auto predicted = predicted_of_hosts({ranks, ranks}, "2x8xH100+ib400", note);
    ASSERT_TRUE(predicted) << note;
    // Every node sends a gigabyte at least (Patarasuk and Yuan, 2009), over a card of 400 Gbit/s for each
    // rank.
    EXPECT_GT(*predicted, 1073741824 / (ranks * 50e9)) << ranks;
    // As on nodes that have no more GPUs.
    const auto small = predicted_of_hosts({ranks, ranks}, fmt::format("2x{}xH100+ib400", ranks), note);
    ASSERT_TRUE(small) << note;
    EXPECT_NEAR(*predicted, *small, 0.01 * *small) << ranks;
  }
  // On one host NVLink alone is in the way.
  EXPECT_LT(predicted_of_hosts({2}, "2x8xH100+ib400", note).value_or(1), 0.01);
}

TEST(measure_command, ranks_of_hosts_that_no_node_divides_into_are_not_compared) {
  struct Case {
    std::vector<int> ranks_of_hosts;
    const char* cluster;
    const char* note;
  };
  const Case cases[] = {
      {{3, 3},
       "2x8xH100+ib400",
       "3 ranks on each of 2 hosts, expected as many on each host, and a number that"},
      {{5, 5}, "2x8xH100+ib400", "divides the 8 GPUs of a node (NODESxGPUSxNAME says another)"},
      {{3, 1}, "2x8xH100+ib400", "4 ranks on 2 hosts, not as many on each"},
      {{9}, "2x8xH100+ib400", "9 ranks on 1 host, expected at most the 8 GPUs of a node on each"},
  };
  for (const Case& row : cases) {
    std::string note;
    EXPECT_FALSE(predicted_of_hosts(row.ranks_of_hosts, row.cluster, note)) << row.note;
    EXPECT_THAT(note, HasSubstr(row.note));
  }
  std::string note;
  EXPECT_TRUE(predicted_of_hosts({3, 3}, "2x3xH100+ib400", note)) << note;
  // calibrate refuses the file with the same words.
  const TemporaryFile log{table_of_hosts({3, 3}), "all_reduce.log"};
  const Finished refused = run_hexaplan("calibrate --from " + log.path() + " --cluster 2x8xH100+ib400");
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("got 3 ranks on each of 2 hosts, expected as many on each host"));
}

TEST(measure_command, a_job_that_tests_its_network_before_it_trains_is_a_run) {
  std::ifstream file{kLogs + "megatron_lm.log"};
  const std::string training{std::istreambuf_iterator<char>{file}, {}};
  ASSERT_FALSE(training.empty());
  const presets::JsonValue expected = json_of("measure import --json " + kLogs + "megatron_lm.log");
  for (const std::string& before : {std::string{"preflight: busbw (GB/s) 370.1 ok\n"}, table_of_hosts({8})}) {
    const TemporaryFile log{before + training, ".log"};
    const presets::JsonValue answer = json_of("measure import --json " + log.path());
    ASSERT_EQ(at(answer, "runs").get_if<presets::JsonArray>()->size(), 1U);
    const auto used = [](const presets::JsonValue& report) {
      return number_at(at(report, "runs").get_if<presets::JsonArray>()->front(), "time.used");
    };
    EXPECT_EQ(used(answer), used(expected));
    EXPECT_TRUE(at(answer, "links").get_if<presets::JsonArray>()->empty());
  }
}

TEST(measure_command, a_run_of_ones_own_is_a_row_that_accuracy_scores) {
  const std::string run = "measure import --cluster V100 " + kLogs + "megatron_lm.log";
  const Finished table = run_hexaplan(run + " --as-row");
  ASSERT_EQ(table.exit_code, 0) << table.err;
  const TemporaryFile mine{table.out, ".csv"};
  const presets::JsonValue scored = json_of("accuracy --json --rows " + mine.path());
  const presets::JsonValue compared = json_of(run + " --json");
  const auto& row = at(scored, "rows").get_if<presets::JsonArray>()->front();
  const auto& log = at(compared, "runs").get_if<presets::JsonArray>()->front();
  EXPECT_NEAR(number_at(row, "time.predicted"), number_at(log, "compared.step.predicted"), 1e-9);
  EXPECT_NEAR(number_at(row, "time.measured"), number_at(log, "compared.step.measured"), 1e-9);
  EXPECT_EQ(number_at(scored, "memory.allocated.rows"), 1);
  EXPECT_EQ(number_at(scored, "memory.reserved.rows"), 1);
}

/// Questions that the columns of a row can say: each comes back the same.
class RowQuestion : public testing::TestWithParam<std::string> {};
TEST_P(RowQuestion, comes_back_from_its_row) {
  const Finished table = run_hexaplan("measure import --as-row " + kLogs + "nanotron_long.log " + GetParam());
  ASSERT_EQ(table.exit_code, 0) << table.err;
  const TemporaryFile mine{table.out, ".csv"};
  const presets::JsonValue scored = json_of("accuracy --json --rows " + mine.path());
  const presets::JsonValue estimate = json_of("estimate --json " + GetParam());
  const auto& row = at(scored, "rows").get_if<presets::JsonArray>()->front();
  const double asked = number_at(estimate, "time.step_seconds");
  EXPECT_NEAR(number_at(row, "time.predicted"), asked, 0.03 * asked);
}
INSTANTIATE_TEST_SUITE_P(
    questions, RowQuestion,
    testing::Values(
        "--model llama-3.1-8b --cluster 8xH100 --layout fsdp --framework fsdp2 --seq 8192 --global-batch 8",
        "--model llama-3.1-70b --cluster 64xH100 --layout 'tp8 pp2 vpp5 sp zero1' --seq 8192 --global-batch "
        "128",
        "--model mixtral-8x7b --cluster 16xH100 --layout 'ep8 zero1 tp2 sp' --seq 4096 --global-batch 128",
        "--model gpt2 --cluster 8xA100 --framework deepspeed --layout zero2 --seq 1024 --global-batch 64 "
        "--dropout 0.1",
        "--model llama-3.1-8b --cluster 8xH100 --framework hf-eager --fine-tune lora --seq 2048 "
        "--global-batch 8 "
        "--recompute full"),
    [](const auto& row) { return "question_" + std::to_string(row.index); });

TEST(measure_command, what_a_row_cannot_say_is_refused) {
  const Finished none = run_hexaplan("measure import --as-row " + kLogs + "nemo.log");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("--as-row: got no question"));
  const Finished windows =
      run_hexaplan("measure import --as-row " + kLogs +
                   "nemo.log --model deepseek-v3 --cluster 2048xH800 --layout 'pp16 ep64 zero1' "
                   "--seq 4096 --global-batch 15360");
  EXPECT_EQ(windows.exit_code, 2);
  EXPECT_THAT(windows.err, HasSubstr("read back"));
  EXPECT_EQ(run_hexaplan("measure import --as-row --json " + kLogs + "nemo.log").exit_code, 2);
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
