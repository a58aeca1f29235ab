// `hexaplan search`: what is read, what is printed. What the search finds is proved in tests/planner.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "presets/json/read_json.h"
#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kQuestion =
    "search --model llama-3.1-8b --cluster 8xH100 --seq 4096 --global-batch 64 --quiet ";

const presets::JsonArray& array_at(const presets::JsonValue& value, const std::string& path) {
  return *at(value, path).get_if<presets::JsonArray>();
}

TEST(search_command, ranks_plans_and_every_plan_is_a_scenario_that_estimate_prices_the_same) {
  const auto found = json_of(std::string{kQuestion} + "--json --top 3 --no-refine --no-simulate");
  const auto& plans = array_at(found, "plans");
  ASSERT_EQ(plans.size(), 3U);
  EXPECT_LE(number_at(plans[0], "price.step_seconds"), number_at(plans[1], "price.step_seconds"));
  EXPECT_LE(number_at(plans[1], "price.step_seconds"), number_at(plans[2], "price.step_seconds"));
  const TemporaryFile scenario{to_text(at(plans[0], "scenario")), ".json"};
  const auto estimate = json_of("estimate --json --scenario " + scenario.path());
  EXPECT_DOUBLE_EQ(number_at(estimate, "time.step_seconds"), number_at(plans[0], "price.step_seconds"));
  EXPECT_EQ(at(estimate, "memory.peak_bytes"), at(plans[0], "price.peak_bytes"));
}

TEST(search_command, restricts_every_dimension_that_a_flag_names) {
  const auto found =
      json_of(std::string{kQuestion} +
              "--json --tp 2 --pp 1,2 --zero 1 --recompute none --micro-batch 1 --sp on --top 100");
  const auto& plans = array_at(found, "plans");
  ASSERT_FALSE(plans.empty());
  for (const auto& plan : plans) {
    const std::string layout = *at(plan, "layout").get_if<std::string>();
    EXPECT_THAT(layout, HasSubstr("tp2"));
    EXPECT_THAT(layout, HasSubstr("zero1"));
    EXPECT_THAT(layout, HasSubstr("sp"));
  }
}

TEST(search_command, keeps_the_tiers_of_a_cluster_in_other_numbers_and_places_layouts_by_them) {
  const auto of = [](const std::string& cluster) {
    const auto found = json_of(
        "search --model llama-3.1-8b --seq 8k --global-batch 2048 --gpus 8192 --pp 4 --tp 8 --cp 1 --json "
        "--quiet "
        "--no-refine --no-simulate --top 1 --cluster " +
        cluster);
    return array_at(found, "plans")[0];
  };
  const auto pods = of("llama3-405b"), steep = of("2048x8xH100+roce400+tier:pod:2048+tier:core:x512");
  EXPECT_THAT(*at(pods, "scenario.cluster").get_if<std::string>(),
              HasSubstr("+tier:pod:3072+tier:aggregation:x7"));
  EXPECT_GT(number_at(steep, "price.step_seconds"), number_at(pods, "price.step_seconds"));
  // Whole pipelines in a pod: gradients alone leave it.
  EXPECT_THAT(*at(steep, "layout").get_if<std::string>(), HasSubstr("order=tp/cp/pp/dp"));
}

TEST(search_command, counts_add_up) {
  for (const char* more :
       {"", "--schedule 1f1b,interleaved,zb-h1,zb-v", "--schedule dualpipe,zb-2p --max-memory 60%"}) {
    const auto found = json_of(std::string{kQuestion} + "--json " + more);
    const auto count = [&](const char* name) { return number_at(found, std::string{"counts."} + name); };
    EXPECT_EQ(count("enumerated"),
              count("rejected") + count("pruned") + count("outclassed") + count("priced"))
        << more;
    double broken = 0;
    for (const auto& row : array_at(found, "rejections")) broken += number_at(row, "candidates");
    EXPECT_EQ(broken, count("enumerated") - count("feasible") - count("outclassed")) << more;
  }
}

