// `hexaplan export`: a plan in the words of its framework.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using testing::HasSubstr;

constexpr const char* kPlan = "export --model llama-3.1-8b --cluster 16xH100 --seq 4096 --global-batch 64 ";

TEST(export_command, writes_the_framework_s_file_and_says_what_it_cannot_say) {
  const Finished run = run_hexaplan(std::string{kPlan} + "--layout 'tp2 zero3' --framework torchtitan");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\ntensor_parallel_degree = 2\n"));
  const Finished refused = run_hexaplan(std::string{kPlan} + "--layout 'tp2 zero1' --framework torchtitan");
  EXPECT_EQ(refused.exit_code, 3) << refused.err;
}

TEST(export_command, a_script_that_starts_it_holds_the_file) {
  const Finished run = run_hexaplan(
      std::string{kPlan} + "--layout 'tp2 sp zero1' --target bridge --framework megatron --wrap sbatch");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const char* line :
       {"#SBATCH --nodes=2\n", "export CUDA_DEVICE_MAX_CONNECTIONS=1\n", "cat > bridge.yaml <<",
        "\n  tensor_model_parallel_size: 2\n", "pretrain(ConfigContainer.from_yaml("})
    EXPECT_THAT(run.out, HasSubstr(line));
  EXPECT_THAT(run.err, HasSubstr("not said in bridge.sbatch: "));
  EXPECT_EQ(run_hexaplan(std::string{kPlan} + "--wrap slurm").exit_code, 2);
}

TEST(export_command, what_config_json_says_beside_the_plan_is_written) {
  const TemporaryFile config{
      R"({"model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
      "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 4096,
      "initializer_range": 0.013})",
      ".json"};
  const std::string plan = "export --cluster 8xH100 --seq 4096 --global-batch 64 --model " + config.path();
  EXPECT_THAT(run_hexaplan(plan + " --framework megatron").out, HasSubstr("\n  --init-method-std 0.013\n"));
  EXPECT_THAT(run_hexaplan(plan + " --framework bridge").out, HasSubstr("\n  init_method_std: 0.013\n"));
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

constexpr const char* kCommon = "export --model llama-3.1-8b --seq 8192 --framework megatron ";

TEST(export_command, a_plan_that_does_not_fit_says_so_in_the_file_on_stderr_and_in_json) {
  const std::string plan = std::string{kCommon} + "--cluster 8xH100 --global-batch 512 --layout dp8";
  const Finished run = run_hexaplan(plan);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("\n# Does not fit: stage 0 needs "));
  EXPECT_THAT(run.err, HasSubstr("warning: Does not fit: stage 0 needs "));
  EXPECT_THAT(run_hexaplan(plan + " --json").out, HasSubstr("\"fits\": false"));
}

TEST(export_command, a_plan_at_risk_says_the_chance_that_estimate_prints) {
  const std::string plan =
      "--model llama-3.1-8b --seq 8192 --framework megatron --cluster 8xH100 "
      "--global-batch 64 --micro-batch 1 --layout 'tp2 zero1'";
  const Finished estimate = run_hexaplan("estimate " + plan);
  ASSERT_THAT(estimate.out, HasSubstr("Fits, at risk"));
  const std::string words = "chance of running out ";
  const std::size_t begin = estimate.out.find(words);
  ASSERT_NE(begin, std::string::npos);
  const std::string chance = estimate.out.substr(begin, estimate.out.find('\n', begin) - begin);
  const Finished run = run_hexaplan("export " + plan);
  EXPECT_THAT(run.out, HasSubstr("\n# Fits, at risk: "));
  EXPECT_THAT(run.out, HasSubstr(chance + "\n"));
  EXPECT_THAT(run.err, HasSubstr(chance + "\n"));
}

TEST(export_command, a_safe_plan_has_no_warning) {
  const Finished run =
      run_hexaplan(std::string{kCommon} + "--cluster 64xH100 --global-batch 64 --layout 'tp8 zero1 sp'");
  EXPECT_THAT(run.out, testing::Not(HasSubstr("at risk")));
  EXPECT_THAT(run.err, testing::Not(HasSubstr("warning")));
  EXPECT_THAT(run_hexaplan(std::string{kPlan} + "--layout 'tp8 zero1 sp' --json").out,
              HasSubstr("\"warning\": null"));
}

TEST(export_command, names_the_frameworks_whose_files_it_can_write) {
  const Finished run = run_hexaplan(std::string{kPlan} + "--framework hexaplan");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("megatron, nanotron, torchtitan, deepspeed, bridge, maxtext"));
}

}  // namespace
}  // namespace hexaplan::cli
