// `hexaplan import`, and --from of the other commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kJob = HEXAPLAN_SOURCE_DIR "/tests/presets/import/files/megatron_llama.sbatch";

TEST(import_command, writes_the_scenario_and_says_what_became_of_every_setting) {
  const Finished run = run_hexaplan("import " + kJob);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\"layout\": \"tp2 pp2 sp zero1\""));
  EXPECT_THAT(run.err, HasSubstr(":31: understood: --num-layers 32\n"));
  EXPECT_THAT(run.err, HasSubstr(":54: ignored: --lr 0.0003\n"));
  EXPECT_THAT(run.err, HasSubstr(":75: not known: --my-own-flag 3\n"));
}

TEST(import_command, its_scenario_is_one_that_estimate_reads) {
  const Finished scenario = run_hexaplan("import --quiet " + kJob);
  const Finished piped = run_hexaplan("estimate --quiet --scenario -", scenario.out);
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_EQ(run_hexaplan("estimate --quiet --from " + kJob).out, piped.out);
}

TEST(import_command, flags_stand_above_the_files) {
  const Finished run = run_hexaplan("import --cluster 32xA100 --seq 4096 " + kJob);
  EXPECT_THAT(run.out, HasSubstr("\"cluster\": \"32xA100\""));
  EXPECT_THAT(run.out, HasSubstr("\"sequence\": 4096"));
  EXPECT_THAT(run.err, HasSubstr("the files start 64 processes; planned for 32 GPUs, as asked"));
  EXPECT_THAT(run_hexaplan("import --cluster h200 " + kJob).out, HasSubstr("\"cluster\": \"64xh200\""));
}

TEST(import_command, plans_the_model_that_is_asked_for) {
  const TemporaryFile engine{R"({"zero_optimization": {"stage": 3, "reduce_bucket_size": "auto"},
                                 "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": 1})",
                             ".json"};
  const std::string import = "import --cluster 8xH100 " + engine.path();
  EXPECT_THAT(run_hexaplan(import).err, HasSubstr("note: the files do not say the model: add --model\n"));
  const Finished run = run_hexaplan(import + " --model qwen3-8b");
  EXPECT_THAT(run.out, HasSubstr("\"model\": \"qwen3-8b\""));
  EXPECT_THAT(run.out, HasSubstr("\"reduce_bucket\": 16777216"));
  EXPECT_THAT(run.err, Not(HasSubstr("note:")));
  const Finished piped = run_hexaplan("import --model - --cluster H200 " + kJob, R"({"model_type": "llama",
      "hidden_size": 512, "intermediate_size": 1376, "num_hidden_layers": 8, "num_attention_heads": 8,
      "vocab_size": 32000, "max_position_embeddings": 2048})");
  EXPECT_THAT(piped.out, HasSubstr("\"hidden_size\": 512")) << piped.err;
  const Finished unknown = run_hexaplan(import + " --model nobody-7b");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--model: got \"nobody-7b\""));
}

TEST(import_command, lists_everything_as_json) {
  const presets::JsonValue answer = json_of("import --json " + kJob);
  EXPECT_EQ(at(answer, "schema"), presets::JsonValue{"hexaplan/import/1"});
  EXPECT_EQ(at(answer, "scenario.model"), presets::JsonValue{"llama-3.1-8b"});
  EXPECT_EQ(number_at(answer, "gpus"), 64);
}

TEST(import_command, an_export_comes_back) {
  const std::string plan =
      "--model llama-3.1-70b --cluster 64xH100 --layout 'tp8 pp2 sp zero1' --seq 8192 --global-batch 512 ";
  const Finished written = run_hexaplan("export --quiet --framework megatron " + plan);
  const TemporaryFile script{written.out, ".sh"};
  const Finished read = run_hexaplan("import --cluster H100 " + script.path());
  EXPECT_THAT(read.err, HasSubstr(" 0 not known\n"));
  EXPECT_THAT(read.err, Not(HasSubstr("note:")));
  const TemporaryFile scenario{read.out, ".json"};
  EXPECT_EQ(run_hexaplan("estimate --quiet --scenario " + scenario.path()).out,
            run_hexaplan("estimate --quiet " + plan).out);
}