TEST(search_command, one_row_is_one_plan) {
  const std::string question =
      "search --model llama-3.1-8b --cluster 96xH100 --seq 8192 --global-batch 512 --quiet ";
  const auto found = json_of(question + "--json");
  const auto& plans = array_at(found, "plans");
  double before = 0;
  for (const auto& plan : plans) {
    EXPECT_LE(before, before = number_at(plan, "price.step_seconds"));
    EXPECT_EQ(at(plan, "price.step_seconds"), at(plan, "simulated_seconds"));
    EXPECT_NEAR(number_at(plan, "price.tokens_per_second_per_gpu") * before * 96, 512 * 8192, 1);
  }
  // The first has uneven stages; it is what is exported, estimated and simulated.
  EXPECT_NE(at(plans[0], "refined_from"), presets::JsonValue{});
  const std::string layout = *at(plans[0], "layout").get_if<std::string>();
  EXPECT_THAT(layout, HasSubstr("stages="));
  EXPECT_THAT(run_hexaplan(question).out, HasSubstr("--layout \"" + layout + "\""));
  const TemporaryFile scenario{to_text(at(plans[0], "scenario")), ".json"};
  const auto estimate = json_of("estimate --json --scenario " + scenario.path());
  EXPECT_DOUBLE_EQ(number_at(estimate, "time.step_seconds"), number_at(plans[0], "closed_form_seconds"));
  EXPECT_EQ(at(estimate, "memory.peak_bytes"), at(plans[0], "price.peak_bytes"));
}

TEST(search_command, what_comes_closest_to_fitting_does) {
  const std::string question =
      "search --model llama-2-7b --cluster 4x4090 --seq 2048 --global-batch 64 --framework fsdp2 --zero 3 "
      "--tp 1 --pp 1 --quiet ";
  const auto closest = [](const std::string& text) {
    const std::string words = "comes closest needs ";
    return std::stod(text.substr(text.find(words) + words.size()));
  };
  const Finished all = run_hexaplan(question), some = run_hexaplan(question + "--cp 1 --recompute full");
  EXPECT_EQ(all.exit_code, 3);
  EXPECT_LE(closest(all.out), closest(some.out));
}

TEST(search_command, lists_safe_plans_and_names_the_best_at_any_risk) {
  const std::string question =
      "search --model llama-3-70b --cluster 64xA100-80 --seq 8192 --global-batch 1024 --quiet --json ";
  const auto safe = json_of(question);
  for (const char* list : {"plans", "pareto"})
    for (const auto& plan : array_at(safe, list))
      EXPECT_LE(number_at(plan, "price.out_of_memory_probability"), 0.05) << list;
  EXPECT_GT(number_at(safe, "best_at_any_risk.price.out_of_memory_probability"), 0.05);
  const auto any = json_of(question + "--max-risk any");
  EXPECT_GT(number_at(array_at(any, "plans")[0], "price.out_of_memory_probability"), 0.05);
  EXPECT_EQ(at(any, "best_at_any_risk"), presets::JsonValue{});
  EXPECT_GT(number_at(any, "counts.feasible"), number_at(safe, "counts.feasible"));
}

TEST(search_command, says_what_the_limit_of_the_risk_leaves_out) {
  const std::string question =
      "search --model mixtral-8x22b --cluster 32xH100 --seq 8192 --global-batch 64 --quiet --max-risk ";
  const Finished none = run_hexaplan(question + "0.0001%");
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.out, HasSubstr("max-risk: they fit, but the safest of them has a chance of"));
  EXPECT_THAT(none.out, HasSubstr("Fits at a higher risk: "));
}

TEST(search_command, tries_several_clusters) {
  const auto found = json_of(std::string{kQuestion} + "--json --gpus 8..32 --objective gpus --top 1");
  EXPECT_EQ(number_at(array_at(found, "plans")[0], "price.gpus"), 8);
  const auto types = json_of(std::string{kQuestion} +
                             "--json --gpu h100,a100-80gb --gpus 8 --objective cost --tokens 1B --top 50");
  std::vector<std::string> clusters;
  for (const auto& plan : array_at(types, "plans"))
    clusters.push_back(*at(plan, "cluster").get_if<std::string>());
  EXPECT_NE(std::find(clusters.begin(), clusters.end(), "8xh100"), clusters.end());
}

