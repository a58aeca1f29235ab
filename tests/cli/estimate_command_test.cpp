#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "presets/json/read_json.h"
#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using presets::JsonArray;
using presets::JsonValue;

const std::string kQuestion =
    "estimate --model llama-3.1-8b --cluster 16xH100 --layout 'tp2 pp2 sp zero1' --seq 4k --global-batch 64 ";
const std::string kTooLarge = "estimate --model llama-3.1-405b --cluster 8xH100 --seq 4k --global-batch 8 ";

TEST(estimate_json, has_the_documented_fields) {
  const JsonValue e = json_of(kQuestion + "--json --tokens 1B");
  EXPECT_EQ(*at(e, "schema").get_if<std::string>(), "hexaplan/estimate/1");
  EXPECT_TRUE(*at(e, "fits").get_if<bool>());
  EXPECT_GT(number_at(e, "memory.capacity_bytes"), number_at(e, "memory.peak_bytes"));
  EXPECT_GT(number_at(e, "throughput.tokens_per_second_per_gpu"), 0);
  EXPECT_GT(number_at(e, "throughput.mfu"), 0);
  EXPECT_GE(number_at(e, "throughput.hfu"), number_at(e, "throughput.mfu"));
  EXPECT_GT(number_at(e, "training.gpu_hours"), 0);
}

TEST(estimate, says_how_far_up_the_network_every_group_goes) {
  const std::string question =
      "estimate --model llama-3.1-8b --layout 'tp2 pp4 sp zero1' --seq 4k --global-batch 512 --cluster ";
  const std::string pods = "256xH100+tier:pod:64+tier:core:x8:5us";
  EXPECT_THAT(run_hexaplan(question + pods).out,
              testing::AllOf(testing::HasSubstr("\nNetwork ib400 pod of 64 GPUs, core 1:8 + 5 us\n"),
                             testing::ContainsRegex("  pipe +4 +core "),
                             testing::ContainsRegex("  shard +32 +ib400 pod ")));
  const JsonValue flat = json_of(question + "256xH100 --json"), tiered = json_of(question + pods + " --json");
  EXPECT_EQ(flat.find("network"), nullptr);
  const auto& tiers = *at(tiered, "network.tiers").get_if<JsonArray>();
  ASSERT_EQ(tiers.size(), 2U);
  EXPECT_EQ(number_at(tiers[0], "gpus"), 64);
  EXPECT_EQ(number_at(tiers[1], "oversubscription"), 8);
  EXPECT_DOUBLE_EQ(number_at(tiers[1], "latency_seconds"), 5e-6);
  EXPECT_EQ(at(tiered, "network.groups").get_if<JsonArray>()->size(), 6U);
  EXPECT_GT(number_at(tiered, "time.by_cause.pipeline_p2p"), number_at(flat, "time.by_cause.pipeline_p2p"));
  EXPECT_EQ(number_at(tiered, "time.by_cause.data_parallel"), number_at(flat, "time.by_cause.data_parallel"));
}

TEST(estimate, names_the_published_runs_nearest_to_the_question) {
  const JsonValue e = json_of(kQuestion + "--json");
  const auto* nearest = at(e, "evidence.nearest").get_if<JsonArray>();
  ASSERT_NE(nearest, nullptr);
  ASSERT_EQ(nearest->size(), 5U);
  const JsonValue& first = nearest->front();
  EXPECT_NEAR(number_at(first, "error"),
              number_at(first, "predicted_seconds") / number_at(first, "measured_seconds") - 1, 1e-12);
  EXPECT_FALSE(at(first, "source").get_if<std::string>()->empty());
  EXPECT_GT(number_at(e, "evidence.runs_on_gpu"), 100);
  EXPECT_THAT(run_hexaplan(kQuestion).out,
              testing::AllOf(testing::HasSubstr("\nEvidence\n  nearest published run: "),
                             testing::HasSubstr(" measured, ")));
  const JsonValue rejected = json_of("estimate --model llama-3.1-8b --cluster 24xH100 --layout tp3 --json");
  EXPECT_EQ(at(rejected, "evidence"), JsonValue{});
}

