#include <gmock/gmock.h>

#include <filesystem>
#include <set>
#include <string>

#include "costmodel/units/format_units.h"
#include "presets/json/read_json.h"
#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using presets::JsonArray;
using presets::JsonValue;
using testing::HasSubstr;
using testing::Not;

const JsonArray& list_at(const JsonValue& value, const std::string& path) {
  return *at(value, path).get_if<JsonArray>();
}

/// A history of its own, removed with the object.
struct History {
  TemporaryFile file{"", ".sqlite"};
  History() { std::filesystem::remove(file.path()); }
  History(const History&) = delete;
  History& operator=(const History&) = delete;
  ~History() {
    for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(file.path() + suffix);
  }
  [[nodiscard]] std::string option() const { return " --store " + file.path(); }
};

constexpr const char* kShort = "--steps 2 --warmup 1";

TEST(validate_command, compares_every_scenario_of_a_list_and_sums_up) {
  const JsonValue v = json_of(std::string{"validate --list cpu --no-store --json --quiet "} + kShort);
  EXPECT_EQ(*at(v, "schema").get_if<std::string>(), "hexaplan/validation/1");
  const JsonArray& rows = list_at(v, "scenarios");
  ASSERT_EQ(rows.size(), 7U);
  for (const JsonValue& row : rows) {
    EXPECT_EQ(at(row, "outcome"), JsonValue{"measured"}) << *at(row, "reason").get_if<std::string>();
    EXPECT_EQ(number_at(row, "memory.error"), 0) << *at(row, "name").get_if<std::string>();
    EXPECT_TRUE(at(row, "step").is_null()) << "nobody calibrated this host";
    EXPECT_GT(number_at(row, "measured_step_seconds"), 0);
    EXPECT_EQ(number_at(row, "measured_steps"), 2);
  }
  EXPECT_EQ(number_at(v, "summary.all.memory.scenarios"), 7);
  EXPECT_EQ(at(v, "asked"), JsonValue{"list cpu"});
  EXPECT_EQ(at(v, "complete"), JsonValue{true});
  EXPECT_TRUE(at(v, "stopped_by").is_null());
  EXPECT_EQ(number_at(v, "summary.all.memory.inside"), 1);
  EXPECT_LT(number_at(v, "summary.held_out.memory.scenarios"), 7);
}

TEST(validate_command, with_a_calibration_time_is_compared_by_phase_and_kind) {
  const Finished run = run_hexaplan(
      std::string{"validate --list cpu --calibration h100-80-sxm --terms --no-store --quiet "} + kShort);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const char* words : {"step predicted", "Time by phase", "Time by kind of operation", "matrix products",
                            "Memory at the peak", "inside the 90 % interval", "Held out"})
    EXPECT_THAT(run.out, HasSubstr(words));
}

TEST(validate_command, what_does_not_fit_is_a_row_and_not_the_end) {
  const Finished run =
      run_hexaplan(std::string{"validate --list cpu --memory-limit 3MiB --no-store --quiet "} + kShort);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("out of memory"));
  EXPECT_THAT(run.out, HasSubstr("whether it fits: right for 7 of 7"));
}

TEST(validate_command, scenarios_that_one_thing_kept_from_running_are_one_paragraph) {
  const Finished run = run_hexaplan("validate --list cpu --budget 1 --steps 100 --no-store --quiet");
  EXPECT_THAT(run.out, testing::ContainsRegex(
                           "[1-6] scenarios not run: the budget of 1 s was spent\n(  .*\n)*  experts\n"));
  EXPECT_THAT(run.out, Not(HasSubstr("unfinished"))) << "all were through";
}

TEST(validate_command, a_file_that_cannot_be_written_is_told_before_anything_runs) {
  const Finished run = run_hexaplan("validate --list cpu --no-store --html /proc/none/page.html");
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("/proc/none/page.html"));
  EXPECT_THAT(run.err, Not(HasSubstr("1/7")));
}

