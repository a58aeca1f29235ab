#include <gtest/gtest.h>

#include <sstream>

#include "presets/json/read_json.h"
#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using presets::JsonArray;
using presets::JsonValue;

const std::string kQuestion =
    "simulate --model llama-3.1-8b --cluster 32xH100 --layout 'tp2 pp4 sp zero1' --seq 8k --global-batch 64 ";

TEST(simulate_json, has_the_documented_fields_and_times_of_a_stage_add_up_to_the_step) {
  const JsonValue s = json_of(kQuestion + "--json");
  EXPECT_EQ(*at(s, "schema").get_if<std::string>(), "hexaplan/simulation/1");
  const double step = number_at(s, "step_seconds");
  EXPECT_NEAR(number_at(s, "closed_form_seconds") / step, 1.0, 0.05);
  EXPECT_GT(number_at(s, "bubble_share"), 0);
  EXPECT_GT(number_at(s, "exposed_share"), 0);
  const auto& stages = *at(s, "stages").get_if<JsonArray>();
  ASSERT_EQ(stages.size(), 4U);
  for (const JsonValue& stage : stages) {
    double sum = 0;
    for (const auto& [part, seconds] : *at(stage, "seconds").get_if<presets::JsonObject>())
      sum += *seconds.get_if<double>();
    EXPECT_NEAR(sum, step, 1e-9 * step);
    EXPECT_LE(number_at(stage, "peak_device_bytes"), number_at(s, "capacity_bytes"));
  }
}

TEST(simulate_json, the_critical_path_is_as_long_as_the_step_and_passes_are_most_of_it) {
  const JsonValue s = json_of(kQuestion + "--json");
  EXPECT_EQ(number_at(s, "critical_path.stages"), 4);
  double sum = number_at(s, "critical_path.waiting_seconds"), passes = 0;
  for (const auto& [kind, seconds] : *at(s, "critical_path.seconds").get_if<presets::JsonObject>()) {
    sum += *seconds.get_if<double>();
    if (kind == "forward" || kind == "backward") passes += *seconds.get_if<double>();
  }
  const double step = number_at(s, "step_seconds");
  EXPECT_NEAR(sum, step, 1e-9 * step);
  EXPECT_GT(passes, 0.5 * step);
  EXPECT_LT(passes, step) << "the optimizer follows";
}

TEST(simulate, says_what_the_critical_path_is_made_of) {
  const Finished run = run_hexaplan(kQuestion + "--quiet");
  EXPECT_NE(run.out.find("  critical path over 4 stages: backward "), std::string::npos) << run.out;
  const std::string large =
      "simulate --quiet --model gpt2 --cluster 8xH100 --layout 'pp2 dp4' --global-batch 1100000 "
      "--micro-batch 1 ";
  EXPECT_NE(run_hexaplan(large).out.find("critical path: not followed through more than 500,000 passes"),
            std::string::npos);
  EXPECT_TRUE(at(json_of(large + "--json"), "critical_path").is_null());
}

TEST(simulate_json, agrees_with_estimate_about_memory) {
  const JsonValue s = json_of(kQuestion + "--json");
  const JsonValue e = json_of("estimate" + kQuestion.substr(8) + "--json");
  const auto& simulated = *at(s, "stages").get_if<JsonArray>();
  const auto& estimated = *at(e, "memory.stages").get_if<JsonArray>();
  for (std::size_t i = 0; i < simulated.size(); ++i)
    EXPECT_NEAR(number_at(simulated[i], "peak_device_bytes"), number_at(estimated[i], "peak"), 2);
}

TEST(simulate_json, a_layout_that_cannot_run_says_why) {
  const JsonValue s =
      json_of("simulate --model llama-3.1-8b --cluster 24xH100 --layout 'tp8 pp3 dualpipe' --json");
  EXPECT_EQ(*at(s, "rejection.rule").get_if<std::string>(), "stages-pair-up");
}