TEST(search_command, ends_with_3_when_no_candidate_is_left_and_says_why) {
  const Finished run =
      run_hexaplan(std::string{kQuestion} + "--tp 1 --pp 1 --cp 1 --zero 0 --max-memory 10%");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.out, HasSubstr("Nothing found"));
  EXPECT_THAT(run.out, HasSubstr("Left out, by rule"));
}

TEST(search_command, explains_the_difference_between_two_plans) {
  const Finished run = run_hexaplan(std::string{kQuestion} + "--explain 2");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("Plan 2 beside plan 1: the terms that differ"));
}

TEST(search_command, writes_tables) {
  EXPECT_THAT(run_hexaplan(std::string{kQuestion} + "--csv --top 2").out,
              HasSubstr("rank,cluster,gpus,layout"));
  EXPECT_THAT(run_hexaplan(std::string{kQuestion} + "--markdown --top 2").out,
              HasSubstr("| rank | cluster |"));
}

struct BadList {
  std::string name, arguments, message;
};
class SearchRefuses : public testing::TestWithParam<BadList> {};
TEST_P(SearchRefuses, with_one_clear_line) {
  const Finished run = run_hexaplan(std::string{kQuestion} + GetParam().arguments);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr(GetParam().message));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1);
}
INSTANTIATE_TEST_SUITE_P(
    flags, SearchRefuses,
    testing::Values(
        BadList{"a_word_as_degree", "--tp two", "--tp: got \"two\", expected whole numbers from 1"},
        BadList{"a_degree_of_zero", "--pp 0", "--pp: got \"0\""},
        BadList{"a_range_upside_down", "--tp 8..1", "--tp: got \"8..1\", expected the smaller number first"},
        BadList{"an_empty_item", "--tp 1,,2", "--tp: got \"1,,2\", expected a list with commas"},
        BadList{"an_unknown_schedule", "--schedule 1f1c", "did you mean \"1f1b\"?"},
        BadList{"a_share_above_one", "--max-memory 120%", "--max-memory: got \"120%\", expected a share"},
        BadList{"a_risk_above_one", "--max-risk 7", "--max-risk: got \"7\", expected a share"},
        BadList{"hours_without_tokens", "--max-hours 72", "add --tokens"},
        BadList{"types_without_counts", "--gpu h100", "how many with --gpus"},
        BadList{"an_unknown_objective", "--objective speed", "--objective: got \"speed\""},
        BadList{"a_zero_stage_of_four", "--zero 4", "--zero: got \"4\", expected whole numbers from 0 to 3"}),
    [](const auto& row) { return row.param.name; });

/// The line that `Closer:` gives is the plan, with everything that was asked beside the model and the GPUs.
TEST(search_command, names_the_command_that_looks_closer) {
  const std::string question =
      "search --model llama-3.1-8b --cluster 8xH100 --framework fsdp2 --precision fp8 --seq 2048 "
      "--global-batch 64 --fine-tune lora --lora-rank 32 --quiet ";
  const std::string text = run_hexaplan(question).out;
  const std::string begin = "Closer: hexaplan ";
  const std::size_t at_line = text.find(begin);
  ASSERT_NE(at_line, std::string::npos) << text;
  const std::string command =
      text.substr(at_line + begin.size(), text.find('\n', at_line) - at_line - begin.size());
  const presets::JsonValue plans = json_of(question + "--json --top 1");
  const presets::JsonValue closer = json_of(command + " --json");
  const presets::JsonValue& best = at(plans, "plans").get_if<presets::JsonArray>()->front();
  EXPECT_EQ(number_at(best, "price.peak_bytes"), number_at(closer, "memory.peak_bytes")) << command;
}

TEST(search_command, names_what_would_fit_outside_of_the_space_where_nothing_in_it_does) {
  const std::string words = "search --model mixtral-8x22b --cluster 32xH100 --seq 4096 --global-batch 32 ";
  const Finished run = run_hexaplan(words);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.out, HasSubstr(", which comes closest,\n  would fit with --optimizer adamw-8bit: "));
  const presets::JsonValue json = presets::parse_json(run_hexaplan(words + "--json").out, "stdout").root;
  EXPECT_FALSE(at(json, "changes_that_fit").get_if<presets::JsonArray>()->empty());
}