TEST(validate_command, takes_several_scenario_files) {
  const TemporaryFile a{
      R"({"schema": "hexaplan/scenario/1", "model": {"model_type": "llama", "hidden_size": 32,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64,
    "vocab_size": 128, "max_position_embeddings": 64}, "layout": "tp2",
    "recipe": {"sequence": 16, "global_batch": 2}})",
      ".json"};
  const JsonValue two = json_of("validate --scenario " + a.path() + " --scenario " + a.path() +
                                " --no-store --json --quiet --steps 1 --warmup 0");
  EXPECT_EQ(list_at(two, "scenarios").size(), 2U);
}

/// Four layers that a processor computes in milliseconds.
struct TinyModel {
  TemporaryFile file{R"({"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64, "vocab_size": 128,
    "max_position_embeddings": 64})",
                     ".json"};
  [[nodiscard]] std::string validate(const std::string& rest) const {
    return "validate --model " + file.path() + " --seq 16 --no-store --steps 2 --warmup 1 " + rest;
  }
};

TEST(validate_command, top_runs_the_planners_best_plans_on_what_is_here) {
  const TinyModel model;
  const JsonValue v = json_of(model.validate("--global-batch 4 --top 3 --json --quiet"));
  const JsonArray& rows = list_at(v, "scenarios");
  ASSERT_EQ(rows.size(), 3U);
  std::set<std::string> names;
  for (const JsonValue& row : rows) {
    const std::string& name = *at(row, "name").get_if<std::string>();
    EXPECT_THAT(name, testing::MatchesRegex("plan [123]: dp1, micro-batch .*")) << "one processor is here";
    names.insert(name.substr(name.find(':')));
    EXPECT_EQ(at(row, "outcome"), JsonValue{"measured"});
    EXPECT_EQ(number_at(row, "memory.error"), 0);
  }
  EXPECT_EQ(names.size(), 3U) << "names tell plans apart";
}

TEST(validate_command, another_framework_is_predicted_beside_what_the_executor_took) {
  const TinyModel model;
  const std::string question =
      "--global-batch 8 --calibration h100-80-sxm --json --quiet --framework megatron ";
  for (const char* plans : {"--layout dp1", "--top 1"}) {
    const JsonValue v = json_of(model.validate(question + plans));
    const JsonValue& row = list_at(v, "scenarios").front();
    EXPECT_EQ(at(row, "outcome"), JsonValue{"measured"});
    EXPECT_EQ(at(row, "other_framework.name"), JsonValue{"megatron"});
    EXPECT_GT(number_at(row, "other_framework.predicted_step_seconds"), number_at(row, "step.predicted"))
        << "Megatron-LM's own overheads are in it";
    EXPECT_THAT(*at(v, "command").get_if<std::string>(), HasSubstr("--framework megatron"));
    ASSERT_EQ(list_at(row, "all_ranks").size(), 1U);
    EXPECT_GT(number_at(list_at(row, "all_ranks").front(), "step_seconds"), 0);
    for (const JsonValue& term : list_at(list_at(row, "ranks").front(), "terms"))
      EXPECT_NE(at(term, "name"), JsonValue{"reduction and gathering"}) << "one rank sends nothing";
  }
  const JsonValue own =
      json_of(model.validate("--global-batch 8 --calibration h100-80-sxm --json --quiet --layout dp1"));
  EXPECT_EQ(list_at(own, "scenarios").front().find("other_framework"), nullptr);
}

TEST(validate_command, top_runs_plans_for_machines_that_are_named_alone_or_together) {
  const TinyModel model;
  const std::string question = "--global-batch 8 --cluster 4xcpu --calibration h100-80-sxm --json --quiet ";
  const JsonValue together = json_of(model.validate(question + "--top 1"));
  const JsonValue alone = json_of(model.validate(question + "--top 1 --solo"));
  for (const JsonValue* v : {&together, &alone}) {
    const JsonValue& plan = list_at(*v, "scenarios").front();
    EXPECT_EQ(number_at(plan, "gpus"), 4);
    EXPECT_EQ(number_at(plan, "memory.error"), 0);
    EXPECT_EQ(at(plan, "step").is_null(), v == &together) << "threads that share a processor tell no time";
  }
  EXPECT_EQ(at(list_at(together, "scenarios").front(), "name"),
            at(list_at(alone, "scenarios").front(), "name"));
}

