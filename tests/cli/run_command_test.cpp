#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

#include "presets/json/read_json.h"
#include "tests/cli/run_hexaplan.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kTiny =
    R"({"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 64, "vocab_size": 128, "max_position_embeddings": 64})";

Finished run_tiny(const std::string& arguments) {
  return run_hexaplan("run --model - --seq 16 --global-batch 4 " + arguments, kTiny);
}

presets::JsonValue json_of_tiny(const std::string& arguments) {
  const Finished finished = run_tiny(arguments + " --json");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  return presets::parse_json(finished.out, "stdout").root;
}

const std::string& text_at(const presets::JsonValue& value, const std::string& path) {
  return *at(value, path).get_if<std::string>();
}

const presets::JsonArray& list_at(const presets::JsonValue& value, const std::string& path) {
  return *at(value, path).get_if<presets::JsonArray>();
}

TEST(run_command, reports_loss_phases_memory_and_collectives_of_every_rank) {
  const presets::JsonValue report = json_of_tiny("--layout 'tp2 pp2' --steps 3 --dtype f64");
  EXPECT_EQ(at(report, "complete"), presets::JsonValue{true});
  const presets::JsonArray& steps = list_at(report, "steps");
  ASSERT_EQ(steps.size(), 3U);
  // Random tokens of 128 words: as good as guessing, whatever the layout.
  EXPECT_NEAR(number_at(steps[0], "loss"), std::log(128), 0.2);
  EXPECT_GT(number_at(steps[2], "gradient_norm"), 0);
  const presets::JsonArray& ranks = list_at(report, "ranks");
  ASSERT_EQ(ranks.size(), 4U);
  for (const presets::JsonValue& rank : ranks) {
    EXPECT_GT(number_at(rank, "memory.peak_bytes"), 0);
    EXPECT_GT(number_at(rank, "memory.peak_bytes_by_kind.parameters"), 0);
    EXPECT_GT(number_at(rank, "phase_seconds.forward"), 0);
    EXPECT_FALSE(list_at(rank, "collectives").empty());
    EXPECT_FALSE(list_at(rank, "operations").empty());
  }
}

TEST(run_command, a_model_of_dimensions_runs_and_has_no_config_to_save) {
  const std::string run = "run --model 'layers=2 hidden=32 heads=4 ffn=64 vocab=128' --seq 16 --layout dp1 ";
  const Finished finished = run_hexaplan(run);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("gradient norm"));
  const Finished saves = run_hexaplan(run + "--save-weights weights_of_dimensions");
  EXPECT_NE(saves.exit_code, 0);
  EXPECT_THAT(saves.err, AllOf(HasSubstr("--save-weights"), HasSubstr("a model with a config.json")));
  EXPECT_FALSE(std::filesystem::exists("weights_of_dimensions"));
}

TEST(run_command, tells_the_story_in_text) {
  const Finished finished = run_tiny("--layout dp2 --steps 2");
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.out,
              AllOf(HasSubstr("2 ranks (threads)"), HasSubstr("gradient norm"), HasSubstr("Time by phase"),
                    HasSubstr("at the peak"), HasSubstr("all-reduce")));
}

TEST(run_command, goes_on_from_a_checkpoint_under_another_layout) {
  const tests::TemporaryFolder own;
  const std::string folder = own.path() / "run";
  const auto loss_of_third = [](const presets::JsonValue& report) {
    return number_at(list_at(report, "steps").back(), "loss");
  };
  (void)json_of_tiny("--layout 'tp2 zero1 dp2' --dtype f64 --steps 2 --save " + folder);
  const auto resumed = json_of_tiny("--layout 'pp2' --dtype f64 --steps 1 --load " + folder);
  const auto whole = json_of_tiny("--layout 'dp1' --dtype f64 --steps 3");
  EXPECT_EQ(number_at(resumed, "first_step"), 2);
  EXPECT_NEAR(loss_of_third(resumed), loss_of_third(whole), 1e-10);
}