constexpr const char* kCounts =
    "search --model llama-3.1-8b --cluster 8xH100 --gpus 8..64 --seq 4096 --global-batch 128 --tokens 300B "
    "--quiet ";

/// The longest of the GPUs' lists, which bounds fill, is of no use to a limit: each count has its own.
TEST(search_command, finds_what_keeps_a_limit_on_any_count_of_gpus) {
  const std::string words =
      "search --model llama-3.1-70b --cluster 64xH100 --gpus 64..4096 --seq 8192 --global-batch 1024 "
      "--tokens 15T --quiet --vpp 1,2,3,4,6,8,12 --recompute none,selective,layers,full ";
  EXPECT_EQ(run_hexaplan(words + "--max-cost 14M --top 3").exit_code, 0);
  EXPECT_THAT(run_hexaplan(words + "--max-cost '$13.2 X'").err, HasSubstr("got \"$13.2 X\""));
  const presets::JsonValue late = json_of(words + "--objective gpus --max-hours \"90 d\" --top 3 --json");
  EXPECT_EQ(array_at(late, "plans").size(), 3U);
}

TEST(search_command, says_in_one_line_how_many_gpus_a_deadline_takes_and_what_fewer_would) {
  const std::string words = std::string{kCounts} + "--objective gpus --max-hours \"10 d 5 h\" ";
  const std::string text = run_hexaplan(words).out;
  const std::string line = text.substr(0, text.find('\n'));
  EXPECT_THAT(line, HasSubstr(" h100-80-sxm do it in "));
  EXPECT_THAT(line, HasSubstr(" would take "));
  // The number that would take longer is the one before, and it does.
  const presets::JsonValue json = json_of(words + "--json");
  const double gpus = number_at(array_at(json, "plans").front(), "price.gpus");
  EXPECT_EQ(number_at(json, "fewer_gpus.gpus"), gpus / 2);
  EXPECT_GT(number_at(json, "fewer_gpus.plan.training.wall_seconds"), (10 * 24 + 5) * 3600.0);
}

TEST(search_command, offers_less_memory_only_where_memory_lacks) {
  const std::string dear = run_hexaplan(std::string{kCounts} + "--max-cost '$1500'").out;
  EXPECT_THAT(dear, HasSubstr("Nothing found: max-cost: the cheapest of them costs $"));
  EXPECT_THAT(dear, HasSubstr(", $1500 are allowed"));
  EXPECT_THAT(dear, Not(HasSubstr("would fit with")));
  const std::string late = run_hexaplan(std::string{kCounts} + "--max-hours 24").out;
  EXPECT_THAT(late, HasSubstr("Nothing found: max-hours: the fastest of them trains for "));
  EXPECT_THAT(late, HasSubstr(" d "));
  EXPECT_THAT(late, Not(HasSubstr("would fit with")));
}

TEST(search_command, says_what_a_list_asks_for_and_the_framework_lacks) {
  const std::string words =
      "search --model llama-3.1-8b --cluster 8xH100 --seq 4096 --global-batch 64 --top 1 ";
  EXPECT_THAT(run_hexaplan(words + "--schedule 1f1b,zb-h1").err, HasSubstr("megatron has no zb-h1"));
  EXPECT_THAT(run_hexaplan(words + "--zero 1,3").err, HasSubstr("megatron has no zero3"));
  EXPECT_THAT(run_hexaplan(words + "--framework fsdp2 --recompute layers").err,
              HasSubstr("fsdp2 has no recompute layers"));
  EXPECT_THAT(run_hexaplan(words + "--schedule 1f1b --zero 1 --recompute layers,modules=layernorm").err,
              Not(HasSubstr(" has no ")));
}