TEST(validate_command, top_says_why_there_is_no_plan) {
  const Finished run = run_hexaplan("validate --model llama-3.1-70b --seq 4k --top 2 --no-store");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, testing::ContainsRegex("candidates are rejected as this one is: .*needs .*GiB"));
  EXPECT_THAT(run.err, HasSubstr("--cluster"));
}

TEST(validate_command, solo_runs_one_rank_of_each_kind_of_stage_of_a_large_job) {
  const TinyModel model;
  const std::string question = "--layout 'tp2 pp4 dp16 zero1' --global-batch 64 --solo ";
  const JsonValue v = json_of(model.validate(question + "--calibration h100-80-sxm --json --quiet"));
  const JsonValue& row = list_at(v, "scenarios").front();
  EXPECT_EQ(number_at(row, "gpus"), 128);
  EXPECT_EQ(number_at(row, "memory.error"), 0);
  const double computed = number_at(row, "measured_compute_seconds");
  EXPECT_GT(computed, 0);
  EXPECT_LT(computed, number_at(row, "step.measured"));
  EXPECT_NEAR(computed + number_at(row, "modelled_messages_seconds"), number_at(row, "step.measured"), 1e-9);
  const Finished text = run_hexaplan(model.validate(question + "--calibration h100-80-sxm"));
  EXPECT_THAT(text.out, HasSubstr("step of all 128 GPUs: "));
  EXPECT_THAT(text.out, HasSubstr("messages and waiting (modelled)"));
  EXPECT_THAT(text.err, HasSubstr("1/1 dp16 tp2 pp4 zero1: step "));
  const Finished memory_only = run_hexaplan(model.validate(question));
  EXPECT_EQ(memory_only.exit_code, 0);
  EXPECT_THAT(memory_only.err, HasSubstr("memory is compared, time is not"));
}

TEST(validate_command, what_the_host_has_no_memory_for_is_not_run_and_says_so) {
  const Finished run = run_hexaplan(
      "validate --model llama-3.1-405b --layout dp1 --seq 4k --global-batch 1 --solo --no-store");
  EXPECT_EQ(run.exit_code, 3);
  const char* why = "not run: does not fit in this host's memory .needs about .*, .* are free.";
  EXPECT_THAT(run.out, testing::ContainsRegex(why));
  EXPECT_THAT(run.err, testing::ContainsRegex(why));
  EXPECT_THAT(run.out, Not(HasSubstr("as predicted"))) << "nobody tried";
  const Finished alone = run_hexaplan("run --model llama-3.1-405b --layout dp1 --seq 4k --global-batch 1");
  EXPECT_EQ(alone.exit_code, 3);
  EXPECT_THAT(alone.out, HasSubstr("--shrink"));
}

/// Bytes per parameter that the host is said to need for a step of 405.9 billion parameters on one rank.
double bytes_per_parameter(const std::string& precision) {
  const Finished run = run_hexaplan(
      "run --model llama-3.1-405b --layout dp1 --seq 128 --global-batch 1 --precision " + precision);
  const std::string before = "needs about ";
  const std::size_t found = run.out.find(before);
  if (found == std::string::npos) return 0;
  constexpr double kTiB = 1024.0 * 1024 * 1024 * 1024, kParameters = 405.85e9;
  return std::stod(run.out.substr(found + before.size())) * kTiB / kParameters;
}

TEST(validate_command, the_host_needs_what_it_stores_tensor_by_tensor) {
  // float32 for gradients and two moments; parameters in 16 bits beside masters, or in float32 alone. A
  // layer's working set beside them.
  EXPECT_NEAR(bytes_per_parameter("bf16"), 18, 0.4);
  EXPECT_NEAR(bytes_per_parameter("fp32"), 16, 0.4);
}

struct BadCall {
  const char* arguments;
  int exit_code;
  const char* says;
};