TEST(simulate, lines_of_the_timeline_fit_the_width_and_name_microbatches) {
  const Finished wide = run_hexaplan(kQuestion + "--quiet --schedule zb-h1");
  EXPECT_EQ(wide.exit_code, 0) << wide.err;
  for (const char* word : {"Step", "closed form", "Timeline", "F0", "backward weight", "bubble"})
    EXPECT_NE(wide.out.find(word), std::string::npos) << word;
  std::istringstream lines{wide.out.substr(wide.out.find("Timeline"))};
  std::string line;
  while (std::getline(lines, line)) {
    if (line.find("backward weight") != std::string::npos) continue;  // the legend
    EXPECT_LE(line.size(), 104U) << line;
  }
}

TEST(simulate, writes_a_trace_and_pictures) {
  const TemporaryFile trace{"", ".json"}, gantt{"", ".svg"}, memory{"", ".svg"};
  const Finished run = run_hexaplan(kQuestion + "--quiet --trace " + trace.path() + " --gantt-svg " +
                                    gantt.path() + " --memory-svg " + memory.path());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const presets::JsonDocument document = presets::parse_json(content_of(trace.path()), "trace");
  EXPECT_GT(document.root.find("traceEvents")->get_if<JsonArray>()->size(), 100U);
  EXPECT_NE(content_of(gantt.path()).find("llama-3.1-8b"), std::string::npos);
  EXPECT_NE(content_of(memory.path()).find("peak "), std::string::npos);
}

TEST(simulate, writes_what_perfetto_calls_its_own_by_the_name_of_the_file) {
  const TemporaryFile trace{"", ".pftrace"};
  const Finished run = run_hexaplan(kQuestion + "--quiet --trace " + trace.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const std::string content = content_of(trace.path());
  EXPECT_EQ(content.substr(0, 1), "\n") << "field 1, a message: a packet";
  EXPECT_NE(content.find("send forward 0"), std::string::npos);
}

TEST(simulate, a_file_that_cannot_be_written_is_named) {
  const Finished run = run_hexaplan(kQuestion + "--quiet --trace /nowhere/trace.json");
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_NE(run.err.find("/nowhere/trace.json"), std::string::npos);
}

TEST(simulate, a_step_of_too_many_tasks_is_refused_at_once_with_the_numbers_and_what_to_do) {
  const std::string huge =
      "simulate --quiet --model mixtral-8x7b --cluster 16xA100 --layout pp16 --seq 8k --global-batch "
      "1000000000 ";
  for (const char* output : {"--json", ""}) {
    const Finished run = run_hexaplan(huge + output);
    EXPECT_EQ(run.exit_code, 4) << output;
    EXPECT_EQ(run.out.find("\"closed_form_seconds\""), std::string::npos) << output;
    EXPECT_NE(run.err.find("micro-batches over 16 stages"), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("simulate at most "), std::string::npos) << run.err;
  }
}

TEST(simulate, a_trace_that_cannot_be_written_whole_is_one_error) {
  const Finished run = run_hexaplan(kQuestion + "--global-batch 6400 --quiet --trace /dev/full");
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_TRUE(run.out.empty()) << run.out;
  EXPECT_NE(run.err.find("/dev/full: got No space left on device"), std::string::npos) << run.err;
}

TEST(simulate, totals_are_told_for_more_tasks_than_a_picture_shows) {
  const std::string large =
      "simulate --quiet --model gpt2 --cluster 8xH100 --layout 'pp2 dp4' --global-batch 8000000 ";
  EXPECT_GT(number_at(json_of(large + "--micro-batch 1 --json"), "step_seconds"), 0);
  const Finished text = run_hexaplan(large + "--micro-batch 1");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("Its beginning"), std::string::npos) << text.out;
  const Finished drawn = run_hexaplan(large + "--micro-batch 1 --gantt-svg /dev/null");
  EXPECT_EQ(drawn.exit_code, 4);
  EXPECT_NE(drawn.err.find("or leave out --gantt-svg and --memory-svg"), std::string::npos) << drawn.err;
}

}  // namespace
}  // namespace hexaplan::cli
