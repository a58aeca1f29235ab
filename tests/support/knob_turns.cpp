#include "tests/support/knob_turns.h"

#include <fmt/format.h>

#include <utility>

#include "costmodel/memory/memory_kinds.h"
#include "costmodel/program/not_modelled.h"
#include "costmodel/spec/optimizer_traits.h"
#include "costmodel/step/step_counts.h"
#include "costmodel/step/time_causes.h"
#include "costmodel/step/training_cost.h"
#include "presets/json/vocabulary.h"
#include "presets/scenario/recipe_fields.h"

namespace hexaplan::tests {
namespace {

using namespace presets;
using costmodel::Estimate;
using costmodel::Scenario;

std::vector<double> messages_of(const Scenario& scenario, int stages) {
  std::vector<double> numbers;
  for (int stage = 0; stage < stages; ++stage) {
    for (const auto& row : costmodel::count_step(scenario, stage).collectives) {
      numbers.push_back(row.messages);
      numbers.push_back(row.bytes.value());
    }
  }
  return numbers;
}

std::vector<double> memory_of(const Estimate& estimate) {
  std::vector<double> numbers;
  for (const costmodel::StageMemory& stage : estimate.stages) {
    const auto kinds = stage.on_device();
    for (const costmodel::MemoryKind& row : costmodel::kMemoryKinds)
      numbers.push_back(kinds.of(row.kind).value());
    numbers.insert(numbers.end(),
                   {stage.allocated.value(), stage.idle.value(), stage.host.value(), stage.disk.value()});
  }
  return numbers;
}

void plain(costmodel::Recipe& r) {
  r.sequence = 4096, r.global_batch = 256;
}
void half(costmodel::Recipe& r) {
  plain(r);
  r.precision = costmodel::Precision::Fp16;
}
void one_micro_batch(costmodel::Recipe& r) {
  r.sequence = 4096, r.global_batch = 8;
}
void projected(costmodel::Recipe& r) {
  one_micro_batch(r);
  r.optimizer = costmodel::Optimizer::Galore;
}
void in_bases(costmodel::Recipe& r) {
  one_micro_batch(r);
  r.optimizer = costmodel::Optimizer::Soap;
}
void by_roots(costmodel::Recipe& r) {
  one_micro_batch(r);
  r.optimizer = costmodel::Optimizer::Shampoo;
}
void projected_at_random(costmodel::Recipe& r) {
  one_micro_batch(r);
  r.optimizer = costmodel::Optimizer::Apollo;
}
void apart(costmodel::Recipe& r) {
  plain(r);
  r.outer.every = 100;
}
void recomputed_once(costmodel::Recipe& r) {
  one_micro_batch(r);
  r.recompute.mode = costmodel::RecomputeMode::Full;
}
void lora(costmodel::Recipe& r) {
  one_micro_batch(r);
  r.fine_tune = costmodel::FineTune::Lora, r.lora_rank = 16;
}
void qlora(costmodel::Recipe& r) {
  lora(r);
  r.fine_tune = costmodel::FineTune::Qlora;
}
void with_biases(costmodel::Recipe& r) {
  lora(r);
  r.lora_bias = costmodel::TrainedBiases::All;
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
void limited(costmodel::Recipe& r) {
  plain(r);
  r.routing.capacity_factor = 1.25;
}
void budgeted(costmodel::Recipe& r) {
  plain(r);
  r.tokens = 1'000'000'000'000;
}

constexpr Stage kSequence{"llama-3.1-8b", "16x8xH100+ib400", "megatron", "tp4 sp", plain};
constexpr Stage kHalf{"llama-3.1-8b", "16x8xH100+ib400", "megatron", "tp2", half};
constexpr Stage kBlackwell{"llama-3.1-8b", "8xB200", "megatron", "", plain};
constexpr Stage kLimited{"mixtral-8x7b", "8x8xH100+ib400", "megatron", "ep8", limited};
constexpr Stage kAdapters{"llama-3.1-8b", "8xH100", "fsdp2", "", lora};
constexpr Stage kPeft{"qwen2.5-7b", "8xH200", "hf-eager", "", lora};
constexpr Stage kPeftBiases{"qwen2.5-7b", "8xH200", "hf-eager", "", with_biases};
constexpr Stage kTrainer{"llama-3.1-8b", "8xH200", "hf-eager", "", one_micro_batch};
constexpr Stage kProjected{"llama-3.1-8b", "8xH200", "hf-eager", "", projected};
constexpr Stage kProjectedAtRandom{"llama-3.1-8b", "8xH200", "hf-eager", "", projected_at_random};
constexpr Stage kReplicas{"llama-3.1-8b", "8xH200", "ddp", "", one_micro_batch};
constexpr Stage kInBases{"llama-3.1-8b", "8xH200", "ddp", "", in_bases};
constexpr Stage kByRoots{"llama-3.1-8b", "8xH200", "ddp", "", by_roots};
constexpr Stage kApart{"llama-3.1-8b", "2x8xH100+ib400", "fsdp2", "diloco2 fsdp", apart};
constexpr Stage kQuantised{"llama-3.1-8b", "8xH100", "fsdp2", "", qlora};
constexpr Stage kOffloaded{"llama-3.1-8b", "16x8xH100+ib400", "deepspeed", "zero3", offloaded};
constexpr Stage kOffloadedActivations{"llama-3.1-8b", "16x8xH100+ib400", "deepspeed", "zero3",
                                      offloaded_activations};
constexpr Stage kOffloadable{"llama-3.1-8b", "16x8xH100+ib400", "deepspeed", "zero3", plain};
constexpr Stage kGatheredByModule{"llama-3.1-8b", "8xH100", "deepspeed", "zero3", recomputed_once};
constexpr Stage kRecomputed{"llama-3.1-8b", "16x8xH100+ib400", "megatron", "", recomputed};

template <class E, std::size_t N>
std::vector<std::string> names(const Named<E> (&table)[N], std::string_view prefix = {}) {
  std::vector<std::string> words;
  for (const Named<E>& row : table) words.push_back(fmt::format("{}{}", prefix, row.name));
  return words;
}
template <class E, std::size_t N>
std::vector<std::string> names_but(const Named<E> (&table)[N], std::string_view one) {
  std::vector<std::string> words = names(table);
  std::erase(words, one);
  return words;
}

/// Those that project gradients, that precondition them, or the others.
enum class Taken : std::uint8_t { ByElement, InSubspaces, Preconditioned };
std::vector<std::string> names_of_optimizers(Taken taken) {
  std::vector<std::string> words;
  for (const auto& row : kOptimizerNames) {
    const costmodel::OptimizerTraits& traits = costmodel::traits_of(row.value);
    const Taken by = traits.projects()        ? Taken::InSubspaces
                     : traits.preconditions() ? Taken::Preconditioned
                                              : Taken::ByElement;
    if (by == taken) words.emplace_back(row.name);
  }
  return words;
}

const RecipeTurn kRecipeTurns[] = {
    {"sequence", kDense, {"2048", "8k"}},
    {"micro_batch", kDense, {"2"}},
    {"global_batch", kDense, {"512"}},
    {"padding", kTrainer, {"longest"}},
    {"precision", kBlackwell, {"tf32"}, "fp32"},
    {"precision", kBlackwell, names(kPrecisionNames)},
    {"parameter_dtype", kDense, names_but(kStateDTypeNames, "fp16"), "fp32"},
    {"parameter_dtype", kHalf, {"fp16"}, "fp32"},
    {"parameter_dtype", kDense, {"fp32"}},
    {"gradient_dtype", kDense, names_but(kStateDTypeNames, "fp16"), "fp32"},
    {"gradient_dtype", kHalf, {"fp16"}, "fp32"},
    {"gradient_dtype", kDense, {"fp32"}, "bf16"},
    {"moment_dtype", kDense, names(kStateDTypeNames), "fp32"},
    {"optimizer", kDense, names_of_optimizers(Taken::ByElement)},
    {"optimizer", kTrainer, names_of_optimizers(Taken::InSubspaces)},
    {"optimizer", kReplicas, names_of_optimizers(Taken::Preconditioned)},
    {"projection_rank", kProjected, {"32", "512"}},
    {"projection_interval", kProjected, {"50"}},
    {"projection_interval", kProjectedAtRandom, {"50"}},
    {"precondition_frequency", kInBases, {"50"}},
    {"precondition_frequency", kByRoots, {"50"}},
    {"max_precondition_dim", kInBases, {"1024"}},
    {"max_precondition_dim", kByRoots, {"1024"}},
    {"outer_steps", kApart, {"50"}},
    {"outer_dtype", kApart, names_but(kOuterDTypeNames, "fp32")},
    {"outer_dtype", kApart, {"fp32"}, "bf16"},
    {"outer_states", kApart, names_but(kOuterStatesNames, "gpu")},
    {"outer_states", kApart, {"gpu"}, "host"},
    {"optimizer_in_backward", kOneMicroBatch, {"true", "false"}},
    {"recompute", kDense, {"layers=2"}},
    {"recompute", kDense, names(kRecomputeNames)},
    {"recompute", kLatentLite, names(kRecomputeModuleNames, "modules=")},
    {"attention", kDense, {"flash"}, "unfused"},
    {"attention", kDense, names_but(kAttentionNames, "flash")},
    {"cross_entropy", kDense, names(kCrossEntropyNames), "chunked"},
    {"cross_entropy", kDense, {"chunked"}},
    {"fused_norm", kDense, {"true", "false"}},
    {"dropout", kDense, {"0.1"}},
    {"fine_tune", kOneMicroBatch, names_but(kFineTuneNames, "lora-8bit"), "lora"},
    {"fine_tune", kTrainer, {"lora-8bit"}, "lora"},
    {"fine_tune", kOneMicroBatch, {"lora"}},
    {"lora_rank", kAdapters, {"8", "64"}},
    {"lora_alpha", kAdapters, {"8", "64"}},
    {"lora_targets", kAdapters, names(kAdapterTargetNames)},
    {"lora_bias", kPeft, {"all", "lora-only"}},
    {"lora_bias", kPeftBiases, {"none"}},
    {"saved_modules", kPeft, names(kSavedModulesNames), "both"},
    {"saved_modules", kPeft, {"both"}},
    {"dora", kAdapters, {"true", "false"}},
    {"double_quantization", kQuantised, {"true", "false"}},
    {"trainable_parameters", kAdapters, {"1000000"}},
    {"offload", kOffloadable, names(kOffloadNames)},
    {"offload_device", kOffloaded, names(kOffloadDeviceNames)},
    {"offload_fraction", kOffloaded, {"0.5"}},
    {"offload_layers", kOffloadedActivations, {"8"}},
    {"reduce_bucket", kGatheredByModule, {"50M", "2B"}},
    {"prefetch_bucket", kGatheredByModule, {"0", "500M"}},
    {"live_parameters", kGatheredByModule, {"1M"}},
    {"reuse_distance", kGatheredByModule, {"0", "10B"}},
    {"persistence_threshold", kGatheredByModule, {"0", "100M"}},
    {"sub_group_size", kGatheredByModule, {"100M"}},
    {"routing_imbalance", kExperts, {"1.5"}},
    {"capacity_factor", kExperts, {"0.5"}},
    {"pad_to_capacity", kLimited, {"true"}},
    {"tp_comm_overlap", kSequence, {"true"}},
    {"tp_backward_overlap", kSequence, {"false"}},
    {"pipeline_overlap", kPiped, {"true"}},
    {"dp_overlap", kDense, {"false"}},
    {"reduce_gradients", kHybrid, {"once", "replicas-once"}},
    {"ep_overlap", kExperts, {"true", "false"}},
    {"compile", kTrainer, {"true"}},
    {"cuda_graphs", kExperts, {"partial", "full_iteration"}},
    {"moe_dispatcher", kExperts, {"alltoall", "allgather"}},
    {"moe_dispatcher", kExperts, {"deepep", "hybridep"}, "alltoall"},
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

const LayoutTurn kLayoutTurns[] = {
    {"dp", kDense, "dp64 tp2", "dp32 tp4"},
    {"diloco", kApart, "fsdp", "diloco2 fsdp"},
    {"tp", kDense, "", "tp2"},
    {"cp", kDense, "", "cp2"},
    {"pp", kDense, "", "pp2"},
    {"vpp", kPiped, "pp4", "pp4 vpp2"},
    {"ep", kExperts, "", "ep8"},
    {"etp", kExperts, "tp2 sp ep4", "tp2 sp ep4 etp1"},
    {"zero", kSharded, "zero0", "zero1"},
    {"zero", kSharded, "zero1", "zero2"},
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

}  // namespace

const Stage kDense{"llama-3.1-8b", "16x8xH100+ib400", "megatron", "tp2", plain};
const Stage kPiped{"llama-3.1-8b", "16x8xH100+ib400", "megatron", "pp4", plain};
const Stage kOneMicroBatch{"llama-3.1-8b", "8xH100", "fsdp2", "", one_micro_batch};
const Stage kExperts{"mixtral-8x7b", "8x8xH100+ib400", "megatron", "ep8", plain};
const Stage kLatentLite{"deepseek-v2-lite", "8x8xH100+ib400", "megatron", "ep8", plain};
const Stage kLatent{"deepseek-v3", "64x8xH100+ib400", "megatron", "pp4 ep8", plain};
const Stage kSharded{"llama-3.1-8b", "16x8xH100+ib400", "deepspeed", "", plain};
const Stage kHybrid{"llama-3.1-8b", "16x8xH100+ib400", "fsdp2", "hsdp8", plain};
const Stage kBudgeted{"llama-3.1-8b", "16x8xH100+ib400", "megatron", "tp2", budgeted};

Answer answer_to(const CalibratedScenario& found) {
  const Estimate estimate = costmodel::estimate_step(found.scenario, found.calibration);
  Answer answer{.scenario = found.scenario, .rejected = {}, .numbers = {}};
  if (estimate.stages.empty()) {
    answer.rejected = std::get<costmodel::Rejected>(estimate.verdict);
    return answer;
  }
  AnswerNumbers& n = answer.numbers;
  n.memory = memory_of(estimate);
  n.messages = messages_of(found.scenario, static_cast<int>(estimate.stages.size()));
  for (const costmodel::TimeCause& cause : costmodel::kTimeCauses)
    n.time.push_back((estimate.time.*cause.member).value());
  if (found.scenario.recipe.tokens > 0) {
    const auto cost = costmodel::training_cost(found.scenario, estimate);
    n.bill = {cost.wall.value(), cost.dollars, cost.kilowatt_hours,
              static_cast<double>(cost.goodput.enough_spares)};
  }
  return answer;
}

Answer answer_to(const ScenarioRequest& request) {
  return answer_to(resolve_calibrated(request));
}

std::string silence(const ScenarioRequest& from, const ScenarioRequest& to) {
  const Answer before = answer_to(from), after = answer_to(to);
  if (before.rejected) return "the scenario cannot run: " + before.rejected->reason;
  if (after.rejected || before.numbers != after.numbers) return {};
  return newly_not_modelled(before.scenario, after.scenario).empty() ? "nothing moves" : "";
}

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

std::span<const RecipeTurn> recipe_turns() {
  return kRecipeTurns;
}

ScenarioRequest before(const RecipeTurn& turn) {
  ScenarioRequest request = request_of(turn.stage);
  if (!turn.from.empty()) set_recipe_field(request.recipe, turn.key, turn.key, turn.from);
  return request;
}

ScenarioRequest with(const RecipeTurn& turn, const std::string& value) {
  ScenarioRequest request = before(turn);
  set_recipe_field(request.recipe, turn.key, turn.key, value);
  return request;
}

std::span<const LayoutTurn> layout_turns() {
  return kLayoutTurns;
}

}  // namespace hexaplan::tests