TEST(validate_command, says_what_it_cannot_use) {
  const BadCall rows[] = {
      {"", 2, "needs one of"},
      {"--list cpu --model llama-3.1-8b", 2, "needs one of"},
      {"--list cpus", 2, "did you mean \"cpu\"?"},
      {"--list cpu --steps 0", 2, "--steps"},
      {"--list cpu --device tpu", 2, "hexaplan backends"},
      {"--list cpu --ranks mpi", 2, "expected one scenario"},
      {"--list cpu --gpus 2", 2, "--gpus says what --top plans for"},
  };
  for (const BadCall& row : rows) {
    const Finished run = run_hexaplan(std::string{"validate --no-store "} + row.arguments);
    EXPECT_EQ(run.exit_code, row.exit_code) << row.arguments << run.err;
    EXPECT_THAT(run.err, HasSubstr(row.says)) << row.arguments;
  }
}

/// Tags close in the order in which they opened; entities end. Enough of XML for a page that we write.
std::string first_flaw(const std::string& page) {
  std::vector<std::string> open;
  for (std::size_t i = page.find('<', page.find("<html")); i != std::string::npos;
       i = page.find('<', i + 1)) {
    const std::size_t end = page.find('>', i);
    if (end == std::string::npos) return "a tag without end";
    std::string tag = page.substr(i + 1, end - i - 1);
    if (tag.ends_with('/')) continue;
    if (!tag.starts_with('/')) {
      open.push_back(tag.substr(0, tag.find_first_of(" \n")));
    } else {
      if (open.empty() || open.back() != tag.substr(1)) return "unexpected <" + tag + ">";
      open.pop_back();
    }
  }
  return open.empty() ? std::string{} : "<" + open.back() + "> stays open";
}

TEST(validate_command, writes_a_page_that_needs_nothing_beside_itself) {
  const TemporaryFile page{"", ".html"};
  const Finished run =
      run_hexaplan(std::string{"validate --list cpu --calibration h100-80-sxm --no-store --quiet --html "} +
                   page.path() + " " + kShort);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  std::string html = content_of(page.path());
  EXPECT_EQ(first_flaw(html), "");
  for (const char* words : {"<svg", "prefers-color-scheme: dark", "Memory of the fullest rank", "Step time",
                            "Error of the step time", "Term by term", "full recompute"})
    EXPECT_THAT(html, HasSubstr(words));
  const std::string name_space = "xmlns=\"http://www.w3.org/2000/svg\"";
  for (std::size_t i = html.find(name_space); i != std::string::npos; i = html.find(name_space))
    html.erase(i, name_space.size());
  for (const char* external : {"http:", "https:", "src=", "href=", "@import", "url(", "<script"})
    EXPECT_THAT(html, Not(HasSubstr(external)));
}

TEST(runs_command, keeps_shows_compares_and_exports_runs_and_validations) {
  const History history;
  const std::string run = "run --model llama-3.1-8b --layout tp2 --shrink --quiet" + history.option();
  EXPECT_EQ(run_hexaplan(run + " --steps 2").exit_code, 0);
  EXPECT_EQ(run_hexaplan(run + " --steps 1 --no-store").exit_code, 0);
  EXPECT_EQ(run_hexaplan(run + " --steps 3").exit_code, 0);
  EXPECT_EQ(run_hexaplan("validate --list cpu --quiet --steps 1 --warmup 0" + history.option()).exit_code, 0);
  const JsonValue list = json_of("runs list --json" + history.option());
  ASSERT_EQ(list_at(list, "runs").size(), 3U) << "not the one that was not to be kept";
  EXPECT_EQ(at(list_at(list, "runs")[0], "kind"), JsonValue{"validate"}) << "newest first";
  EXPECT_EQ(list_at(json_of("runs list --kind run --json" + history.option()), "runs").size(), 2U);
  EXPECT_THAT(run_hexaplan("runs list" + history.option()).out, HasSubstr("tp2"));

  const Finished shown = run_hexaplan("runs show 1" + history.option());
  for (const char* words : {"median step", "phase: forward", "memory: parameters", "kind: attention"})
    EXPECT_THAT(shown.out, HasSubstr(words));
  EXPECT_THAT(run_hexaplan("runs show 3" + history.option()).out,
              testing::ContainsRegex("scenario +measured step +measured memory +predicted memory +error of "
                                     "memory\n(.*\n)*full recompute +[0-9.]+ [a-z]+ +[0-9.]+ MiB +"));
  const Finished compared = run_hexaplan("runs compare 1 2" + history.option());
  EXPECT_THAT(compared.out, testing::ContainsRegex("peak of the fullest rank .* 0.0 %"));

  const JsonValue all = json_of("runs export" + history.option());
  ASSERT_EQ(list_at(all, "runs").size(), 3U);
  EXPECT_EQ(at(list_at(all, "runs")[2], "report.schema"), JsonValue{"hexaplan/run/1"});
  EXPECT_EQ(at(list_at(all, "runs")[2], "scenario.schema"), JsonValue{"hexaplan/scenario/1"});
}

