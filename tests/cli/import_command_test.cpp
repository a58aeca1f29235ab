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

}  // namespace
}  // namespace hexaplan::cli