TEST(run_command, a_loss_that_is_no_number_ends_the_run_and_is_no_checkpoint) {
  const TemporaryFile report{""};
  const tests::TemporaryFolder own;
  const std::string folder = own.path() / "nan";
  for (const char* layout : {"dp1", "'tp2 pp2'"}) {
    const Finished finished = run_tiny(std::string{"--learning-rate 100 --steps 200 --json --save "} +
                                       folder + " --report " + report.path() + " --layout " + layout);
    EXPECT_EQ(finished.exit_code, 6) << layout;
    EXPECT_THAT(finished.err,
                testing::ContainsRegex(
                    "rank [0-3]: step [0-9]+: the (loss|gradient norm) is (not a number|infinite)"));
    EXPECT_THAT(finished.err,
                testing::ContainsRegex("first wrong in [a-z.]+ of .*ward, micro-batch [0-9]+\\)"));
    EXPECT_THAT(finished.err, HasSubstr("smaller --learning-rate (it was 100)"));
    // Our own reader is strict: it knows no NaN.
    for (const std::string& text : {finished.out, content_of(report.path())}) {
      const presets::JsonValue document = presets::parse_json(text, "report").root;
      const std::string operation = *at(document, "fault.operation").get_if<std::string>();
      EXPECT_THAT(finished.err, HasSubstr("first wrong in " + operation + " of ")) << "and no message";
      const presets::JsonValue& last = list_at(document, "steps").back();
      EXPECT_TRUE(at(last, "loss").is_null() || at(last, "gradient_norm").is_null());
    }
    EXPECT_FALSE(std::filesystem::exists(folder));
  }
}

TEST(run_command, a_report_says_what_is_computed_in_where_that_is_not_what_is_stored) {
  const auto arithmetic_of = [](const std::string& type) {
    const presets::JsonValue report = json_of_tiny("--layout dp1 --dtype " + type);
    const std::string* text = at(report, "arithmetic").get_if<std::string>();
    return text == nullptr ? "" : *text;
  };
  EXPECT_EQ(arithmetic_of("bf16"),
            "computed in float32 on the CPU; every operation rounds its result to bfloat16");
  EXPECT_EQ(arithmetic_of("f32"), "computed in float32 on the CPU; bytes are counted as bf16");
  EXPECT_EQ(arithmetic_of("f32 --precision fp32"), "");
}

TEST(run_command, threads_are_those_asked_for_and_change_no_number) {
  const auto of = [](const std::string& words) {
    const presets::JsonValue report = json_of_tiny("--layout dp1 --steps 2 " + words);
    double threads = 0;
    for (const presets::JsonValue& fact : list_at(list_at(report, "ranks").front(), "device_facts")) {
      if (*at(fact, "name").get_if<std::string>() == "threads") threads = number_at(fact, "value");
    }
    return std::pair{threads, number_at(list_at(report, "steps").back(), "loss")};
  };
  const auto [one, loss] = of("--threads 1");
  EXPECT_EQ(one, 1);
  EXPECT_EQ(of("--threads 3"), std::pair(3.0, loss));
#ifdef __linux__
  cpu_set_t mask;
  CPU_ZERO(&mask);
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  EXPECT_EQ(of("").first, CPU_COUNT(&mask)) << "the processors of this process";
#endif
  EXPECT_THAT(run_tiny("--layout dp1 --threads 0").err, HasSubstr("--threads: got 0, expected at least 1"));
}

TEST(run_command, kernels_that_no_processor_has_are_refused) {
  setenv("HEXAPLAN_INSTRUCTIONS", "avx3", 1);
  const Finished finished = run_tiny("--layout dp1");
  unsetenv("HEXAPLAN_INSTRUCTIONS");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("HEXAPLAN_INSTRUCTIONS: got \"avx3\", expected"));
  EXPECT_THAT(finished.err, HasSubstr("leave the variable out"));
}

TEST(run_command, checkpoints_are_kept_every_so_many_steps) {
  const tests::TemporaryFolder own;
  const std::string folder = own.path() / "every";
  (void)json_of_tiny("--layout dp2 --dtype f64 --steps 5 --save-every 2 --save " + folder);
  for (const int step : {2, 4, 5})
    EXPECT_TRUE(std::filesystem::exists(folder + "/step-0000000" + std::to_string(step))) << step;
  EXPECT_FALSE(std::filesystem::exists(folder + "/step-00000003"));
  const auto again = json_of_tiny("--layout dp1 --dtype f64 --steps 1 --load " + folder + "/step-00000004");
  EXPECT_EQ(number_at(again, "first_step"), 4);
}

TEST(run_command, a_report_that_is_a_fifo_is_told_the_whole_document_once) {
  const tests::TemporaryFolder own;
  const std::string fifo = own.path() / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::string told;
  std::thread reader{[&] { told = content_of(fifo); }};
  const Finished finished = run_tiny("--layout dp1 --steps 3 --report " + fifo);
  reader.join();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(list_at(presets::parse_json(told, "fifo").root, "steps").size(), 3U);
  EXPECT_TRUE(std::filesystem::is_fifo(fifo));
}

