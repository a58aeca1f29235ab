// Logs that frameworks wrote, from public repositories (README.md beside this file).
#include "presets/runs/run_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "presets/json/input_error.h"
#include "presets/json/read_text_file.h"
#include "presets/runs/file_kind.h"

namespace hexaplan::presets {
namespace {

using testing::HasSubstr;

const std::string kLogs = HEXAPLAN_SOURCE_DIR "/tests/presets/runs/logs/";

struct KnownLog {
  std::string file;
  LogFormat format;
  std::size_t steps;
  std::int64_t last;       // iteration
  double seconds, tokens;  // of the last step; 0: not said
  double allocated, reserved;
};

class Log : public testing::TestWithParam<KnownLog> {};

TEST_P(Log, says_what_a_person_reads_in_it) {
  const KnownLog& known = GetParam();
  const RunLog log = read_run_log(kLogs + known.file);
  EXPECT_EQ(log.format, known.format);
  ASSERT_EQ(log.steps.size(), known.steps);
  const LoggedStep& last = log.steps.back();
  EXPECT_EQ(last.iteration, known.last);
  EXPECT_NEAR(last.time ? last.time->value() : 0, known.seconds, 1e-9);
  EXPECT_NEAR(last.tokens_per_gpu.value_or(0), known.tokens, 1e-6);
  double allocated = 0, reserved = 0;
  for (const LoggedPeak& peak : log.peaks) {
    allocated = std::max(allocated, peak.allocated.value());
    reserved = std::max(reserved, peak.reserved.value());
  }
  EXPECT_NEAR(allocated, known.allocated, 1);
  EXPECT_NEAR(reserved, known.reserved, 1);
}

constexpr double kMiB = 1 << 20, kGiB = 1 << 30;
INSTANTIATE_TEST_SUITE_P(
    files, Log,
    testing::Values(KnownLog{"megatron_lm.log", LogFormat::Megatron, 20, 200, 0.3844, 0,
                             4673.77880859375 * kMiB, 4746 * kMiB},
                    KnownLog{"megatron_mixtral.log", LogFormat::Megatron, 3, 4, 5.3641, 0,
                             54250.98583984375 * kMiB, 61480 * kMiB},
                    KnownLog{"megatron_bridge.log", LogFormat::Megatron, 2, 20, 14.2603, 0,
                             12712.43603515625 * kMiB, 12954 * kMiB},
                    KnownLog{"megatron_deepspeed.log", LogFormat::Megatron, 4, 4, 16.0692, 8156.733,
                             15.59 * kGiB, 17240 * kMiB},
                    KnownLog{"nemo.log", LogFormat::Nemo, 4, 11, 26.93, 0, 53930270720.0, 57675874304.0},
                    KnownLog{"nanotron.log", LogFormat::Nanotron, 3, 993, 0.0394, 2030, 0, 547e6},
                    KnownLog{"nanotron_long.log", LogFormat::Nanotron, 3, 327283, 11.5, 11400, 0, 0},
                    KnownLog{"torchtitan.log", LogFormat::Torchtitan, 10, 10, 0, 6698, 0, 8.44 * kGiB},
                    KnownLog{"torchtitan_float8.log", LogFormat::Torchtitan, 4, 30, 0, 7014, 0, 30.99 * kGiB},
                    KnownLog{"deepspeed.log", LogFormat::DeepSpeed, 6, 22, 0, 0, 2.62 * kGiB, 0},
                    KnownLog{"deepspeed_memory.log", LogFormat::DeepSpeed, 1, 2498, 0, 0, 0.08 * kGiB, 0},
                    KnownLog{"trainer_state.json", LogFormat::HfTrainer, 1, 768, 5980.6912 / 768, 0, 0, 0},
                    KnownLog{"hf_trainer.log", LogFormat::HfTrainer, 1, 378, 9117.7233 / 378, 0, 0, 0}),
    [](const auto& row) { return row.param.file.substr(0, row.param.file.find('.')); });

TEST(run_log, a_line_every_ten_steps_is_their_mean) {
  const RunLog log = read_run_log(kLogs + "megatron_lm.log");
  EXPECT_EQ(log.steps[0].steps, 1);  // nobody says where the mean began
  EXPECT_EQ(log.steps[1].steps, 10);
}

TEST(run_log, two_ranks_may_write_into_one_line) {
  const RunLog log = read_run_log(kLogs + "megatron_lm.log");
  ASSERT_EQ(log.peaks.size(), 4U);
  EXPECT_EQ(log.peaks[3].rank, 3);
  EXPECT_EQ(log.peaks[3].reserved, log.peaks[0].reserved);
}

TEST(run_log, timers_are_kept_by_name) {
  const RunLog log = read_run_log(kLogs + "megatron_deepspeed.log");
  ASSERT_FALSE(log.phases.empty());
  EXPECT_EQ(log.phases[0].name, "optimizer_allgather");
  const RunLog ranks = parse_run_log(
      "(min, max) time across ranks (ms):\n"
      "    forward-backward ...............................: (118.33, 119.20)\n"
      "    optimizer ......................................: (9.61, 9.80)\n"
      " iteration  1/ 2 | elapsed time per iteration (ms): 130.0 |\n",
      "run.log");
  ASSERT_EQ(ranks.phases.size(), 2U);
  EXPECT_EQ(ranks.phases[0].name, "forward-backward");
  EXPECT_DOUBLE_EQ(ranks.phases[0].times[0].value(), 0.1192);
}

TEST(run_log, megatrons_list_of_arguments_is_a_launch_script) {
  const RunLog log = read_run_log(kLogs + "megatron_lm.log");
  const std::string script = launch_script_of(log);
  EXPECT_THAT(script, HasSubstr("torchrun --nnodes 1 --nproc_per_node 4 pretrain_gpt.py"));
  EXPECT_THAT(script, HasSubstr(" --hidden-size 1024"));
  EXPECT_THAT(script, HasSubstr(" --sequence-parallel"));
  EXPECT_THAT(script, testing::Not(HasSubstr("--swiglu")));            // False
  EXPECT_THAT(script, testing::Not(HasSubstr("--num-query-groups")));  // 1, of a model that has none
}

TEST(run_log, tags_colours_and_carriage_returns_do_not_matter) {
  const RunLog log = parse_run_log(
      "  3%|#  | 3/100\r\x1b[36mstep:  7 \x1b[32m loss: 7.1 \x1b[38;2;180;60;0m memory: 61.23GiB(77.40%) "
      "\x1b[34m tps: 6,123 \x1b[0m tflops: 345.67\n[default0]:step: 8 memory: 61.50GiB(77%) tps: 6,124",
      "run.log");
  ASSERT_EQ(log.steps.size(), 2U);
  EXPECT_EQ(log.steps[0].tokens_per_gpu, 6123);
  EXPECT_EQ(log.steps[1].line, 2U);
  EXPECT_DOUBLE_EQ(log.peaks[0].reserved.value(), 61.50 * kGiB);
}

TEST(run_log, figures_that_are_none_are_not_taken) {
  const RunLog log = parse_run_log(
      "iteration 1/9 | elapsed time per iteration (ms): nan |\n"
      "iteration 2/9 | elapsed time per iteration (ms): 0.0 |\n"
      "iteration 3/9 | elapsed time per iteration (ms): -5 |\n"
      "iteration 4/9 | elapsed time per iteration (ms): 1e300 |\n"
      "iteration 5/9 | elapsed time per iteration (ms): 12.5 |\n",
      "run.log");
  ASSERT_EQ(log.steps.size(), 1U);
  EXPECT_EQ(log.steps[0].iteration, 5);
}

struct OtherFile {
  const char* text;
  const char* reader;
};
class OtherFiles : public testing::TestWithParam<OtherFile> {};

TEST_P(OtherFiles, are_sent_to_the_command_that_reads_them) {
  try {
    (void)parse_run_log(GetParam().text, "a.txt");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.problem.hint, HasSubstr(GetParam().reader));
  }
}

INSTANTIATE_TEST_SUITE_P(
    run_log, OtherFiles,
    testing::Values(
        OtherFile{"job 17 on node3\n# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor)\n",
                  "a table of nccl-tests, which 'hexaplan calibrate --from a.txt --cluster CLUSTER' reads"},
        OtherFile{"\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV12\t0-15\n",
                  "nvidia-smi topo -m, which 'hexaplan cluster import a.txt' reads"},
        OtherFile{"<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n",
                  "which 'hexaplan cluster import a.txt' reads"},
        OtherFile{"CA 'mlx5_0'\n\tCA type: MT4129\n", "ibstat, which 'hexaplan cluster import a.txt' reads"},
        OtherFile{"NodeName=n1 Arch=x86_64 Gres=gpu:h100:8\n",
                  "scontrol show node, which 'hexaplan cluster import a.txt' reads"},
        OtherFile{"==============NVSMI LOG==============\n", "reads what nvidia-smi -q -x prints"},
        OtherFile{"timestamp, utilization.gpu [%], memory.used [MiB]\n", "which 'hexaplan measure import"},
        OtherFile{"# gpu   pwr gtemp\n    0    90    40\n", "which nothing reads"},
        OtherFile{R"({"schema": "hexaplan/project/1", "scenario": {"schema": "hexaplan/scenario/1"}})",
                  "a project of hexaplan-gui, which 'hexaplan estimate --scenario a.txt' reads"},
        OtherFile{R"({"schema": "hexaplan/scenario/1"})", "'hexaplan estimate --scenario a.txt' reads"},
        OtherFile{R"({"model_type": "llama"})", "'hexaplan estimate --model a.txt --cluster CLUSTER' reads"},
        OtherFile{"case_id,source\nx,y\n", "'hexaplan accuracy a.txt' reads"},
        OtherFile{"#!/bin/bash\ntorchrun train.py\n",
                  "'hexaplan estimate --from a.txt --cluster CLUSTER' reads"}),
    [](const auto& row) { return "kind_" + std::to_string(row.index); });

struct NcclText {
  const char* name;
  const char* text;
  bool table;
};

TEST(run_log, tables_of_nccl_tests_are_known_by_their_heads_unless_training_follows) {
  constexpr const char* kStep =
      " iteration 1/ 10 | consumed samples: 8 | elapsed time per iteration (ms): 250.0 |";
  const NcclText texts[] = {
      {"first line", "# nThread 1 nGpus 8 minBytes 8\n", true},
      {"behind a launcher's lines", "job 17\n# nccl-tests version 2.17.6\n", true},
      {"tagged by mpirun", "[1,0]<stdout>:# Collective test starting: all_reduce_perf\n", true},
      {"devices alone", "#\r\n# Using devices\r\n", true},
      {"its unit in a line of another's", "preflight: busbw (GB/s) 370.1 ok\n", false},
      {"its words in a line of another's", "echo '# nThread 1' >> log\n", false},
      {"nothing", "", false},
  };
  for (const NcclText& row : texts) {
    const std::string text = row.text;
    EXPECT_EQ(is_nccl_text(text), row.table) << row.name;
    EXPECT_FALSE(is_nccl_text(text + kStep)) << row.name << ", then training";
    EXPECT_EQ(parse_run_log(text + kStep, "job.log").steps.size(), 1U) << row.name;
  }
}

TEST(run_log, a_file_without_steps_names_the_formats_that_are_known) {
  try {
    (void)parse_run_log("nothing to see here\n", "notes.txt");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("notes.txt: got no line of a training step, expected a log of Megatron-LM"));
  }
  EXPECT_THROW((void)parse_run_log("", "empty.log"), InputError);
  EXPECT_THROW((void)parse_run_log("{\"log_history\": [{\"loss\": 1, \"step\": 3}]}", "state.json"),
               InputError);
}

TEST(run_log, cut_off_anywhere_it_is_a_log_or_an_error) {
  for (const char* file : {"megatron_deepspeed.log", "torchtitan.log", "nemo.log", "trainer_state.json"}) {
    const std::string whole = read_text_file(kLogs + file);
    for (std::size_t end = 0; end < whole.size(); end += 7) {
      try {
        const RunLog log = parse_run_log(whole.substr(0, end), file);
        for (const LoggedStep& step : log.steps) EXPECT_TRUE(!step.time || step.time->value() > 0);
      } catch (const InputError&) {
      }
    }
  }
}

}  // namespace
}  // namespace hexaplan::presets