TEST(runs_command, compares_validations_scenario_by_scenario) {
  const History history;
  const std::string validate = "validate --list cpu --quiet --steps 1 --warmup 0" + history.option();
  EXPECT_EQ(run_hexaplan(validate + " --calibration h100-80-sxm").exit_code, 0);
  EXPECT_EQ(run_hexaplan(validate + " --memory-limit 4500KiB").exit_code, 0);
  const Finished list = run_hexaplan("runs list" + history.option());
  EXPECT_THAT(list.out, testing::ContainsRegex("2 .* list cpu: [1-6] of 7 scenarios measured"));
  EXPECT_THAT(list.out, testing::ContainsRegex("1 .* list cpu: 7 of 7 scenarios measured"));
  const Finished compared = run_hexaplan("runs compare 1 2" + history.option());
  EXPECT_THAT(compared.out, testing::ContainsRegex("measured memory +run 1 +run 2 +change\n(.*\n)*"
                                                   "tp2 sp +2.33 MiB +2.33 MiB +0.0 %"));
  EXPECT_THAT(compared.out, testing::ContainsRegex("wide +9.93 MiB *\n")) << "measured once";
  EXPECT_THAT(compared.out, testing::ContainsRegex("mean error of memory, all .*points"));
  EXPECT_THAT(compared.out, testing::ContainsRegex("Run 2\nout of memory: "));
}

TEST(runs_command, the_measured_step_of_a_rank_that_ran_alone_is_that_of_the_job) {
  const History history;
  const TinyModel model;
  const JsonValue v =
      json_of("validate --model " + model.file.path() +
              " --seq 16 --global-batch 8 --layout pp2 --solo --calibration h100-80-sxm --json "
              "--quiet --steps 1 --warmup 0" +
              history.option());
  const JsonValue& row = list_at(v, "scenarios").front();
  const auto text = [&](const char* path) {
    return costmodel::format_duration(costmodel::Seconds{number_at(row, path)});
  };
  EXPECT_NE(text("step.measured"), text("measured_step_seconds"));
  EXPECT_THAT(run_hexaplan("runs show 1" + history.option()).out,
              testing::ContainsRegex("pp2 +" + text("step.measured") + " +" + text("step.predicted")));
}

TEST(runs_command, says_what_it_cannot_do) {
  const History history;
  EXPECT_THAT(run_hexaplan("runs list" + history.option()).out, HasSubstr("No runs are kept"));
  EXPECT_EQ(run_hexaplan("runs forget").exit_code, 2);
  EXPECT_EQ(run_hexaplan("runs show").exit_code, 2);
  const TemporaryFile text{"no database"};
  const Finished bad = run_hexaplan("runs show 1 --store " + text.path());
  EXPECT_NE(bad.exit_code, 0);
  const Finished kept = run_hexaplan("run --model llama-3.1-8b --layout dp1 --shrink --store " + text.path());
  EXPECT_EQ(kept.exit_code, 0) << "a history that cannot be used takes no result away";
  EXPECT_THAT(kept.err, HasSubstr("not kept in the history"));
}

}  // namespace
}  // namespace hexaplan::cli
