// Command lines that cannot be understood, or that name what cannot be used: the exit code and the one line
// that is said.
#include <gtest/gtest.h>

#include "presets/json/read_json.h"
#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

struct BadLine {
  std::string name;
  std::string arguments;
  int exit_code;
  std::string message;  // without "hexaplan: " and the line break
};
class CommandLine : public testing::TestWithParam<BadLine> {};

TEST_P(CommandLine, is_answered_with_one_line_and_an_exit_code) {
  const Finished run = run_hexaplan(GetParam().arguments);
  EXPECT_EQ(run.exit_code, GetParam().exit_code);
  EXPECT_EQ(run.err, "hexaplan: " + GetParam().message + "\n");
  EXPECT_EQ(run.out, "");
}

const std::string kModel = "estimate --model llama-3.1-8b ";
const std::string kQuestion = kModel + "--cluster 8xH100 --quiet ";

INSTANTIATE_TEST_SUITE_P(
    usage, CommandLine,
    testing::Values(
        BadLine{"mistyped_command", "estimat", 2, "unknown command 'estimat'; did you mean 'estimate'?"},
        BadLine{"unknown_command", "xyzzy", 2,
                "unknown command 'xyzzy'; there are estimate, simulate, search, finetune, posttrain, "
                "compare, import, diff, "
                "export, report, run, "
                "verify, validate, oracle, measure, runs, accuracy, calibrate, cluster, presets, backends, "
                "completion, man"},
        BadLine{"mistyped_option", "estimate --modle x", 2,
                "unknown option --modle; did you mean '--model'?"},
        BadLine{"mistyped_option_with_value", "estimate --micro-bach=2", 2,
                "unknown option --micro-bach; did you mean '--micro-batch'?"},
        BadLine{"option_in_front_of_the_command", "--quiet estimate", 2,
                "option --quiet belongs behind the command"},
        BadLine{"option_without_value", "estimate --model", 2, "option --model needs a value: MODEL"},
        BadLine{"superfluous_word", "estimate extra", 2, "estimate takes no argument 'extra'"},
        BadLine{"no_model", "estimate --cluster 8xH100", 2,
                "--model: got nothing, expected a preset, a config.json or its folder; 'hexaplan presets "
                "list models' lists the presets"},
        BadLine{"no_cluster", "estimate --model llama-3.1-8b", 2,
                "--cluster: got nothing, expected GPUs and network, such as 64xH100; 'hexaplan presets list "
                "gpus' lists the types"},
        BadLine{"no_table", "accuracy", 2, "accuracy: no table, as in 'hexaplan accuracy TABLE.csv'"},
        BadLine{"worst_is_no_number", "accuracy x.csv --worst -1", 2,
                "--worst: got \"-1\", expected a whole number from 0 to 999999"},
        BadLine{"presets_without_action", "presets", 2, "presets: got \"\", expected list or show"},
        BadLine{"presets_of_no_kind", "presets list gpuz", 2,
                "unknown kind of preset 'gpuz'; did you mean 'gpus'?"},
        BadLine{"show_without_name", "presets show models", 2,
                "presets show: expected a kind and a name, as in 'presets show gpus h100-80-sxm'"},
        BadLine{"unknown_shell", "completion tcsh", 2,
                "completion: got \"tcsh\", expected bash, zsh or fish"},
        BadLine{"unknown_colour", "presets list --colour blue", 2,
                "--colour: got \"blue\", expected auto, always or never"}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    values, CommandLine,
    testing::Values(
        BadLine{"negative_sequence", kQuestion + "--seq -5", 2,
                "--seq: got \"-5\", expected a whole number from 1 to 1000000000, such as 8192 or 8k"},
        BadLine{"zero_sequence", kQuestion + "--seq 0", 2,
                "--seq: got \"0\", expected a whole number from 1 to 1000000000, such as 8192 or 8k"},
        BadLine{"sequence_that_is_no_number", kQuestion + "--seq nan", 2,
                "--seq: got \"nan\", expected a whole number from 1 to 1000000000, such as 8192 or 8k"},
        BadLine{"sequence_beyond_reason", kQuestion + "--seq 1e18", 2,
                "--seq: got \"1e18\", expected a whole number from 1 to 1000000000, such as 8192 or 8k"},
        BadLine{"zero_micro_batch", kQuestion + "--micro-batch 0", 2,
                "--micro-batch: got \"0\", expected a whole number from 1 to 1000000000, such as 1024"},
        BadLine{"dropout_above_one", kQuestion + "--dropout 1.5", 2,
                "--dropout: got \"1.5\", expected a number from 0 to 0.999"},
        BadLine{"mistyped_precision", kQuestion + "--precision bf61", 2,
                "--precision: got \"bf61\", expected one of fp32, tf32, fp16, bf16, fp8, fp8-block, mxfp8, "
                "nvfp4; did you mean \"bf16\"?"},
        BadLine{"mistyped_recompute", kQuestion + "--recompute sellective", 2,
                "--recompute: got \"sellective\", expected one of none, selective, selective-op, full, "
                "layers=N, modules=A,B; did you mean \"selective\"?"},
        BadLine{"mistyped_layout_word", kQuestion + "--layout 'tp2 zer1'", 2,
                "--layout: got \"zer1\", expected a layout word such as tp8, pp4, zero1 or sp; did you mean "
                "\"zero\"?"},
        BadLine{"layout_that_does_not_divide_the_cluster", kQuestion + "--layout tp3", 2,
                "--layout: got tp3 cp1 pp1, expected tp·cp·pp that divides 8 GPUs, not 3"},
        BadLine{"price_that_is_no_number", kQuestion + "--price cheap", 2,
                "--price: got \"cheap\", expected US dollars per GPU-hour, such as 2.50"},
        BadLine{"cluster_of_nothing", kModel + "--cluster 0xH100", 2,
                "--cluster: got \"0xH100\", expected 1 to 10000000 GPUs"},
        BadLine{"cluster_beyond_reason", kModel + "--cluster 99999999999xH100", 2,
                "--cluster: got \"99999999999xH100\", expected 1 to 10000000 GPUs"}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    inputs, CommandLine,
    testing::Values(BadLine{"model_file_that_is_not_there",
                            "estimate --model /nowhere/config.json --cluster 8xH100", 4,
                            "/nowhere/config.json: cannot be read: No such file or directory"},
                    BadLine{"scenario_that_is_not_there", "estimate --scenario /nowhere/run.json", 4,
                            "/nowhere/run.json: cannot be read: No such file or directory"},
                    BadLine{"table_that_is_not_there", "accuracy /nowhere.csv", 4,
                            "/nowhere.csv: cannot be read: No such file or directory"}),
    [](const auto& row) { return row.param.name; });

TEST(command_line, an_unknown_model_names_the_nearest) {
  const Finished run = run_hexaplan("estimate --model llama-3.1-9b --cluster 8xH100");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.err.find("did you mean \"llama-3.1-8b\"?"), std::string::npos) << run.err;
}

// Whoever looks a name up: where it was typed, it is the command line that is wrong, and the option is named.
TEST(command_line, a_value_of_an_option_that_names_nothing_is_an_error_of_that_option) {
  const TemporaryFile scenario{
      R"({"schema": "hexaplan/scenario/1", "model": "llama-3.1-8b", "cluster": "8xH1000"})", ".json"};
  const struct {
    std::string arguments;
    int code;
    std::string begins;
  } rows[] = {
      {kQuestion + "--framework megatro", 2, "--framework: got \"megatro\""},
      {kModel + "--cluster 8xH1000", 2, "--cluster: got \"H1000\""},
      {"estimate --cluster=8xH100 --model=llama-9", 2, "--model: got \"llama-9\""},
      {kQuestion + "--calibration h1000", 2, "--calibration: got \"h1000\""},
      {kQuestion + "--optimizer adammm", 2, "--optimizer: got \"adammm\""},
      {"finetune --model llama-3.1-8b --gpu h1000", 2, "--gpu: got \"h1000\""},
      {"finetune --model llama-3.1-8b --gpu h100 --gpus x", 2, "--gpus: got \"x\""},
      {"search --model llama-3.1-8b --cluster 8xH100 --network token-ring", 2,
       "--network: got \"token-ring\""},
      {"calibrate --gpu h1000", 2, "--gpu: got \"h1000\""},
      // What a file says is not the command line's mistake, unless a flag on top of it is.
      {"estimate --scenario " + scenario.path(), 4, scenario.path() + ": gpu: got \"H1000\""},
      {"estimate --scenario " + scenario.path() + " --cluster 8xH2000", 2, "--cluster: got \"H2000\""},
  };
  for (const auto& row : rows) {
    const Finished run = run_hexaplan(row.arguments);
    EXPECT_EQ(run.exit_code, row.code) << row.arguments;
    EXPECT_EQ(run.err.rfind("hexaplan: " + row.begins, 0), 0U) << run.err;
  }
}

// A program that asked for JSON gets JSON, whoever found the mistake; people get the line as ever.
TEST(command_line, errors_are_documents_under_json) {
  const struct {
    std::string arguments;
    int code;
    const char *where, *got;
  } rows[] = {
      {"estimat --json", 2, nullptr, nullptr},
      {kQuestion + "--seq -5 --json", 2, "--seq", "\"-5\""},
      {"estimate --json --scenario /nowhere/run.json", 4, "/nowhere/run.json", nullptr},
      {"estimate --json --cluster 8xH100 --model llama-9", 2, "--model", "\"llama-9\""},
  };
  for (const auto& row : rows) {
    const Finished run = run_hexaplan(row.arguments);
    EXPECT_EQ(run.exit_code, row.code) << row.arguments;
    const presets::JsonValue document = presets::parse_json(run.out, "stdout").root;
    EXPECT_EQ(at(document, "schema"), presets::JsonValue{"hexaplan/error/1"});
    EXPECT_EQ("hexaplan: " + *at(document, "error.message").get_if<std::string>() + "\n", run.err);
    EXPECT_EQ(number_at(document, "error.exit_code"), row.code);
    EXPECT_EQ(at(document, "error.where"),
              row.where == nullptr ? presets::JsonValue{} : presets::JsonValue{row.where});
    EXPECT_EQ(at(document, "error.got"),
              row.got == nullptr ? presets::JsonValue{} : presets::JsonValue{row.got});
  }
  EXPECT_EQ(run_hexaplan(kQuestion + "--seq -5").out, "");
}

TEST(command_line, a_result_that_cannot_be_written_is_an_unusable_environment) {
  const Finished run = run_hexaplan("presets list gpus -o /nowhere/out.txt");
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_EQ(
      run.err,
      "hexaplan: /nowhere/out.txt: got No such file or directory, expected a file that can be written\n");
  EXPECT_EQ(run_hexaplan("presets list gpus -o /dev/full").exit_code, 4);
}

TEST(command_line, what_people_type_first_is_understood) {
  const std::string help = run_hexaplan("--help").out, version = run_hexaplan("--version").out;
  for (const char* words : {"", "help"}) EXPECT_EQ(run_hexaplan(words).out, help) << words;
  for (const char* words : {"version", "-V"}) EXPECT_EQ(run_hexaplan(words).out, version) << words;
  EXPECT_EQ(run_hexaplan("help estimate").out, run_hexaplan("estimate --help").out);
  EXPECT_EQ(run_hexaplan("help estimat").exit_code, 2);
  EXPECT_EQ(run_hexaplan(kQuestion + "--layout fsdp --seq 4,096 --tokens 15t").out,
            run_hexaplan(kQuestion + "--layout fsdp --seq 4096 --tokens 15T").out);
}

TEST(command_line, the_last_of_repeated_options_wins) {
  EXPECT_EQ(run_hexaplan(kQuestion + "--micro-batch 0 --micro-batch 1 --layout fsdp").exit_code, 0);
}

}  // namespace
}  // namespace hexaplan::cli