TEST(estimate_json, memory_kinds_of_a_stage_add_up_to_its_peak_and_bytes_are_whole) {
  const JsonValue e = json_of(kQuestion + "--json");
  const auto& stages = *at(e, "memory.stages").get_if<JsonArray>();
  ASSERT_EQ(stages.size(), 2U);
  double largest = 0;
  for (const JsonValue& stage : stages) {
    double sum = 0;
    for (const char* kind : {"parameters", "gradients", "optimizer", "activations", "logits", "transient",
                             "communication", "overhead", "cached"}) {
      ASSERT_NE(at(stage, kind).get_if<std::int64_t>(), nullptr) << kind;
      sum += number_at(stage, kind);
    }
    EXPECT_EQ(sum, number_at(stage, "peak"));
    largest = std::max(largest, number_at(stage, "peak"));
  }
  EXPECT_EQ(largest, number_at(e, "memory.peak_bytes"));
}

TEST(estimate_json, causes_add_up_to_the_step_and_lie_inside_the_interval) {
  const JsonValue e = json_of(kQuestion + "--json");
  double sum = 0;
  for (const auto& [cause, seconds] : *at(e, "time.by_cause").get_if<presets::JsonObject>())
    sum += *seconds.get_if<double>();
  const double step = number_at(e, "time.step_seconds");
  EXPECT_NEAR(sum, step, 1e-9 * step);
  const auto& interval = *at(e, "time.interval_seconds").get_if<JsonArray>();
  EXPECT_LT(*interval[0].get_if<double>(), step);
  EXPECT_GT(*interval[1].get_if<double>(), step);
}

TEST(estimate, simulates_the_allocator_of_every_stage_where_asked) {
  EXPECT_THAT(run_hexaplan(kQuestion).out, testing::Not(testing::HasSubstr("simulated")));
  const JsonValue e = json_of(kQuestion + "--allocator default --json");
  const auto& stages = *at(e, "allocator.stages").get_if<JsonArray>();
  const auto& estimated = *at(e, "memory.stages").get_if<JsonArray>();
  ASSERT_EQ(stages.size(), 2U);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const double allocated = number_at(stages[i], "allocated_bytes");
    EXPECT_NEAR(allocated, number_at(estimated[i], "allocated"), 0.02 * allocated);
    EXPECT_GE(number_at(stages[i], "reserved_bytes"), allocated);
    EXPECT_GE(number_at(stages[i], "expandable_reserved_bytes"), allocated);
    EXPECT_EQ(number_at(stages[i], "retries"), 0);
  }
  EXPECT_THAT(run_hexaplan(kQuestion + "--allocator expandable_segments:True").out,
              testing::HasSubstr("simulated (expandable_segments:True; 3 steps)"));
}

TEST(estimate, writes_what_the_allocator_does_as_pytorch_would) {
  const TemporaryFile snapshot{"", ".pickle"};
  const Finished run = run_hexaplan(kQuestion + "--memory-snapshot " + snapshot.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, testing::Not(testing::HasSubstr("simulated"))) << "that is --allocator's";
  EXPECT_THAT(run_hexaplan("measure import " + snapshot.path()).out,
              testing::HasSubstr("CUDA memory snapshot, device 1"));
  const Finished refused =
      run_hexaplan(kQuestion + "--framework hexaplan --memory-snapshot " + snapshot.path());
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, testing::HasSubstr("--memory-snapshot: the allocator is not simulated"));
}

TEST(estimate, says_why_an_allocator_is_not_simulated) {
  EXPECT_THAT(run_hexaplan(kQuestion + "--allocator default --framework hexaplan").out,
              testing::HasSubstr("not simulated: the framework has an allocator of its own"));
  const Finished wrong = run_hexaplan(kQuestion + "--allocator expandable_segments:on");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err,
              testing::HasSubstr("--allocator expandable_segments: got \"on\", expected True or False"));
}

TEST(estimate, not_fitting_is_an_answer_unless_fitting_is_required) {
  const JsonValue e = json_of(kTooLarge + "--json");
  EXPECT_FALSE(*at(e, "fits").get_if<bool>());
  EXPECT_EQ(*at(e, "rejection.rule").get_if<std::string>(), "fits-in-memory");
  EXPECT_EQ(run_hexaplan(kTooLarge).exit_code, 0);
  EXPECT_EQ(run_hexaplan(kTooLarge + "--require-fit").exit_code, 3);
  EXPECT_EQ(run_hexaplan(kQuestion + "--require-fit").exit_code, 0);
}

