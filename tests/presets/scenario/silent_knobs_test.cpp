// No word is silent: whatever layout, recipe, cluster or framework can say moves memory by kind, messages,
// time by cause or the bill where it must matter, or not_modelled() names it. The words come from the
// readers' own tables, so that a new one without a row here, or without an effect, fails.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "costmodel/program/not_modelled.h"
#include "presets/catalog/catalog.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/json/vocabulary.h"
#include "presets/scenario/recipe_fields.h"
#include "presets/scenario/scenario_request.h"
#include "presets/scenario/silent_words.h"
#include "tests/support/knob_turns.h"

namespace hexaplan::presets {
namespace {

using namespace tests;

std::vector<std::string> knobs(const ScenarioRequest& request) {
  std::vector<std::string> words;
  for (const auto& word : not_modelled(answer_to(request).scenario)) words.push_back(word.knob);
  return words;
}

/// Notes of an answer, those of words that change nothing included.
std::vector<std::string> notes_of(const ScenarioRequest& request) {
  CalibratedScenario found = resolve_calibrated(request);
  const auto estimate = costmodel::estimate_step(found.scenario, found.calibration);
  std::vector<std::string> notes = std::move(found.notes);
  const auto silent = notes_of_silent_words(request, found.scenario, found.calibration, estimate);
  notes.insert(notes.end(), silent.begin(), silent.end());
  return notes;
}

// --- recipe ---

TEST(silent_knobs, every_value_of_a_recipe_moves_a_number_or_is_named) {
  for (const RecipeTurn& turn : recipe_turns()) {
    const ScenarioRequest from = before(turn);
    for (const std::string& value : turn.values) {
      const ScenarioRequest to = with(turn, value);
      if (to.recipe == from.recipe) continue;
      EXPECT_EQ(silence(from, to), "") << turn.key << " " << value;
    }
  }
}

TEST(silent_knobs, every_field_of_a_recipe_is_turned) {
  for (const RecipeField& field : recipe_fields()) {
    const auto turned = [&](const RecipeTurn& turn) { return turn.key == field.key; };
    EXPECT_TRUE(std::ranges::any_of(recipe_turns(), turned)) << field.key;
  }
}

// --- layout ---

bool says(const std::string& text, std::string_view word) {
  return fmt::format(" {}", text).find(fmt::format(" {}", word)) != std::string::npos;
}

TEST(silent_knobs, every_word_of_a_layout_moves_a_number_or_is_named) {
  for (const LayoutTurn& turn : layout_turns()) {
    ASSERT_TRUE(says(turn.to, turn.word)) << turn.word;
    EXPECT_EQ(silence(request_of(turn.stage, turn.from), request_of(turn.stage, turn.to)), "")
        << turn.from << " -> " << turn.to;
  }
}

TEST(silent_knobs, every_word_of_a_layout_is_turned) {
  std::set<std::string_view> turned;
  for (const LayoutTurn& turn : layout_turns()) turned.insert(turn.word);
  const std::vector<std::string_view> words = known_layout_words();
  EXPECT_THAT(turned,
              testing::UnorderedElementsAreArray(std::set<std::string_view>(words.begin(), words.end())));
}

// --- cluster, price, framework ---

TEST(silent_knobs, every_key_of_a_cluster_moves_a_number) {
  const JsonObject usual{
      {"gpu", "h100"}, {"gpus", 128}, {"gpus_per_node", 8}, {"node_nic_gbps", 3200}, {"network", "ib"}};
  const std::map<std::string_view, JsonValue> turns{
      {"gpu", "a100"}, {"gpus", 64}, {"gpus_per_node", 4}, {"node_nic_gbps", 1600}, {"network", "roce"}};
  for (const std::string_view key : cluster_keys()) {
    ASSERT_TRUE(turns.contains(key)) << key;
    ScenarioRequest from = request_of(kSharded, "zero3"), to = from;
    from.cluster = usual;
    JsonObject changed = usual;
    std::find_if(changed.begin(), changed.end(), [&](const JsonMember& m) {
      return m.first == key;
    })->second = turns.at(key);
    to.cluster = changed;
    EXPECT_EQ(silence(from, to), "") << key;
  }
}

TEST(silent_knobs, the_price_moves_the_bill) {
  ScenarioRequest from = request_of(kBudgeted), to = from;
  from.price_per_hour = 1.0, to.price_per_hour = 2.0;
  EXPECT_EQ(silence(from, to), "");
}

std::vector<std::vector<double>> numbers_under(const std::string& framework) {
  std::vector<std::vector<double>> all;
  for (const auto& [stage, layout] : {std::pair{&kSharded, "zero1"}, {&kPiped, "pp4 tp2"}}) {
    ScenarioRequest request = request_of(*stage, layout);
    request.framework = framework;
    const AnswerNumbers n = answer_to(request).numbers;
    all.insert(all.end(), {n.memory, n.messages, n.time});
  }
  return all;
}

TEST(silent_knobs, a_framework_that_has_another_s_profile_is_said_to) {
  ScenarioRequest request = request_of(kOneMicroBatch);
  request.framework = "torchtune";
  const ResolvedScenario resolved = resolve(request);
  EXPECT_EQ(resolved.scenario.framework.name, "fsdp2");
  EXPECT_THAT(resolved.notes, testing::ElementsAre(testing::HasSubstr("profile fsdp2")));
}

/// The Trainer and what stands on it shard with DeepSpeed or with FSDP: the layout's words say which.
TEST(silent_knobs, a_trainer_has_the_profile_of_what_shards_its_states) {
  struct Row {
    const char *layout, *profile;
  };
  constexpr Row kRows[] = {{"", "hf-eager"},          {"ddp", "hf-eager"},  {"zero1", "hf-deepspeed"},
                           {"zero3", "hf-deepspeed"}, {"fsdp", "hf-fsdp2"}, {"hsdp4", "hf-fsdp2"}};
  for (const char* trainer : {"accelerate", "trl", "axolotl", "llama-factory", "transformers"}) {
    for (const Row& row : kRows) {
      ScenarioRequest request = request_of(kOneMicroBatch, row.layout);
      request.framework = trainer;
      const ResolvedScenario resolved = resolve(request);
      EXPECT_EQ(resolved.scenario.framework.name, row.profile) << trainer << " " << row.layout;
      EXPECT_THAT(resolved.notes, testing::Contains(testing::HasSubstr(row.profile))) << row.layout;
      // A scenario's file says the same.
      request.layout = parse_layout(to_layout_text(request.layout), "layout");
      EXPECT_EQ(resolve(request).scenario.framework.name, row.profile) << trainer << " " << row.layout;
    }
  }
}

/// Two profiles with the same numbers are one profile with two names.
TEST(silent_knobs, every_framework_has_numbers_of_its_own) {
  std::map<std::vector<std::vector<double>>, std::string> seen;
  for (const std::string& name : list_presets(PresetKind::Framework)) {
    if (!find_framework(name).not_modelled.empty()) continue;  // says so itself
    const auto [row, is_new] = seen.emplace(numbers_under(name), name);
    EXPECT_TRUE(is_new) << name << " = " << row->second;
  }
}

TEST(silent_knobs, a_profile_that_nobody_measured_says_so) {
  ScenarioRequest request = request_of(kSharded, "fsdp");
  request.framework = "maxtext";
  EXPECT_THAT(knobs(request), testing::ElementsAre("framework maxtext"));
}

// --- what moves bytes and no time, or time and no bytes: named as well ---

TEST(silent_knobs, offload_optimizers_and_zero_plus_plus_are_priced) {
  for (const auto& row : kOffloadNames) {
    ScenarioRequest request = request_of(kSharded, "zero3 hpz8 qwz qgz");
    request.recipe.offload = row.value;
    EXPECT_THAT(knobs(request), testing::IsEmpty()) << row.name;
  }
  for (const auto& row : kOptimizerNames) {
    ScenarioRequest request = request_of(kDense);
    request.recipe.optimizer = row.value;
    EXPECT_THAT(knobs(request), testing::IsEmpty()) << row.name;
  }
}

/// Paged states are asked for by name (paged_adamw_8bit), and files that do are told so when they are read.
TEST(silent_knobs, fine_tuning_leaves_nothing_out) {
  for (const auto& row : kFineTuneNames) {
    ScenarioRequest request = request_of(kOneMicroBatch);
    request.recipe.fine_tune = row.value;
    EXPECT_THAT(knobs(request), testing::IsEmpty()) << row.name;
  }
}

// --- compilation ---

ScenarioRequest compiled(const std::string& framework, std::optional<bool> said) {
  ScenarioRequest request = request_of(kOneMicroBatch);
  request.framework = framework;
  request.recipe.execution.compiled = said;
  return request;
}

/// Under every profile compiled layers are not eager ones, or the answer says why they are.
TEST(silent_knobs, compiling_changes_the_step_of_every_framework_or_is_named) {
  for (const std::string& name : list_presets(PresetKind::Framework)) {
    if (!find_framework(name).not_modelled.empty()) continue;
    const ScenarioRequest with = compiled(name, true), eager = compiled(name, false);
    if (silence(eager, with).empty()) continue;
    EXPECT_THAT(notes_of(with), testing::Contains(testing::HasSubstr("compile"))) << name;
  }
}

/// Norms, rotation, activations and residuals in one kernel each; a Trainer's layers are eager unless told.
TEST(silent_knobs, a_compiled_trainer_is_faster_and_an_eager_one_is_what_it_was) {
  for (const char* name : {"hf-eager", "hf-fsdp2", "hf-deepspeed", "fsdp1"}) {
    const auto memory_bound = [&](std::optional<bool> said) {
      const auto found = resolve_calibrated(compiled(name, said));
      return costmodel::estimate_step(found.scenario, found.calibration).time.memory_bound.value();
    };
    EXPECT_LT(memory_bound(true), memory_bound({})) << name;
    EXPECT_EQ(memory_bound(false), memory_bound({})) << name;
  }
}

/// Measured: stas00/ml-engineering, 637 ms eager and 674 compiled with checkpoints.
TEST(silent_knobs, checkpoints_break_what_a_trainer_compiles_and_the_answer_says_so) {
  ScenarioRequest request = compiled("hf-eager", true);
  EXPECT_THAT(knobs(request), testing::IsEmpty());
  request.recipe.recompute.mode = costmodel::RecomputeMode::Full;
  EXPECT_THAT(knobs(request), testing::ElementsAre("compile"));
}

TEST(silent_knobs, a_plain_question_names_nothing) {
  EXPECT_THAT(knobs(request_of(kDense)), testing::IsEmpty());
  EXPECT_THAT(knobs(request_of(kExperts)), testing::IsEmpty());
  EXPECT_THAT(knobs(request_of(kLatent)), testing::IsEmpty());  // with a multi-token-prediction module
}

// --- words that do not apply ---

TEST(silent_knobs, words_that_cannot_matter_are_noted_with_the_reason) {
  const auto notes = [](const std::string& layout, void (*change)(costmodel::Recipe&)) {
    ScenarioRequest request = request_of(kDense, layout);
    change(request.recipe);
    return fmt::format("{}", fmt::join(resolve(request).notes, "\n"));
  };
  const auto none = [](costmodel::Recipe&) {};
  EXPECT_EQ(notes("tp2 zero1", none), "");
  EXPECT_THAT(notes("", [](auto& r) { r.lora_rank = 8; }), testing::HasSubstr("lora-rank changes nothing"));
  EXPECT_THAT(notes("", [](auto& r) { r.routing.capacity_factor = 2; }), testing::HasSubstr("no experts"));
  EXPECT_THAT(notes("", [](auto& r) { r.routing.pad_to_capacity = true; }), testing::HasSubstr("no experts"));
  EXPECT_THAT(notes("", [](auto& r) { r.routing.imbalance = 2; }), testing::HasSubstr("no experts"));
  EXPECT_THAT(notes("", [](auto& r) { r.precision = costmodel::Precision::Fp32; }),
              testing::HasSubstr("no fp32 kernel"));
  EXPECT_THAT(
      notes("", [](auto& r) { r.recompute = {.mode = costmodel::RecomputeMode::Layers, .layers = 99}; }),
      testing::HasSubstr("all layers are recomputed, as with recompute full"));
  EXPECT_THAT(
      notes("", [](auto& r) { r.recompute = {.mode = costmodel::RecomputeMode::Layers, .layers = 33}; }),
      testing::HasSubstr("all layers are recomputed, as with recompute full"));
  EXPECT_EQ(
      notes("", [](auto& r) { r.recompute = {.mode = costmodel::RecomputeMode::Layers, .layers = 32}; }), "");
  EXPECT_THAT(notes("compute-cost", none), testing::HasSubstr("no stages to cut"));
  EXPECT_THAT(notes("order=dp/tp/cp/pp", none), testing::HasSubstr("one axis"));
  EXPECT_THAT(notes("zero1 hpz8", none), testing::HasSubstr("ZeRO++ works on ZeRO-3"));
  EXPECT_THAT(notes("sp", none), testing::HasSubstr("tp is 1"));
  EXPECT_THAT(notes("alltoall", none), testing::HasSubstr("cp is 1"));
  EXPECT_THAT(notes("zb-h1", none), testing::HasSubstr("pp is 1"));
}

struct Unheard {
  const char* why;
  const Stage& stage;
  const char* layout;
  void (*change)(costmodel::Recipe&);
  const char* note;  // begins so
};

/// Words without which every number is the same are found by leaving them out.
TEST(silent_knobs, words_that_change_no_number_are_noted) {
  using costmodel::Recipe;
  const auto nothing = [](Recipe&) {};
  const Unheard cases[] = {
      {"no experts", kDense, "tp2",
       [](Recipe& r) {
         r.recompute = {.mode = costmodel::RecomputeMode::SelectiveModules,
                        .modules = costmodel::kRecomputeMoe | costmodel::kRecomputeNorm};
       },
       "recompute modules=moe changes nothing"},
      {"no latents", kExperts, "ep8",
       [](Recipe& r) {
         r.recompute = {.mode = costmodel::RecomputeMode::SelectiveModules,
                        .modules = costmodel::kRecomputeMlaUpProjection};
       },
       "recompute modules=mla_up_proj changes nothing"},
      {"no dense layers", kExperts, "ep8",
       [](Recipe& r) {
         r.recompute = {.mode = costmodel::RecomputeMode::SelectiveModules,
                        .modules = costmodel::kRecomputeMlp};
       },
       "recompute modules=mlp changes nothing"},
      {"one stage", kDense, "tp2 embedding-counts", nothing, "split changes nothing"},
      {"one axis", kDense, "order=dp/tp/cp/pp", nothing, "order changes nothing"},
      {"experts have tp anyway", kExperts, "ep8 etp1", nothing, "etp changes nothing"},
      {"the device is the limit", kDense, "tp2",
       [](Recipe& r) { r.execution.graphs = costmodel::CudaGraphs::Partial; },
       "cuda-graphs partial changes nothing"},
      {"as the framework does", kExperts, "ep8",
       [](Recipe& r) { r.execution.dispatcher = costmodel::ExpertDispatcher::HybridEp; },
       "moe-dispatcher hybridep changes nothing"},
  };
  for (const Unheard& c : cases) {
    ScenarioRequest request = request_of(c.stage, c.layout);
    c.change(request.recipe);
    EXPECT_THAT(notes_of(request), testing::ElementsAre(testing::StartsWith(c.note))) << c.why;
  }
}

/// What changes a number, and what says that the framework should do what it does anyway.
TEST(silent_knobs, words_that_matter_are_not_noted) {
  ScenarioRequest request = request_of(kPiped, "tp2 pp4 vpp2 sp zero1 order=dp/tp/cp/pp");
  request.recipe.recompute.mode = costmodel::RecomputeMode::Full;
  request.recipe.gradient_dtype = costmodel::DType::Fp32;
  request.recipe.execution.data_overlap = true;
  EXPECT_THAT(notes_of(request), testing::IsEmpty());
}

TEST(silent_knobs, capacities_that_nothing_fills_are_noted) {
  const auto notes = [](costmodel::MoeRouting routing) {
    ScenarioRequest request = request_of(kExperts);
    request.recipe.routing = routing;
    return fmt::format("{}", fmt::join(resolve(request).notes, "\n"));
  };
  EXPECT_THAT(notes({.capacity_factor = 4}), testing::HasSubstr("nothing is dropped in the numbers"));
  EXPECT_THAT(notes({.imbalance = 2, .capacity_factor = 1.25}), testing::Not(testing::HasSubstr("capacity")));
  EXPECT_THAT(notes({.capacity_factor = 1.25, .pad_to_capacity = true}),
              testing::Not(testing::HasSubstr("capacity")));
  EXPECT_THAT(notes({.pad_to_capacity = true}), testing::HasSubstr("say capacity-factor"));
}

}  // namespace
}  // namespace hexaplan::presets