TEST(run_command, a_report_that_can_no_longer_be_written_costs_the_exit_code_and_not_the_run) {
  // A full disk of this test's own: /dev/full itself is everybody's.
  const tests::TemporaryFolder own;
  const std::string full = own.path() / "full";
  if (mknod(full.c_str(), S_IFCHR | 0666, makedev(1, 7)) != 0)
    GTEST_SKIP() << "no device can be made here: that takes root";
  const TemporaryFile copy{""};
  const Finished finished = run_tiny("--layout dp1 --steps 3 --json --report " + full + " -o " + copy.path());
  EXPECT_EQ(finished.exit_code, 4);
  EXPECT_THAT(finished.err, AllOf(HasSubstr(full), HasSubstr("No space left on device")));
  EXPECT_EQ(list_at(presets::parse_json(content_of(copy.path()), "result").root, "steps").size(), 3U);
  EXPECT_TRUE(std::filesystem::is_character_file(full));
  EXPECT_EQ(run_tiny("--layout dp1 -o " + full).exit_code, 4);
  EXPECT_TRUE(std::filesystem::is_character_file(full));
}

TEST(run_command, a_hugging_face_checkpoint_goes_on_under_any_layout) {
  const tests::TemporaryFolder own;
  const std::string folder = own.path() / "weights", narrow = own.path() / "narrow";
  (void)json_of_tiny("--layout 'tp2 dp2 zero1' --dtype f64 --steps 3 --learning-rate 0.01 --save-weights " +
                     folder);
  const auto losses = [](const std::string& arguments) {
    const presets::JsonValue report =
        json_of("run --seq 16 --global-batch 4 --dtype f64 --json --steps 2 " + arguments);
    return std::pair{number_at(list_at(report, "steps")[0], "loss"),
                     number_at(list_at(report, "steps")[1], "loss")};
  };
  // The model is that of the folder's config.json.
  const auto [first, second] = losses("--layout dp1 --weights " + folder);
  EXPECT_GT(
      std::abs(first - number_at(list_at(json_of_tiny("--layout dp1 --dtype f64"), "steps")[0], "loss")),
      1e-3)
      << "weights of the checkpoint, not initial ones";
  const auto [cut_first, cut_second] = losses("--layout 'tp2 pp2' --weights " + folder);
  EXPECT_NEAR(cut_first, first, 1e-10);
  EXPECT_NEAR(cut_second, second, 1e-10);
  (void)losses("--layout pp2 --learning-rate 1e-12 --weights-type bf16 --save-weights " + narrow +
               " --weights " + folder);
  const double rounded = losses("--layout dp1 --weights " + narrow).first;
  EXPECT_NE(rounded, first);
  EXPECT_NEAR(rounded, first, 1e-2);
}

TEST(run_command, out_of_memory_names_tensor_rank_and_prediction_and_keeps_the_report) {
  const TemporaryFile report{""};
  const Finished finished = run_tiny("--layout 'tp2 pp2' --memory-limit 60KiB --report " + report.path());
  EXPECT_EQ(finished.exit_code, 6);
  EXPECT_THAT(finished.err, testing::ContainsRegex(
                                "rank [0-3]: .*[a-z]: .*needs [0-9]+ bytes; [0-9]+ of 61440 are in use"));
  EXPECT_THAT(finished.err, testing::ContainsRegex("predicted peak of stage [01]: [0-9]+ bytes"));
  const auto kept = presets::parse_json(content_of(report.path()), "report").root;
  EXPECT_EQ(at(kept, "complete"), presets::JsonValue{false});
  EXPECT_EQ(at(kept, "fault.cause"), presets::JsonValue{"threw"});
}

TEST(run_command, out_of_memory_inside_the_step_names_operation_and_layer) {
  const presets::JsonValue report = json_of_tiny("--layout dp1 --micro-batch 4");
  const double peak = number_at(list_at(report, "ranks").front(), "memory.peak_bytes");
  const Finished finished =
      run_tiny(fmt::format("--layout dp1 --micro-batch 4 --memory-limit {:.0f}B", peak - 1));
  EXPECT_EQ(finished.exit_code, 6);
  EXPECT_THAT(finished.err,
              testing::ContainsRegex(
                  "[a-z]+\\.[a-z]+ of (layer [01]|the output layer) \\((for|back)ward, micro-batch 0\\): "
                  "[a-z._]+ needs [0-9]+ bytes"))
      << finished.err;
  EXPECT_THAT(finished.err, testing::Not(HasSubstr("after"))) << "its last message tells nothing";
}