TEST(estimate, no_number_leaves_its_range) {
  for (const std::string question :
       {"--model deepseek-v2-lite --cluster 1024xH100 --micro-batch 1000000000",
        "--model llama-2-7b --cluster 8xH100 --fine-tune lora --lora-rank 1000000000",
        "--model llama-3.1-405b --cluster 8xH100 --layout tp8 --micro-batch 1000000 --global-batch "
        "1000000"}) {
    const Finished run = run_hexaplan("estimate --json --quiet " + question);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.out.find("-922337"), std::string::npos) << question;
    const JsonValue e = json_of("estimate --json --quiet " + question);
    EXPECT_FALSE(*at(e, "fits").get_if<bool>()) << question;
    if (!at(e, "memory").is_null()) {
      EXPECT_GT(number_at(e, "memory.peak_bytes"), number_at(e, "memory.capacity_bytes"));
    }
  }
}

TEST(estimate, cutting_gradients_never_needs_more_under_any_framework) {
  const std::string frameworks[] = {"hf-eager",  "ddp",      "fsdp1",         "fsdp2",
                                    "deepspeed", "megatron", "megatron-2022", "megatron-deepspeed",
                                    "nanotron",  "maxtext",  "other"};
  for (const std::string& framework : frameworks) {
    const auto needed = [&](int zero) {
      return number_at(json_of("estimate --model llama-3.1-8b --cluster 6xL40S --seq 3072 --global-batch 3 "
                               "--json --framework " +
                               framework + " --layout \"dp3 tp2 sp zero" + std::to_string(zero) + '"'),
                       "memory.needed_bytes");
    };
    EXPECT_LE(needed(2), needed(1)) << framework;
  }
}

TEST(estimate, what_the_allocator_can_give_back_does_not_decide_whether_a_layout_fits) {
  const JsonValue e = json_of(
      "estimate --model llama-2-7b --cluster 1xRTX3090 --seq 1536 --padding longest --framework hf-eager "
      "--fine-tune qlora --lora-rank 16 --json");
  EXPECT_TRUE(*at(e, "fits").get_if<bool>());
  EXPECT_EQ(number_at(e, "memory.peak_bytes"), number_at(e, "memory.capacity_bytes")) << "a full cache";
  EXPECT_LT(number_at(e, "memory.needed_bytes"), number_at(e, "memory.capacity_bytes"));
  EXPECT_GT(number_at(e, "memory.out_of_memory_probability"), 0.2) << "close to the capacity all the same";
}

TEST(estimate, a_plan_that_may_run_out_of_memory_is_at_risk_and_safer_ones_are_named) {
  const std::string question =
      "estimate --model llama-3.1-70b --cluster 64xH100 --layout 'tp8 pp4' --seq 4k --global-batch 32 "
      "--quiet ";
  const Finished text = run_hexaplan(question);
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, testing::HasSubstr("Fits, at risk: "));
  EXPECT_THAT(text.out, testing::HasSubstr("safer with sp in the layout"));
  const JsonValue e = json_of(question + "--json");
  EXPECT_TRUE(*at(e, "fits").get_if<bool>());
  EXPECT_GT(number_at(e, "memory.out_of_memory_probability"), 0.05);
  const auto& changes = *at(e, "safer_changes").get_if<JsonArray>();
  ASSERT_FALSE(changes.empty());
  for (const JsonValue& change : changes) EXPECT_LE(number_at(change, "out_of_memory_probability"), 0.05);
  EXPECT_TRUE(at(json_of(kQuestion + "--json"), "safer_changes").is_null()) << "this one is safe";
}

TEST(estimate, a_layout_that_breaks_a_rule_is_an_answer_without_figures) {
  const std::string arguments =
      "estimate --model llama-3.1-8b --cluster 64xH100 --layout tp64 --seq 4k --global-batch 8 ";
  const JsonValue e = json_of(arguments + "--json");
  EXPECT_FALSE(*at(e, "fits").get_if<bool>());
  EXPECT_TRUE(at(e, "memory").is_null());
  EXPECT_TRUE(at(e, "time").is_null());
  EXPECT_FALSE(at(e, "rejection.reason").get_if<std::string>()->empty());
  EXPECT_EQ(run_hexaplan(arguments + "--require-fit").exit_code, 3);
}

