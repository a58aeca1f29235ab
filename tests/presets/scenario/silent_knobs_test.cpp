// No word is silent: whatever layout, recipe, cluster or framework can say moves memory by kind, messages,
// time by cause or the bill where it must matter, or not_modelled() names it. The words come from the
// readers' own tables, so that a new one without a row here, or without an effect, fails.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "costmodel/memory/memory_kinds.h"
#include "costmodel/program/not_modelled.h"
#include "costmodel/step/step_counts.h"
#include "costmodel/step/time_causes.h"
#include "costmodel/step/training_cost.h"
#include "presets/catalog/catalog.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/json/vocabulary.h"
#include "presets/scenario/recipe_fields.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::presets {
namespace {

using costmodel::Estimate;
using costmodel::Scenario;

struct Answer {
  Scenario scenario;
  std::optional<costmodel::Rejected> rejected;  // by a rule: an answer with a reason
  std::vector<double> numbers;
};

void append_messages(const Scenario& scenario, int stages, std::vector<double>& numbers) {
  for (int stage = 0; stage < stages; ++stage) {
    for (const auto& row : costmodel::count_step(scenario, stage).collectives) {
      numbers.push_back(row.messages);
      numbers.push_back(row.bytes.value());
    }
  }
}

/// Every number that an answer prints, in one list.
Answer answer_to(const ScenarioRequest& request) {
  CalibratedScenario found = resolve_calibrated(request);
  const Estimate estimate = costmodel::estimate_step(found.scenario, found.calibration);
  Answer answer{.scenario = std::move(found.scenario)};
  if (estimate.stages.empty()) {
    answer.rejected = std::get<costmodel::Rejected>(estimate.verdict);
    return answer;
  }
  std::vector<double>& n = answer.numbers;
  for (const costmodel::StageMemory& stage : estimate.stages) {
    const auto kinds = stage.on_device();
    for (const costmodel::MemoryKind& row : costmodel::kMemoryKinds) n.push_back(kinds.of(row.kind).value());
    n.insert(n.end(), {stage.allocated.value(), stage.idle.value(), stage.host.value(), stage.disk.value()});
  }
  for (const costmodel::TimeCause& cause : costmodel::kTimeCauses)
    n.push_back((estimate.time.*cause.member).value());
  if (answer.scenario.recipe.tokens > 0) {
    const auto cost = costmodel::training_cost(answer.scenario, estimate);
    n.insert(n.end(), {cost.wall.value(), cost.dollars, cost.kilowatt_hours,
                       static_cast<double>(cost.goodput.enough_spares)});
  }
  append_messages(answer.scenario, static_cast<int>(estimate.stages.size()), n);
  return answer;
}

/// Empty when turning `from` into `to` moves a number, breaks a rule, or is named as not modelled.
std::string silence(const ScenarioRequest& from, const ScenarioRequest& to) {
  const Answer before = answer_to(from), after = answer_to(to);
  if (before.rejected) return "the scenario cannot run: " + before.rejected->reason;
  if (after.rejected || before.numbers != after.numbers) return {};
  return newly_not_modelled(before.scenario, after.scenario).empty() ? "nothing moves" : "";
}

/// Scenarios in which words matter.
struct Stage {
  const char *model, *cluster, *framework, *layout;
  void (*recipe)(costmodel::Recipe&);
};
void plain(costmodel::Recipe& r) {
  r.sequence = 4096, r.global_batch = 256;
}
void one_micro_batch(costmodel::Recipe& r) {
  r.sequence = 4096, r.global_batch = 8;
}
void lora(costmodel::Recipe& r) {
  one_micro_batch(r);
  r.fine_tune = costmodel::FineTune::Lora, r.lora_rank = 16;
}
void offloaded(costmodel::Recipe& r) {
  plain(r);
  r.offload = costmodel::kOffloadOptimizer;
}
void offloaded_activations(costmodel::Recipe& r) {
  plain(r);
  r.offload = costmodel::kOffloadActivations;
}
void recomputed(costmodel::Recipe& r) {
  plain(r);
  r.recompute.mode = costmodel::RecomputeMode::Full;
}
void imbalanced(costmodel::Recipe& r) {
  plain(r);
  r.routing.imbalance = 2;
}
void budgeted(costmodel::Recipe& r) {
  plain(r);
  r.tokens = 1'000'000'000'000;
}
constexpr Stage kDense{"llama-3.1-8b", "16x8xH100+ib400", "megatron", "tp2", plain};
constexpr Stage kSequence{"llama-3.1-8b", "16x8xH100+ib400", "megatron", "tp4 sp", plain};
constexpr Stage kPiped{"llama-3.1-8b", "16x8xH100+ib400", "megatron", "pp4", plain};
constexpr Stage kOneMicroBatch{"llama-3.1-8b", "8xH100", "fsdp2", "", one_micro_batch};
constexpr Stage kBlackwell{"llama-3.1-8b", "8xB200", "megatron", "", plain};
constexpr Stage kExperts{"mixtral-8x7b", "8x8xH100+ib400", "megatron", "ep8", plain};
constexpr Stage kUneven{"mixtral-8x7b", "8x8xH100+ib400", "megatron", "ep8", imbalanced};
constexpr Stage kLatent{"deepseek-v3", "64x8xH100+ib400", "megatron", "pp16 ep32", plain};
constexpr Stage kAdapters{"llama-3.1-8b", "8xH100", "fsdp2", "", lora};
constexpr Stage kOffloaded{"llama-3.1-8b", "16x8xH100+ib400", "deepspeed", "zero3", offloaded};
constexpr Stage kOffloadedActivations{"llama-3.1-8b", "16x8xH100+ib400", "deepspeed", "zero3",
                                      offloaded_activations};
constexpr Stage kOffloadable{"llama-3.1-8b", "16x8xH100+ib400", "deepspeed", "zero3", plain};
constexpr Stage kSharded{"llama-3.1-8b", "16x8xH100+ib400", "deepspeed", "", plain};
constexpr Stage kHybrid{"llama-3.1-8b", "16x8xH100+ib400", "fsdp2", "hsdp8", plain};
constexpr Stage kRecomputed{"llama-3.1-8b", "16x8xH100+ib400", "megatron", "", recomputed};
constexpr Stage kBudgeted{"llama-3.1-8b", "16x8xH100+ib400", "megatron", "tp2", budgeted};

ScenarioRequest request_of(const Stage& stage, const std::string& layout) {
  ScenarioRequest request;
  request.model = stage.model;
  request.cluster = stage.cluster;
  request.framework = stage.framework;
  request.layout = parse_layout(layout, "layout");
  stage.recipe(request.recipe);
  return request;
}
ScenarioRequest request_of(const Stage& stage) {
  return request_of(stage, stage.layout);
}

std::vector<std::string> knobs(const ScenarioRequest& request) {
  std::vector<std::string> words;
  for (const auto& word : not_modelled(answer_to(request).scenario)) words.push_back(word.knob);
  return words;
}

// --- recipe ---

template <class E, std::size_t N>
std::vector<std::string> names(const Named<E> (&table)[N], std::string_view prefix = {}) {
  std::vector<std::string> words;
  for (const Named<E>& row : table) words.push_back(fmt::format("{}{}", prefix, row.name));
  return words;
}

struct RecipeTurn {
  std::string key;
  const Stage& stage;
  std::vector<std::string> values;
  std::string from;  // what the base has of it; empty: nothing
};
const RecipeTurn kRecipeTurns[] = {
    {"sequence", kDense, {"2048", "8k"}},
    {"micro_batch", kDense, {"2"}},
    {"global_batch", kDense, {"512"}},
    {"precision", kBlackwell, names(kPrecisionNames)},
    {"parameter_dtype", kDense, names(kStateDTypeNames), "fp32"},
    {"parameter_dtype", kDense, {"fp32"}},
    {"gradient_dtype", kDense, names(kStateDTypeNames), "fp32"},
    {"gradient_dtype", kDense, {"fp32"}, "bf16"},
    {"optimizer", kDense, names(kOptimizerNames)},
    {"optimizer_in_backward", kOneMicroBatch, {"true", "false"}},
    {"recompute", kDense, {"layers=2"}},
    {"recompute", kDense, names(kRecomputeNames)},
    {"recompute", kLatent, names(kRecomputeModuleNames, "modules=")},
    {"attention", kDense, names(kAttentionNames)},
    {"cross_entropy", kDense, names(kCrossEntropyNames), "chunked"},
    {"cross_entropy", kDense, {"chunked"}},
    {"fused_norm", kDense, {"true", "false"}},
    {"dropout", kDense, {"0.1"}},
    {"fine_tune", kOneMicroBatch, names(kFineTuneNames), "lora"},
    {"fine_tune", kOneMicroBatch, {"lora"}},
    {"lora_rank", kAdapters, {"8", "64"}},
    {"lora_targets", kAdapters, names(kAdapterTargetNames)},
    {"trainable_parameters", kAdapters, {"1000000"}},
    {"offload", kOffloadable, names(kOffloadNames)},
    {"offload_device", kOffloaded, names(kOffloadDeviceNames)},
    {"offload_fraction", kOffloaded, {"0.5"}},
    {"offload_layers", kOffloadedActivations, {"8"}},
    {"routing_imbalance", kExperts, {"1.5"}},
    {"capacity_factor", kUneven, {"1.25", "4"}},
    {"tp_comm_overlap", kSequence, {"true"}},
    {"tp_backward_overlap", kSequence, {"false"}},
    {"pipeline_overlap", kPiped, {"true"}},
    {"dp_overlap", kDense, {"false"}},
    {"reduce_gradients", kHybrid, {"once", "replicas-once"}},
    {"ep_overlap", kExperts, {"true", "false"}},
    {"compile", kExperts, {"true"}},
    {"cuda_graphs", kExperts, {"partial", "full_iteration"}},
    {"moe_dispatcher", kExperts, {"alltoall", "allgather"}},
    {"tokens", kDense, {"15T"}},
    {"checkpoint", kBudgeted, {"async"}},
    {"checkpoint_interval", kBudgeted, {"10min"}},
    {"gpu_mtbf", kBudgeted, {"20000h"}},
    {"node_mtbf", kBudgeted, {"20000h"}},
    {"link_mtbf", kBudgeted, {"20000h"}},
    {"storage_bandwidth", kBudgeted, {"1TB/s"}},
    {"restart_time", kBudgeted, {"1h"}},
    {"repair_time", kBudgeted, {"30d"}},
    {"spare_nodes", kBudgeted, {"0", "4"}},
    {"pue", kBudgeted, {"1.2"}},
};

TEST(silent_knobs, every_value_of_a_recipe_moves_a_number_or_is_named) {
  for (const RecipeTurn& turn : kRecipeTurns) {
    ScenarioRequest from = request_of(turn.stage);
    if (!turn.from.empty()) set_recipe_field(from.recipe, turn.key, turn.key, turn.from);
    for (const std::string& value : turn.values) {
      ScenarioRequest to = from;
      set_recipe_field(to.recipe, turn.key, turn.key, value);
      if (to.recipe == from.recipe) continue;
      EXPECT_EQ(silence(from, to), "") << turn.key << " " << value;
    }
  }
}

TEST(silent_knobs, every_field_of_a_recipe_is_turned) {
  for (const RecipeField& field : recipe_fields()) {
    const auto turned = [&](const RecipeTurn& turn) { return turn.key == field.key; };
    EXPECT_TRUE(std::any_of(std::begin(kRecipeTurns), std::end(kRecipeTurns), turned)) << field.key;
  }
}

// --- layout ---

struct LayoutTurn {
  std::string_view word;
  const Stage& stage;
  std::string from, to;
};
const LayoutTurn kLayoutTurns[] = {
    {"dp", kDense, "dp64 tp2", "dp32 tp4"},
    {"tp", kDense, "", "tp2"},
    {"cp", kDense, "", "cp2"},
    {"pp", kDense, "", "pp2"},
    {"vpp", kPiped, "pp4", "pp4 vpp2"},
    {"ep", kExperts, "", "ep8"},
    {"etp", kExperts, "tp2 ep4", "tp2 ep4 etp1"},
    {"zero", kSharded, "zero1", "zero3"},
    {"hsdp", kSharded, "fsdp", "hsdp8"},
    {"shard", kSharded, "zero1", "zero1 shard8"},
    {"hpz", kSharded, "zero3", "zero3 hpz8"},
    {"qwz", kSharded, "zero3", "zero3 qwz"},
    {"qgz", kSharded, "zero3", "zero3 qgz"},
    {"sp", kDense, "tp2", "tp2 sp"},
    {"ddp", kSharded, "zero1", "ddp"},
    {"fsdp", kSharded, "zero1", "fsdp"},
    {"partition-activations", kRecomputed, "tp2", "tp2 partition-activations"},
    {"gpipe", kPiped, "pp4", "pp4 gpipe"},
    {"1f1b", kPiped, "pp4 gpipe", "pp4 1f1b"},
    {"interleaved", kPiped, "pp4 vpp2 gpipe", "pp4 vpp2 interleaved"},
    {"zb-h1", kPiped, "pp4", "pp4 zb-h1"},
    {"zb1p", kPiped, "pp4", "pp4 zb1p"},
    {"zb-2p", kPiped, "pp4", "pp4 zb-2p"},
    {"zb2p", kPiped, "pp4", "pp4 zb2p"},
    {"zb-v", kPiped, "pp4", "pp4 zb-v"},
    {"zbv", kPiped, "pp4", "pp4 zbv"},
    {"vhalf", kPiped, "pp4", "pp4 vhalf"},
    {"dualpipe", kPiped, "pp4", "pp4 dualpipe"},
    {"dualpipev", kPiped, "pp4", "pp4 dualpipev"},
    {"ring", kDense, "cp4 allgather", "cp4 ring"},
    {"allgather", kDense, "cp4", "cp4 allgather"},
    {"alltoall", kDense, "cp4", "cp4 alltoall"},
    {"ulysses", kDense, "cp4", "cp4 ulysses"},
    {"even", kPiped, "pp4 compute-cost", "pp4 even"},
    {"compute-cost", kPiped, "pp4", "pp4 compute-cost"},
    {"ends-minus-one", kPiped, "pp4", "pp4 ends-minus-one"},
    {"embedding-counts", kPiped, "pp4", "pp4 embedding-counts"},
    {"stages", kPiped, "pp4", "pp4 stages=9/9/7/7"},
    {"vocab-last", kPiped, "pp4 vocab-1", "pp4 vocab-last"},
    {"vocab-1", kPiped, "pp4", "pp4 vocab-1"},
    {"vocab-2", kPiped, "pp4 vocab-1", "pp4 vocab-2"},
    {"vocab-interlaced", kPiped, "pp4", "pp4 vocab-interlaced"},
    {"order", kPiped, "tp2 pp4", "tp2 pp4 order=dp/tp/cp/pp"},
};

bool says(const std::string& text, std::string_view word) {
  return fmt::format(" {}", text).find(fmt::format(" {}", word)) != std::string::npos;
}

TEST(silent_knobs, every_word_of_a_layout_moves_a_number_or_is_named) {
  for (const LayoutTurn& turn : kLayoutTurns) {
    ASSERT_TRUE(says(turn.to, turn.word)) << turn.word;
    EXPECT_EQ(silence(request_of(turn.stage, turn.from), request_of(turn.stage, turn.to)), "")
        << turn.from << " -> " << turn.to;
  }
}

TEST(silent_knobs, every_word_of_a_layout_is_turned) {
  std::set<std::string_view> turned;
  for (const LayoutTurn& turn : kLayoutTurns) turned.insert(turn.word);
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

std::vector<double> numbers_under(const std::string& framework) {
  std::vector<double> all;
  for (const auto& [stage, layout] : {std::pair{&kSharded, "zero1"}, {&kPiped, "pp4 tp2"}}) {
    ScenarioRequest request = request_of(*stage, layout);
    request.framework = framework;
    const Answer answer = answer_to(request);
    all.insert(all.end(), answer.numbers.begin(), answer.numbers.end());
  }
  return all;
}

/// Two profiles with the same numbers are one profile with two names.
TEST(silent_knobs, every_framework_has_numbers_of_its_own) {
  std::map<std::vector<double>, std::string> seen;
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

TEST(silent_knobs, fine_tuning_of_some_parameters_names_what_it_keeps) {
  for (const auto& row : kFineTuneNames) {
    ScenarioRequest request = request_of(kOneMicroBatch);
    request.recipe.fine_tune = row.value;
    EXPECT_THAT(knobs(request), testing::SizeIs(trains_adapters(request.recipe) ? 1 : 0)) << row.name;
  }
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
  EXPECT_THAT(notes("", [](auto& r) { r.routing.imbalance = 2; }), testing::HasSubstr("no experts"));
  EXPECT_THAT(notes("", [](auto& r) { r.precision = costmodel::Precision::Fp32; }),
              testing::HasSubstr("no fp32 kernel"));
  EXPECT_THAT(
      notes("", [](auto& r) { r.recompute = {.mode = costmodel::RecomputeMode::Layers, .layers = 99}; }),
      testing::HasSubstr("no stage has so many layers"));
  EXPECT_THAT(notes("zero1 hpz8", none), testing::HasSubstr("ZeRO++ works on ZeRO-3"));
  EXPECT_THAT(notes("sp", none), testing::HasSubstr("tp is 1"));
  EXPECT_THAT(notes("alltoall", none), testing::HasSubstr("cp is 1"));
  EXPECT_THAT(notes("zb-h1", none), testing::HasSubstr("pp is 1"));
}

}  // namespace
}  // namespace hexaplan::presets