TEST(run_command, the_learning_rate_rises_falls_and_goes_on_over_checkpoints) {
  const tests::TemporaryFolder own;
  const std::string folder = own.path() / "rate";
  const std::string schedule =
      "--layout dp1 --learning-rate 0.1 --lr-schedule linear --lr-warmup 2 --lr-steps 6 --lr-min 0.02 ";
  std::vector<double> rates;
  for (const std::string& part : {"--steps 4 --save " + folder, "--steps 3 --load " + folder}) {
    const presets::JsonValue report = json_of_tiny(schedule + part);
    for (const presets::JsonValue& step : list_at(report, "steps"))
      rates.push_back(number_at(step, "learning_rate"));
  }
  EXPECT_THAT(rates,
              testing::Pointwise(testing::DoubleNear(1e-12), {0.05, 0.1, 0.08, 0.06, 0.04, 0.02, 0.02}));
}

/// What a number does is seen in the loss of the third step.
TEST(run_command, every_number_of_the_optimizer_has_an_effect) {
  const TemporaryFile tokens{
      "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 "
      "32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 "
      "61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 "
      "90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113"};
  const auto loss = [&](const std::string& words) {
    return number_at(
        list_at(json_of_tiny("--layout dp1 --dtype f64 --steps 3 --learning-rate 0.01 --token-file " +
                             tokens.path() + " " + words),
                "steps")
            .back(),
        "loss");
  };
  const double plain = loss("");
  EXPECT_EQ(
      plain,
      loss("--beta1 0.9 --beta2 0.95 --epsilon 1e-5 --weight-decay 0.1 --clip 1 --lr-schedule constant"))
      << "the defaults that the help names";
  for (const char* words :
       {"--beta1 0.5", "--beta2 0.5", "--epsilon 0.01", "--weight-decay 0.5", "--clip 0.001",
        "--lr-schedule cosine", "--lr-schedule linear", "--lr-warmup 3", "--shuffle"})
    EXPECT_NE(loss(words), plain) << words;
  EXPECT_NE(loss("--lr-schedule cosine --lr-min 0.009"), loss("--lr-schedule cosine"));
  for (const std::string optimizer : {"sgd", "muon"}) {
    const std::string chosen = "--optimizer " + optimizer;
    EXPECT_NE(loss(chosen + " --momentum 0.5"), loss(chosen)) << chosen;
  }
  for (const char* words : {"--optimizer lion --beta1 0.5", "--optimizer lion --beta2 0.5",
                            "--optimizer lamb --epsilon 0.01", "--optimizer adamw-8bit --beta2 0.5"})
    EXPECT_NE(loss(words), loss(std::string{words}.substr(0, std::string_view{words}.rfind(" --")))) << words;
}