TEST(estimate, a_saved_scenario_asks_the_same_question) {
  const TemporaryFile file{"", ".json"};
  const Finished direct = run_hexaplan(
      kQuestion + "--json --recompute layers=4 --tokens 15T --price 2.5 --save-scenario " + file.path());
  const Finished again = run_hexaplan("estimate --json --scenario " + file.path());
  EXPECT_EQ(direct.out, again.out);
  const Finished piped = run_hexaplan("estimate --json --scenario -", content_of(file.path()));
  EXPECT_EQ(direct.out, piped.out);
}

// The defaults of a later version are others: the file says those that counted, and which they were.
TEST(estimate, a_saved_question_holds_what_was_filled_in_and_answers_the_same) {
  const TemporaryFile file{"", ".json"};
  const std::string questions[] = {
      "--model llama-3.1-8b --cluster 8xH100",
      "--model mixtral-8x7b --cluster 64xH100 --layout 'ep8 pp4 zero1'",
      "--model gpt2 --cluster 8xA100 --framework fsdp2 --layout fsdp --seq 1k",
      "--model llama-3.1-70b --cluster 64xH100 --layout 'tp8 pp4 sp' --precision fp8 --fine-tune lora"};
  for (const std::string& question : questions) {
    const JsonValue asked = json_of("estimate --json --save-scenario " + file.path() + " " + question);
    const JsonValue again = json_of("estimate --json --scenario " + file.path());
    for (const char* part : {"memory", "time", "throughput", "scenario"})
      EXPECT_EQ(at(asked, part), at(again, part)) << question << ": " << part;
  }
}

TEST(estimate, a_saved_question_says_what_nobody_said_and_flags_on_top_ask_that_anew) {
  const TemporaryFile file{"", ".json"};
  (void)json_of("estimate --json --model llama-3.1-8b --cluster 8xH100 --seq 8k --save-scenario " +
                file.path());
  const JsonValue saved = presets::parse_json(content_of(file.path()), "saved").root;
  EXPECT_EQ(at(saved, "recipe.global_batch"), JsonValue{8});
  EXPECT_EQ(at(saved, "framework"), JsonValue{"megatron"});
  EXPECT_EQ(at(saved, "filled"), (JsonArray{"framework", "layout", "recipe.global_batch"}));
  const JsonValue more = json_of("estimate --json --scenario " + file.path() + " --cluster 16xH100");
  EXPECT_EQ(at(more, "scenario.layout"), JsonValue{"dp16"});
  EXPECT_EQ(at(more, "scenario.recipe.global_batch"), JsonValue{16});
  EXPECT_EQ(at(more, "scenario.recipe.sequence"), JsonValue{8192});
}

// Where the layout was said without dp, more GPUs mean more replicas.
TEST(estimate, replicas_that_followed_from_the_gpus_of_a_saved_question_follow_from_others) {
  const TemporaryFile file{"", ".json"};
  (void)json_of(
      "estimate --json --model llama-3.1-8b --cluster 8xH100 --layout 'tp2 zero1' --save-scenario " +
      file.path());
  const JsonValue saved = presets::parse_json(content_of(file.path()), "saved").root;
  EXPECT_EQ(at(saved, "layout"), JsonValue{"dp4 tp2 zero1"});
  EXPECT_EQ(at(saved, "filled"),
            (JsonArray{"framework", "recipe.sequence", "recipe.global_batch", "layout.dp"}));
  const JsonValue more = json_of("estimate --json --scenario " + file.path() + " --cluster 16xH100");
  EXPECT_EQ(at(more, "scenario.layout"), JsonValue{"dp8 tp2 zero1"});
}

TEST(estimate, a_project_of_the_window_is_read_for_its_question) {
  const std::string question =
      R"("scenario": {"schema": "hexaplan/scenario/1", "model": "llama-3.1-8b", "cluster": "8xH100"})";
  const TemporaryFile project{R"({"schema": "hexaplan/project/1", "notes": "x", )" + question + "}",
                              ".hexaplan"};
  const JsonValue direct = json_of("estimate --json --model llama-3.1-8b --cluster 8xH100");
  const JsonValue read = json_of("estimate --json --scenario " + project.path());
  EXPECT_EQ(at(direct, "time"), at(read, "time"));
  const TemporaryFile newer{R"({"schema": "hexaplan/project/2", )" + question + "}", ".hexaplan"};
  const Finished refused = run_hexaplan("estimate --scenario " + newer.path());
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_NE(refused.err.find("a newer hexaplan-gui wrote it"), std::string::npos) << refused.err;
  const TemporaryFile empty{R"({"schema": "hexaplan/project/1"})", ".hexaplan"};
  EXPECT_NE(run_hexaplan("estimate --scenario " + empty.path()).err.find("scenario"), std::string::npos);
}