TEST(search_command, says_what_the_default_space_leaves_out_and_how_to_ask_for_it) {
  const std::string question = "search --model llama-3.1-8b --cluster 8xA100 --framework ";
  const auto mentions = testing::HasSubstr(
      "tensor parallelism is left out: profile deepspeed does not describe AutoTP "
      "(tensor_parallel.autotp_size), under which every linear layer reduces the gradient of its own input; "
      "--tp 1,2,4,8 looks at it");
  EXPECT_THAT(run_hexaplan(question + "deepspeed").err, mentions);
  EXPECT_THAT(to_text(at(json_of(question + "deepspeed --json"), "notes")), mentions);
  EXPECT_THAT(run_hexaplan(question + "deepspeed --tp 1,2").err, Not(HasSubstr("left out")));
  EXPECT_THAT(run_hexaplan("search --model llama-3.2-1b --cluster 1xA100 --framework deepspeed").err,
              Not(HasSubstr("left out")));
  EXPECT_THAT(run_hexaplan(question + "megatron").err, Not(HasSubstr("left out")));
}

TEST(search_command, tries_shares_of_the_optimizer_on_the_host) {
  const presets::JsonValue json =
      json_of(std::string{kQuestion} + "--offload optimizer --offload-fraction 0.25,50% --top 40 --json");
  std::set<double> shares;
  for (const auto& plan : array_at(json, "plans"))
    shares.insert(number_at(plan, "scenario.recipe.offload_fraction"));
  EXPECT_EQ(shares, (std::set<double>{0.25, 0.5}));
}

/// Where memory binds, plans that keep states or activations on the host beat all that do not: recomputation,
/// or sharding over slow links, costs more. By the search's own model, by the events of both steps, and by
/// the memory that replaying them takes.
TEST(search_command, offloading_with_recomputation_and_zero_beats_the_best_plan_without_it) {
  for (const std::string gpus : {"4xA100-80GB", "8xA100-40GB"}) {
    const auto best = [&](const std::string& offload) {
      const presets::JsonValue found =
          json_of("search --model llama-3.1-8b --cluster " + gpus +
                  " --seq 4096 --global-batch 256 --framework deepspeed --top 1 --json --offload " + offload);
      return array_at(found, "plans").at(0);
    };
    const auto replayed = [](const presets::JsonValue& plan) {
      const TemporaryFile scenario{to_text(at(plan, "scenario")), ".json"};
      return json_of("simulate --json --scenario " + scenario.path());
    };
    const presets::JsonValue without = best("none"), with = best("none,activations,optimizer");
    EXPECT_LT(number_at(with, "price.step_seconds"), 0.9 * number_at(without, "price.step_seconds")) << gpus;
    const presets::JsonValue slow = replayed(without), fast = replayed(with);
    EXPECT_LT(number_at(fast, "step_seconds"), 0.9 * number_at(slow, "step_seconds")) << gpus;
    for (const auto& stage : array_at(fast, "stages"))
      EXPECT_LT(number_at(stage, "peak_device_bytes"), number_at(fast, "capacity_bytes")) << gpus;
  }
}

TEST(search_command, closer_writes_a_budget_as_it_is_read) {
  EXPECT_THAT(run_hexaplan(std::string{kCounts} + "--top 1").out, HasSubstr(" --tokens 300B"));
}

TEST(search_command, offloads_parameters_on_one_gpu_as_well) {
  const Finished run = run_hexaplan(
      "search --model llama-3.1-8b --cluster 1xRTX4090 --framework fsdp2 --seq 2048 --global-batch 16 "
      "--fine-tune full --offload optimizer+params --top 1");
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("dp1 zero3"));
}

TEST(search_command, says_that_a_word_changes_nothing_only_where_no_plan_shows_otherwise) {
  const std::string words =
      "search --model mixtral-8x7b --cluster 64xH100 --seq 4096 --global-batch 64 --top 1 --ep-overlap true ";
  EXPECT_THAT(run_hexaplan(words + "--ep 8").err, Not(HasSubstr("ep_overlap changes nothing")));
  EXPECT_THAT(run_hexaplan(words + "--ep 1 --offload optimizer").err,
              HasSubstr("ep_overlap changes nothing"));
}

TEST(search_command, cannot_rank_by_a_price_that_nobody_said) {
  const std::string words = "search --model llama-3.1-8b --cluster 8xgb200 --objective cost --top 1 ";
  const Finished run = run_hexaplan(words);
  EXPECT_NE(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr("--objective: got cost, expected GPUs that have a price; gb200 has none"));
  EXPECT_EQ(run_hexaplan(words + "--price 10").exit_code, 0);
}

}  // namespace
}  // namespace hexaplan::cli