TEST(run_command, what_cannot_be_executed_is_said_before_anything_runs) {
  struct Row {
    const char* arguments;
    int exit_code;
    const char* says;
  };
  const TemporaryFile tokens{"1 2 3 200"};
  const Row rows[] = {
      {"--layout tp3", 3, "tp"},
      {"--layout dp1 --optimizer lamb --offload optimizer", 3, "or AdamW, Lion or SGD"},
      {"--layout dp1 --optimizer adafactor --beta1 0.9", 2, "adafactor has no such number"},
      {"--layout dp1 --optimizer adafactor --epsilon 1e-8", 2, "adafactor has no such number"},
      {"--layout dp1 --steps 0", 2, "--steps"},
      {"--layout dp1 --dtype f8", 2, "expected f32 or f64 or bf16 or f16"},
      {"--layout dp1 --memory-limit 80", 2, "80GiB"},
      {"--layout dp1 --device tpu", 2, "hexaplan backends"},
      {"--layout dp1 --device cuda --dtype f64", 2, "expected bf16 or f32"},
      {"--layout dp1 --ranks fibers", 2, "threads or solo or mpi or nccl"},
      {"--layout dp2 --ranks solo --solo-rank 2", 2, "a rank of the layout, 0 to 1"},
      {"--layout dp2 --ranks solo --save /nowhere", 2, "one rank's shard only"},
      {"--layout dp2 --ranks mpi", 2, "mpirun -np 2"},
      {"--layout dp1 --load /nowhere", 2, "holds no checkpoint"},
      {"--layout dp1 --report /nowhere/report.json", 4, "a file that can be written"},
      {"--layout dp1 --steps 1000000 -o /nowhere/result", 4, "a file that can be written"},
      {"--layout dp1 --steps 1000000 --save /dev/null/here", 4, "a folder for checkpoints"},
      {"--layout dp1 --save-every 2", 2, "needs --save"},
      {"--layout dp1 --beta1 1", 2, "expected a number from 0 to below 1"},
      {"--layout dp1 --momentum 0.5", 2, "--momentum: got a value, expected none"},
      {"--layout dp1 --optimizer sgd --beta1 0.5", 2, "it would change nothing: sgd has no such number"},
      {"--layout dp1 --optimizer lion --epsilon 1e-8", 2, "lion has no such number"},
      {"--layout dp1 --clip nan", 2, "expected a number from 0 (never)"},
      {"--layout dp1 --lr-schedule step", 2, "expected constant, cosine or linear"},
      {"--layout dp1 --lr-min 1e-5", 2, "--lr-min: needs --lr-schedule cosine or linear"},
      {"--layout dp1 --lr-schedule cosine --lr-min 1", 2, "at most the learning rate"},
      {"--layout dp1 --lr-schedule cosine --lr-warmup 9 --lr-steps 9", 2, "more than the 9 of --lr-warmup"},
      {"--layout dp1 --shuffle", 2, "needs --token-file"},
      {"--layout dp1 --weights /nowhere", 4, "model.safetensors.index.json"},
      {"--layout dp1 --weights /nowhere --load /nowhere", 2, "--load has parameters already"},
      {"--layout dp1 --weights /nowhere --noise", 2, "--noise none"},
      {"--layout dp1 --save-weights /nowhere --shrink", 2, "not what --shrink makes"},
      {"--layout dp1 --save-weights /dev/null/here", 4, "a folder"},
      {"--layout dp1 --weights-type BF16", 2, "needs --save-weights"},
      {"--layout dp1 --weights /nowhere --weights-type BF16", 2, "needs --save-weights"},
      {"--layout dp1 --save-weights /nowhere --weights-type int8", 2, "expected F64, F32, F16, BF16"},
      {"--layout dp2 --ranks solo --save-weights /nowhere", 2, "one rank's shard only"},
  };
  for (const Row& row : rows) {
    const Finished finished = run_tiny(row.arguments);
    EXPECT_EQ(finished.exit_code, row.exit_code) << row.arguments << finished.err;
    EXPECT_THAT(finished.out + finished.err, HasSubstr(row.says)) << row.arguments;
  }
  const Finished bad_tokens = run_tiny("--layout dp1 --token-file " + tokens.path());
  EXPECT_EQ(bad_tokens.exit_code, 4);
  EXPECT_THAT(bad_tokens.err, HasSubstr("token 4: got \"200\", expected a whole number from 0 to 127"));
}

TEST(run_command, a_layout_of_any_number_of_ranks_needs_no_cluster) {
  for (const char* layout : {"dp3 pp2 tp2", "dp3 pp3", "dp5 tp2", "dp11"}) {
    const Finished finished = run_hexaplan(
        fmt::format("run --model - --seq 16 --global-batch 165 --json --layout '{}'", layout), kTiny);
    EXPECT_EQ(finished.exit_code, std::string{layout} == "dp3 pp3" ? 3 : 0) << layout << finished.err;
  }
}

TEST(run_command, ranks_of_mpi_are_checked_against_the_memory_of_their_host_together) {
  struct Row {
    std::vector<std::pair<const char*, const char*>> variables;
    const char* says;
  };
  const std::pair rank{"OMPI_COMM_WORLD_RANK", "9"}, size{"OMPI_COMM_WORLD_SIZE", "1024"};
  const Row rows[] = {
      {{rank, size, {"OMPI_COMM_WORLD_LOCAL_RANK", "9"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "1024"}},
       "1024 ranks need"},
      {{rank, size, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}},
       "8 ranks need"},
      {{rank, size, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}, "(needs about"},
  };
  for (const Row& row : rows) {
    // As mpirun tells them; refused before MPI starts.
    for (const auto& [name, value] : row.variables) ::setenv(name, value, 1);
    const Finished finished = run_hexaplan(
        "run --model llama-3.1-405b --layout 'tp8 pp16 dp8' --micro-batch 64 --global-batch 1024 "
        "--ranks mpi");
    for (const auto& [name, value] : row.variables) ::unsetenv(name);
    EXPECT_EQ(finished.exit_code, 3) << finished.err;
    EXPECT_THAT(finished.out, HasSubstr(row.says));
  }
}

