#include <gmock/gmock.h>

#include <filesystem>

#include "run_hexaplan.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::cli {
namespace {

namespace fs = std::filesystem;
using presets::JsonArray;
using presets::JsonValue;
using testing::HasSubstr;

class Calibrate : public testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::string files() const {
    return " --store " + file("s.sqlite") + " --out " + file("cpu.json");
  }
  tests::TemporaryFolder own_;
  fs::path folder_ = own_.path();
};

TEST_F(Calibrate, measures_the_processor_and_predicts_with_it) {
  const JsonValue first = json_of("calibrate --budget 3 --json" + files());
  EXPECT_EQ(*at(first, "gpu").get_if<std::string>(), "cpu");
  EXPECT_GT(number_at(first, "measured"), 5);
  EXPECT_EQ(number_at(first, "taken_from_store"), 0);
  EXPECT_LT(number_at(first, "seconds"), 30);
  EXPECT_FALSE(at(first, "collectives").get_if<JsonArray>()->empty()) << "two threads";
  EXPECT_FALSE(at(first, "fitted").get_if<JsonArray>()->empty());

  const Finished again = run_hexaplan("calibrate --budget 1" + files());
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr(" taken from " + file("s.sqlite")));
  EXPECT_THAT(again.out, HasSubstr("Written to " + file("cpu.json")));

  const std::string question = "estimate --model llama-3.2-1b --cluster 2xcpu --layout dp2 --seq 128 --json";
  const JsonValue with = json_of(question + " --calibration " + file("cpu.json"));
  EXPECT_EQ(*at(with, "calibration.provenance").get_if<std::string>(), "measured");
  EXPECT_NE(number_at(with, "time.step_seconds"), number_at(json_of(question), "time.step_seconds"));
}

constexpr const char* kLogs = HEXAPLAN_SOURCE_DIR "/tests/presets/fabric/nccl_tests/";

TEST_F(Calibrate, reads_nccl_tests_into_a_fabric_that_predictions_take) {
  const std::string out = file("fabric.json");
  const Finished run = run_hexaplan("calibrate --cluster 2x4xgh200+slingshot200 --out " + out + " --from " +
                                    kLogs + "gh200-2x4-slingshot-all_reduce.log");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("NVIDIA GH200 120GB (gh200): 20 times from 1 log\n"));
  EXPECT_THAT(run.out, HasSubstr("all_reduce"));
  EXPECT_THAT(run.out, HasSubstr("network between hosts"));
  EXPECT_THAT(run.out, HasSubstr("--fabric " + out));
  const std::string question =
      "estimate --model llama-3.2-1b --cluster 2x4xgh200+slingshot200 --layout dp8 --json";
  const double built_in = number_at(json_of(question), "time.step_seconds");
  EXPECT_NE(number_at(json_of(question + " --fabric " + out), "time.step_seconds"), built_in);
  const Finished other =
      run_hexaplan("estimate --model llama-3.2-1b --cluster 8xH100 --layout dp8 --fabric " + out);
  EXPECT_EQ(other.exit_code, 4);
  EXPECT_THAT(other.err, HasSubstr("expected links measured on h100-80-sxm"));
}

TEST_F(Calibrate, refuses_logs_of_another_cluster) {
  const std::string log =
      std::string{" --from "} + kLogs + "gb300-2x4-all_gather.log --out " + file("f.json");
  const Finished gpu = run_hexaplan("calibrate --cluster 2x8xH100+ib400" + log);
  EXPECT_EQ(gpu.exit_code, 4);
  EXPECT_THAT(gpu.err, HasSubstr("expected logs of h100-80-sxm, the cluster's GPU"));
  const Finished small = run_hexaplan("calibrate --cluster 4xgb300" + log);
  EXPECT_EQ(small.exit_code, 4);
  EXPECT_THAT(small.err, HasSubstr("got 8 ranks, expected at most the cluster's 4 GPUs"));
  EXPECT_FALSE(fs::exists(file("f.json")));
}

TEST_F(Calibrate, says_what_is_wrong_with_the_command_line) {
  EXPECT_EQ(run_hexaplan("calibrate --from x.log").exit_code, 2);
  EXPECT_EQ(run_hexaplan("calibrate --budget 0").exit_code, 2);
  const Finished device = run_hexaplan("calibrate --device tpu" + files());
  EXPECT_EQ(device.exit_code, 2);
  EXPECT_THAT(device.err, HasSubstr("--device"));
  EXPECT_EQ(run_hexaplan("calibrate --cluster 8xH100 --from " + file("none.log")).exit_code, 4);
  EXPECT_EQ(
      run_hexaplan("calibrate --budget 1 --store /proc/none/s.sqlite --out " + file("c.json")).exit_code, 4);
}

const std::string kRows = HEXAPLAN_SOURCE_DIR "/tests/golden/rows/";

TEST_F(Calibrate, learns_from_runs_and_predicts_with_what_it_learned) {
  const std::string command =
      "calibrate --from-runs " + kRows + "nemo_launcher.csv --out " + file("own.json");
  const JsonValue learned = json_of(command + " --json");
  EXPECT_EQ(at(learned, "schema"), JsonValue{"hexaplan/learned/1"});
  EXPECT_EQ(at(learned, "gpu"), JsonValue{"a100-80-sxm"});
  EXPECT_LE(number_at(learned, "typical_error_now"), number_at(learned, "typical_error_before"));
  EXPECT_EQ(at(learned, "runs").get_if<JsonArray>()->size(), 21U);

  const Finished text = run_hexaplan(command);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("The runs do not tell, as the presets have it: "));
  EXPECT_THAT(text.out, HasSubstr("predictions take it with --calibration " + file("own.json")));

  const std::string question =
      "estimate --model llama-3.2-1b --cluster 8xA100 --layout dp8 --framework megatron-2022 --json";
  const JsonValue with = json_of(question + " --calibration " + file("own.json"));
  EXPECT_THAT(*at(with, "calibration.source").get_if<std::string>(), HasSubstr("corrected by 21 runs of"));
  EXPECT_NE(number_at(with, "time.step_seconds"), number_at(json_of(question), "time.step_seconds"));
}

TEST_F(Calibrate, learns_from_a_log_that_lists_its_arguments) {
  const Finished run = run_hexaplan("calibrate --from-runs " HEXAPLAN_SOURCE_DIR
                                    "/tests/presets/runs/logs/megatron_lm.log --cluster V100 --out " +
                                    file("own.json"));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("megatron_lm (reserved)"));
}

TEST_F(Calibrate, runs_that_cannot_be_learned_from_together_are_refused) {
  const Finished gpus = run_hexaplan("calibrate --from-runs " + kRows + "dlperf_v100.csv");
  EXPECT_EQ(gpus.exit_code, 4);
  EXPECT_THAT(gpus.err, HasSubstr("expected runs of one framework"));
  const Finished both = run_hexaplan("calibrate --quick --from-runs " + kRows + "papers.csv");
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("--from-runs reads what was measured, --quick measures"));
  const Finished logs = run_hexaplan("calibrate --from nccl.log --cluster 2x8xH100 --budget 60");
  EXPECT_EQ(logs.exit_code, 2);
  EXPECT_THAT(logs.err, HasSubstr("--from reads what was measured, --budget measures"));
  EXPECT_EQ(run_hexaplan("calibrate --calibration h200").exit_code, 2);
}

}  // namespace
}  // namespace hexaplan::cli