TEST(estimate, flags_override_the_scenario) {
  const TemporaryFile file{"", ".json"};
  (void)run_hexaplan(kQuestion + "--save-scenario " + file.path());
  const JsonValue e = json_of("estimate --json --micro-batch 2 --scenario " + file.path());
  EXPECT_EQ(number_at(e, "scenario.recipe.micro_batch"), 2);
  EXPECT_EQ(number_at(e, "scenario.recipe.global_batch"), 64);
}

TEST(estimate, a_model_is_read_from_stdin) {
  const std::string config =
      R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 2, "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 32000})";
  const Finished run = run_hexaplan("estimate --model - --cluster 1xH100 --seq 1k --json --quiet", config);
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

TEST(estimate, output_goes_whole_to_a_file) {
  const TemporaryFile file{"old"};
  const Finished run = run_hexaplan(kQuestion + "--json -o " + file.path());
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(content_of(file.path()), run_hexaplan(kQuestion + "--json").out);
}

TEST(estimate, what_was_left_out_is_said_on_stderr_and_not_when_quiet) {
  const std::string question = "estimate --model llama-3.1-8b --cluster 8xH100 --layout fsdp ";
  EXPECT_EQ(run_hexaplan(question).err,
            "note: sequence length not given: 4096 tokens\nnote: global batch not given: 8 sequences\n");
  EXPECT_EQ(run_hexaplan(question + "--quiet").err, "");
}

TEST(estimate, bars_need_unicode_and_colour_is_asked_for) {
  EXPECT_NE(run_hexaplan(kQuestion).out.find("█"), std::string::npos);
  EXPECT_EQ(run_hexaplan(kQuestion).out.find('\x1b'), std::string::npos);
  EXPECT_NE(run_hexaplan(kQuestion + "--colour always").out.find('\x1b'), std::string::npos);
}

TEST(estimate, explanations_name_the_function_and_the_source_of_every_formula) {
  const JsonValue e = json_of(kQuestion + "--json --explain");
  for (const char* list : {"explanation.tensors", "explanation.operations"}) {
    const auto& entries = *at(e, list).get_if<JsonArray>();
    EXPECT_GT(entries.size(), 5U);
    for (const JsonValue& entry : entries) {
      const std::string& name = *at(entry, "name").get_if<std::string>();
      EXPECT_FALSE(at(entry, "formula.function").get_if<std::string>()->empty()) << name;
      EXPECT_FALSE(at(entry, "formula.source").get_if<std::string>()->empty()) << name;
    }
  }
}

TEST(estimate, says_what_the_framework_does_not_have) {
  const std::string words = "estimate --model llama-3.1-8b --cluster 8xH100 --seq 4096 --global-batch 8 ";
  EXPECT_THAT(run_hexaplan(words + "--framework ddp --layout 'dp4 pp2'").err,
              testing::HasSubstr("ddp does not have pp2: the numbers are those of one like it that had"));
  EXPECT_THAT(run_hexaplan(words + "--framework ddp --layout 'zero1'").err,
              testing::HasSubstr("does not have zero1"));
  for (const char* has :
       {"--framework megatron --layout 'tp2 pp2'", "--framework fsdp2 --layout 'tp2 zero3'"})
    EXPECT_THAT(run_hexaplan(words + has).err, testing::Not(testing::HasSubstr("does not have"))) << has;
}

TEST(estimate, makes_checkpoints_between_steps) {
  const Finished run = run_hexaplan(
      "estimate --model llama-3.1-405b --cluster llama3-405b --layout 'tp8 cp2 pp16 vpp8 zero1 sp "
      "ends-minus-one' --seq 8192 --global-batch 2048 --tokens 15T --gpu-mtbf 5000h --checkpoint async");
  EXPECT_THAT(run.out, testing::HasSubstr(" every step (the best interval)"));
  EXPECT_THAT(run.out, testing::HasSubstr(" GWh"));
}

}  // namespace
}  // namespace hexaplan::cli