TEST(run_command, a_model_far_beyond_this_machine_is_refused_with_a_way_out) {
  const Finished finished = run_hexaplan("run --model llama-3.1-405b --layout 'tp8 pp16 dp8'");
  EXPECT_EQ(finished.exit_code, 3) << "as other layouts that do not fit";
  EXPECT_THAT(finished.out, HasSubstr("does not fit in this host's memory"));
  EXPECT_THAT(finished.out, HasSubstr("--shrink"));
}

TEST(run_command, a_large_plan_runs_shrunk_under_the_same_layout) {
  const presets::JsonValue report = json_of(
      "run --model llama-3.1-405b --cluster 512xH100 --layout 'tp8 pp4 dp16 sp zero1' --shrink --json");
  EXPECT_EQ(at(report, "complete"), presets::JsonValue{true});
  EXPECT_EQ(at(report, "shrunk"), presets::JsonValue{true});
  EXPECT_LE(number_at(report, "model.hidden"), 1024);
  EXPECT_EQ(list_at(report, "ranks").size(), 64U) << "data parallelism alone is cut";
  EXPECT_EQ(number_at(list_at(report, "ranks").back(), "stage"), 3);
}

TEST(run_command, one_rank_of_16384_runs_alone) {
  const presets::JsonValue report = json_of(
      "run --model llama-3.1-405b --cluster 16384xH100 --layout 'tp8 pp16 dp128 sp zero1' --shrink --ranks "
      "solo "
      "--solo-rank 16383 --json");
  EXPECT_EQ(at(report, "complete"), presets::JsonValue{true});
  const presets::JsonArray& ranks = list_at(report, "ranks");
  ASSERT_EQ(ranks.size(), 1U);
  EXPECT_EQ(number_at(ranks[0], "rank"), 16383);
  EXPECT_EQ(number_at(ranks[0], "stage"), 15);
  EXPECT_GT(number_at(ranks[0], "memory.peak_bytes"), 0);
  EXPECT_FALSE(list_at(ranks[0], "collectives").empty());
}

TEST(backends_command, lists_devices_and_kinds_of_ranks) {
  const presets::JsonValue json = json_of("backends --json");
  const presets::JsonArray& rows = list_at(json, "backends");
  EXPECT_GE(rows.size(), 3U);
  for (const presets::JsonValue& row : rows) {
    const bool available = *at(row, "available").get_if<bool>();
    EXPECT_EQ(at(row, "remedy").get_if<std::string>()->empty(), available)
        << "one that is missing says what to do";
  }
  EXPECT_THAT(run_hexaplan("backends").out, HasSubstr("--ranks"));
}

TEST(backends_command, a_device_that_is_missing_is_refused_with_what_to_install) {
  const presets::JsonValue json = json_of("backends --json");
  for (const presets::JsonValue& row : list_at(json, "backends")) {
    if (*at(row, "available").get_if<bool>() || text_at(row, "role") != "device") continue;
    const Finished finished = run_tiny("--layout dp1 --device " + text_at(row, "name"));
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_THAT(finished.err, HasSubstr(text_at(row, "detail")));
    EXPECT_THAT(finished.err, HasSubstr(text_at(row, "remedy")));
  }
}

/// A launcher signals all processes of a job, and a rank's supervisor passes on what it got.
TEST(run_command, the_same_signal_twice_is_one_request_to_stop_and_save) {
  const TemporaryFile report{""};
  const tests::TemporaryFolder own;
  const std::string saved = own.path() / "saved";
  const std::string command = fmt::format(
      "'{}' run --model 'layers=1 hidden=16 heads=2 ffn=16 vocab=32' --layout dp1 --seq 16 --steps 1000000 "
      "--no-store --quiet --report '{}' --save '{}' >/dev/null 2>&1 & p=$!; "
      "while kill -0 $p && ! test -s '{}'; do sleep 0.1; done; kill -TERM $p; kill -TERM $p; wait $p",
      HEXAPLAN_BINARY, report.path(), saved, report.path());
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 143);  // 128 + SIGTERM, after saving
  EXPECT_TRUE(std::filesystem::is_directory(saved) || std::filesystem::exists(saved));
}

}  // namespace
}  // namespace hexaplan::cli