TEST(import_command, needs_a_file_and_only_one_question) {
  EXPECT_EQ(run_hexaplan("import").exit_code, 2);
  EXPECT_EQ(run_hexaplan("import /nowhere.sh").exit_code, 4);
  EXPECT_EQ(run_hexaplan("estimate --from " + kJob + " --scenario x.json").exit_code, 2);
}

// --- diff --suggest ---

/// A job that recomputes everything, has no sequence parallelism and reduces gradients at the end.
const char* const kSlowJob =
    "torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "
    "--ffn-hidden-size 14336 \\\n"
    "  --num-attention-heads 32 --group-query-attention --num-query-groups 8 --vocab-size 128256 "
    "--seq-length 4096 \\\n"
    "  --max-position-embeddings 131072 --position-embedding-type rope --rotary-base 500000 "
    "--use-rope-scaling --swiglu \\\n"
    "  --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights "
    "--attention-dropout 0 --hidden-dropout 0 \\\n"
    "  --micro-batch-size 1 --global-batch-size 128 --bf16 --use-distributed-optimizer \\\n"
    "  --tensor-model-parallel-size 4 \\\n"
    "  --recompute-granularity full --recompute-method uniform --recompute-num-layers 1\n";

TEST(diff_command, names_the_lines_to_change_and_what_they_bring) {
  const TemporaryFile script{kSlowJob, ".sh"};
  const Finished run = run_hexaplan("diff --suggest --cluster H100 " + script.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("no recomputation: -"));
  EXPECT_THAT(run.out, HasSubstr("  - --recompute-granularity full    (" + script.path() + ":7)\n"));
  EXPECT_THAT(run.out, HasSubstr("  + --sequence-parallel\n"));
  EXPECT_THAT(run.out, HasSubstr("  + --overlap-grad-reduce\n"));
}

TEST(diff_command, its_lines_make_the_plan_that_it_prices) {
  const TemporaryFile script{kSlowJob, ".sh"};
  const presets::JsonValue answer = json_of("diff --suggest --json --cluster H100 " + script.path());
  const auto& suggestions = *at(answer, "suggestions").get_if<presets::JsonArray>();
  ASSERT_FALSE(suggestions.empty());
  for (const presets::JsonValue& suggestion : suggestions) {
    std::string text = kSlowJob;
    text.pop_back();
    for (const presets::JsonValue& line : *at(suggestion, "lines").get_if<presets::JsonArray>()) {
      const std::string before = *at(line, "before").get_if<std::string>(),
                        after = *at(line, "after").get_if<std::string>();
      if (before.empty()) {
        text += " " + after;
      } else {
        ASSERT_NE(text.find(before), std::string::npos) << before;
        text.replace(text.find(before), before.size(), after);
      }
    }
    const TemporaryFile changed{text + "\n", ".sh"};
    const presets::JsonValue estimate = json_of("estimate --json --cluster H100 --from " + changed.path());
    EXPECT_NEAR(number_at(estimate, "time.step_seconds"), number_at(suggestion, "price.step_seconds"), 1e-9)
        << text;
  }
}

TEST(diff_command, a_job_that_runs_out_of_memory_is_told_what_fits) {
  std::string large = kSlowJob;
  large.replace(large.find("--seq-length 4096"), 17, "--seq-length 65536");
  const TemporaryFile job{large, ".sh"};
  const Finished run = run_hexaplan("diff --suggest --cluster L40S " + job.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("more tensor parallelism: +")) << "slower, and it fits";
  EXPECT_EQ(run_hexaplan("diff " + job.path()).exit_code, 2);
}

}  // namespace
}  // namespace hexaplan::cli
