#include "presets/launch/trainer_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/spec/optimizer_traits.h"
#include "costmodel/spec/shard_sizes.h"
#include "costmodel/step/execution.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/launch/launch_readers.h"
#include "presets/launch/launch_settle.h"
#include "presets/launch/launch_words.h"
#include "presets/scenario/scenario_request.h"
#include "presets/weights/weight_names.h"

namespace hexaplan::presets {

using costmodel::AdapterTargets;
using costmodel::DType;
using costmodel::FineTune;
using costmodel::Precision;
using costmodel::RecomputeMode;
using costmodel::Scenario;

namespace {

using R = LaunchReading&;

constexpr std::string_view kAttentionModules[] = {"q_proj", "k_proj", "v_proj", "o_proj"};
constexpr std::string_view kQueryKeyValue[] = {"q_proj", "k_proj", "v_proj"};
constexpr std::string_view kQueryValue[] = {"q_proj", "v_proj"};
constexpr std::string_view kMlpModules[] = {"gate_proj", "up_proj", "down_proj"};
constexpr AdaptedModules kAdaptedModules[] = {{AdapterTargets::Attention, kAttentionModules},
                                              {AdapterTargets::QueryKeyValue, kQueryKeyValue},
                                              {AdapterTargets::QueryValue, kQueryValue},
                                              {AdapterTargets::Mlp, kMlpModules}};

/// The layers that the files name; of other sets the smallest that has all of them.
AdapterTargets targets_of(R r) {
  const std::vector<std::string>& names = r.trainer.targets;
  const auto named = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (names.empty()) {
    r.notes.emplace_back(
        "adapters stand beside q_proj and v_proj, as PEFT has it for Llama's kin, where no file "
        "names modules");
    return AdapterTargets::QueryValue;
  }
  if (named("all-linear") || named("all")) return AdapterTargets::AllLinear;
  for (const AdaptedModules& row : kAdaptedModules) {
    if (names.size() == row.modules.size() && std::all_of(row.modules.begin(), row.modules.end(), named))
      return row.targets;
  }
  const auto holds = [&](std::span<const std::string_view> modules) {
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return std::find(modules.begin(), modules.end(), name) != modules.end();
    });
  };
  const AdapterTargets wider = holds(kAttentionModules) ? AdapterTargets::Attention
                               : holds(kMlpModules)     ? AdapterTargets::Mlp
                                                        : AdapterTargets::AllLinear;
  const bool all_seven = names.size() == 7 &&
                         std::all_of(std::begin(kAttentionModules), std::end(kAttentionModules), named) &&
                         std::all_of(std::begin(kMlpModules), std::end(kMlpModules), named);
  if (!all_seven)
    r.notes.push_back(fmt::format("adapters beside these {} modules are planned as beside {}", names.size(),
                                  wider == AdapterTargets::Attention ? "all of the attention's"
                                  : wider == AdapterTargets::Mlp     ? "all of the MLP's"
                                                                     : "every linear layer"));
  return wider;
}

constexpr std::string_view kWordTable = "embedding.word.weight", kOutputLayer = "head.weight";

/// What trains as a whole beside word table and output layer is not planned.
costmodel::SavedModules saved_by(R r) {
  using costmodel::SavedModules;
  bool table = false, head = false;
  for (const std::string& name : r.trainer.saved) {
    const SavedModules module = saved_module_named(name);
    if (module == SavedModules::None)
      r.notes.push_back(fmt::format("module {} that trains beside the adapters is not planned", name));
    table = table || module == SavedModules::Embedding;
    head = head || module == SavedModules::Head;
  }
  return table ? (head ? SavedModules::Both : SavedModules::Embedding)
               : (head ? SavedModules::Head : SavedModules::None);
}

void settle_adapters(R r) {
  costmodel::Recipe& recipe = r.plan.recipe;
  TrainerReading& t = r.trainer;
  recipe.fine_tune = !t.adapters    ? FineTune::Full
                     : t.four_bits  ? FineTune::Qlora
                     : t.eight_bits ? FineTune::Lora8bit
                                    : FineTune::Lora;
  if (!t.adapters) {
    if (t.four_bits || t.eight_bits)
      r.notes.emplace_back("weights in 4 or 8 bits are not trained without adapters");
    return;
  }
  recipe.lora_rank = t.rank;
  // Twice the rank is what a plan without a word has.
  if (t.alpha != 2 * t.rank) recipe.lora_alpha = t.alpha;
  recipe.double_quantization = t.four_bits && t.double_quantization;
  recipe.lora_targets = targets_of(r);
  recipe.dora = t.dora;
  recipe.saved_modules = saved_by(r);
  recipe.lora_bias = t.bias;
  if (t.dropout > 0)
    r.notes.emplace_back("dropout in front of the adapters, whose masks are kept, is not planned");
  const bool in_16_bits = costmodel::activation_dtype(recipe.precision) != DType::Fp32;
  // DeepSpeed casts the whole model to the type that it computes in.
  const bool in_fp32 = t.weights == DType::Fp32 && !t.deepspeed;
  if (recipe.fine_tune == FineTune::Lora && in_fp32 && in_16_bits) recipe.parameter_dtype = DType::Fp32;
}

/// Where no version is said, accelerate means the first (huggingface/accelerate@v1.15.0
/// src/accelerate/commands/launch.py, --fsdp_version).
void take_fsdp_profile(R r) {
  const TrainerReading& t = r.trainer;
  const bool first = t.fsdp_version == 1 || (t.fsdp_version == 0 && t.accelerate_fsdp);
  r.plan.framework = look_up_framework(first ? "fsdp1" : "hf-fsdp2");
  if (first)
    r.notes.push_back(fmt::format(
        "{}: no profile has the Trainer's layers on FSDP1; fsdp1 is planned, whose layers and kernels are "
        "llm-foundry's",
        t.fsdp_version == 1 ? "FSDP1 shards" : "accelerate shards with FSDP1 where no fsdp_version is said"));
}

/// The profile of what the files shard with.
void settle_profile(R r) {
  costmodel::Layout& layout = r.plan.layout;
  TrainerReading& t = r.trainer;
  if (t.fsdp && !t.whole) {
    layout.sharding.stage = t.reshard ? 3 : 2;
    take_fsdp_profile(r);
    if (t.offload) add_offload(r, costmodel::kOffloadParameters);
    const std::int64_t group = r.shards > 0 ? r.shards : t.hybrid ? r.gpus_per_node : 0;
    if (t.hybrid && group == 0)
      r.notes.emplace_back(
          "groups of hybrid sharding are nodes, and the files do not say the GPUs of one: all are planned as "
          "one "
          "group");
    if (group > 0 && group < static_cast<std::int64_t>(layout.dp) * layout.cp)
      layout.sharding.group = static_cast<int>(group);
    if (r.accumulation > 1 && !t.reduces_every_micro_batch) {
      r.plan.recipe.execution.reduction = costmodel::GradientReduction::Once;
      r.notes.emplace_back(
          "under FSDP the Trainer keeps whole gradients until the last micro-batch (no_sync); "
          "accelerator_config.gradient_accumulation_kwargs.sync_each_batch: true reduces them in every one");
    }
  } else if (t.deepspeed) {
    r.plan.framework = look_up_framework("hf-deepspeed");
    take_deepspeed_overlap(r);
    fill_automatic_sizes(r);
    take_zero_sizes(r);
  }
}

/// Defaults: hiyouga/LLaMA-Factory@ff6d4d1 src/llamafactory/hparams/finetuning_args.py;
/// huggingface/transformers@v5.24.0 src/transformers/trainer_optimizer.py.
void settle_subspaces(R r) {
  using costmodel::Optimizer;
  constexpr std::int64_t kTrainerRank = 128, kFactoryRank = 16, kInterval = 200;
  const SubspaceReading& said = r.trainer.subspaces;
  costmodel::Recipe& recipe = r.plan.recipe;
  Optimizer& optimizer = recipe.optimizer;
  if (said.galore) optimizer = optimizer == Optimizer::AdamW8bit ? Optimizer::Galore8bit : Optimizer::Galore;
  if (said.apollo) optimizer = Optimizer::Apollo;
  if (optimizer == Optimizer::Apollo && said.by_matrix) optimizer = Optimizer::ApolloMini;
  const costmodel::OptimizerTraits& usual = costmodel::traits_of(optimizer);
  if (!usual.projects()) return;
  const bool factory = said.galore || said.apollo;
  const std::int64_t rank = said.rank.value_or(factory ? kFactoryRank : kTrainerRank);
  const std::int64_t interval = said.interval.value_or(kInterval);
  if (rank != usual.rank) recipe.projection_rank = rank;
  if (interval != usual.interval) recipe.projection_interval = interval;
  recipe.optimizer_in_backward = said.layerwise;
}

void settle_trainer(R r) {
  costmodel::Recipe& recipe = r.plan.recipe;
  TrainerReading& t = r.trainer;
  recipe.precision = r.brain  ? Precision::Bf16
                     : r.half ? Precision::Fp16
                     : t.tf32 ? Precision::Tf32
                              : Precision::Fp32;
  if (r.fp8) recipe.precision = Precision::Fp8;
  if (t.checkpoints.value_or(false)) recipe.recompute.mode = RecomputeMode::Full;
  if (t.chunked_loss) recipe.cross_entropy = costmodel::CrossEntropy::Chunked;
  settle_profile(r);
  if (recipe.gradient_dtype) take_gradient_type(r, *recipe.gradient_dtype);
  settle_adapters(r);
  settle_subspaces(r);
}

/// Weights that are trained in 16 bits: a plain trainer's, and those of FSDP2 unless it computes in mixed
/// precision, for which it holds an fp32 copy. DeepSpeed always holds one.
void train_in_16_bits(R r, bool mixed = true) {
  const std::string_view framework = without_version(r.plan.framework.name);
  const bool keeps = framework == "hf-eager" || (framework == "hf-fsdp2" && !mixed);
  if (!r.trainer.adapters && keeps && r.plan.recipe.precision == Precision::Bf16)
    r.plan.recipe.parameter_dtype = DType::Bf16;
}

}  // namespace

std::span<const AdaptedModules> adapted_modules() {
  return kAdaptedModules;
}

std::vector<std::string> module_names_in(const ValueReader& value) {
  std::vector<std::string> names;
  const auto take = [&](const std::string& text) {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      std::string name = text.substr(begin, end - begin);
      std::erase(name, ' ');
      if (!name.empty()) names.push_back(std::move(name));
      begin = end + 1;
    }
  };
  if (value.json().is_null()) return names;
  if (value.json().get_if<JsonArray>() == nullptr) {
    take(value.text());
  } else {
    for (const ValueReader& element : value.elements()) take(element.text());
  }
  return names;
}

std::vector<std::string> saved_module_names(const Scenario& s) {
  std::vector<std::string> names;
  if (!trains_low_rank(s.recipe)) return names;
  if (trains_embedding(s.recipe)) names.emplace_back(module_name(s.model.family, kWordTable));
  if (trains_head(s.recipe)) names.emplace_back(module_name(s.model.family, kOutputLayer));
  if (std::find(names.begin(), names.end(), "") != names.end()) names.clear();
  return names;
}

costmodel::SavedModules saved_module_named(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return is_module_name(last, kWordTable)     ? costmodel::SavedModules::Embedding
         : is_module_name(last, kOutputLayer) ? costmodel::SavedModules::Head
                                              : costmodel::SavedModules::None;
}

void take_deepspeed_overlap(R r) {
  costmodel::Scenario& plan = r.plan;
  const int stage = plan.layout.sharding.stage;
  const bool beside = stage > 0 && r.overlap_comm.value_or(stage == 3);
  if (beside != costmodel::overlaps_gradients(plan)) plan.recipe.execution.data_overlap = beside;
}

// huggingface/transformers@v5.23.0 src/transformers/integrations/deepspeed.py, trainer_config_finalize.
void fill_automatic_sizes(R r) {
  struct Automatic {
    std::string_view key;
    std::optional<std::int64_t> costmodel::ZeroSizes::*size;
    double (*value)(double hidden);
    int stage;  // from which on the Trainer fills it
  };
  using costmodel::ZeroSizes;
  constexpr Automatic kAutomatic[] = {
      {"zero_optimization.reduce_bucket_size", &ZeroSizes::reduce_bucket, [](double h) { return h * h; }, 0},
      {"zero_optimization.stage3_prefetch_bucket_size", &ZeroSizes::prefetch,
       [](double h) { return 0.9 * h * h; }, 3},
      {"zero_optimization.stage3_param_persistence_threshold", &ZeroSizes::persistent,
       [](double h) { return 10 * h; }, 3}};
  const std::int64_t hidden = r.named_hidden > 0 ? r.named_hidden : r.plan.model.hidden;
  std::vector<std::string_view> unknown;
  for (const Automatic& row : kAutomatic) {
    if (!left_to_trainer(r, row.key) || r.plan.layout.sharding.stage < row.stage) continue;
    if (hidden > 0) {
      r.plan.recipe.sizes.*row.size = static_cast<std::int64_t>(row.value(static_cast<double>(hidden)));
    } else {
      unknown.push_back(row.key);
    }
    std::erase(r.left_to_trainer, row.key);
  }
  if (!unknown.empty())
    r.notes.push_back(
        fmt::format("{}: the Trainer fills in \"auto\" from the model's hidden size, which the files do "
                    "not say: add --model; DeepSpeed's own defaults are planned",
                    fmt::join(unknown, ", ")));
}

void take_zero_sizes(R r) {
  costmodel::ZeroSizes& sizes = r.plan.recipe.sizes;
  const costmodel::FrameworkProfile& f = r.plan.framework;
  for (const costmodel::SizePlace& place : costmodel::kSizePlaces) {
    std::optional<std::int64_t>& said = sizes.*place.said;
    if (said && static_cast<double>(*said) == f.*place.usual) said.reset();
  }
  const int stage = r.plan.layout.sharding.stage;
  if (stage < 3) sizes = {.reduce_bucket = sizes.reduce_bucket};
  if (stage < 1 || !f.abilities.zero_sizes) sizes = {};
}

bool by_deepspeed(const Scenario& s) {
  return is_version_of(s.framework, "deepspeed") || is_version_of(s.framework, "hf-deepspeed");
}
bool shards_by_fsdp(const Scenario& s) {
  return !by_deepspeed(s) && s.layout.sharding.stage >= 2;
}
bool leaves_optimizer_to_deepspeed(const Scenario& s) {
  return by_deepspeed(s) && s.recipe.optimizer == costmodel::Optimizer::AdamW;
}
bool trains_pure_bf16(const Scenario& s) {
  const bool keeps = is_version_of(s.framework, "hf-eager") || is_version_of(s.framework, "hf-fsdp2");
  return keeps && !trains_adapters(s.recipe) && s.recipe.precision == Precision::Bf16 &&
         s.recipe.parameter_dtype == DType::Bf16;
}
DType loaded_weights(const Scenario& s) {
  const DType compute = costmodel::activation_dtype(s.recipe.precision);
  if (by_deepspeed(s)) return compute;
  if (trains_adapters(s.recipe)) return s.recipe.parameter_dtype.value_or(compute);
  return s.recipe.parameter_dtype.value_or(DType::Fp32);
}

void read_fsdp(const ValueReader& v, R r) {
  TrainerReading& t = r.trainer;
  const auto take = [&](const std::string& words) {
    const auto says = [&](std::string_view word) { return words.find(word) != std::string::npos; };
    t.fsdp = t.fsdp || says("shard");
    t.whole = t.whole || says("no_shard");
    if (says("shard_grad_op") || says("zero2")) t.reshard = false;
    t.hybrid = t.hybrid || says("hybrid_shard");
    t.offload = t.offload || says("offload");
  };
  if (const auto* flag = v.json().get_if<bool>()) {
    t.fsdp = *flag;
  } else if (v.json().get_if<JsonArray>() != nullptr) {
    for (const ValueReader& element : v.elements()) take(element.text());
  } else {
    take(v.text());
  }
}

void read_fsdp_version(const ValueReader& v, R r) {
  r.trainer.fsdp = true;
  r.trainer.fsdp_version = v.small_integer({1, 2});
}

void read_reshard(const ValueReader& v, R r) {
  if (const auto* flag = v.json().get_if<bool>()) {
    r.trainer.reshard = *flag;
    return;
  }
  struct Strategy {
    bool reshard, hybrid, whole;
    bool operator==(const Strategy&) const = default;
  };
  // By name or, as torch.distributed.fsdp.ShardingStrategy counts them, by number.
  constexpr FrameworkWord<Strategy> kStrategies[] = {{{true, false, false}, "full_shard"},
                                                     {{false, false, false}, "shard_grad_op"},
                                                     {{true, false, true}, "no_shard"},
                                                     {{true, true, false}, "hybrid_shard"},
                                                     {{false, true, false}, "hybrid_shard_zero2"},
                                                     {{true, false, false}, "FULL_SHARD"},
                                                     {{false, false, false}, "SHARD_GRAD_OP"},
                                                     {{true, false, true}, "NO_SHARD"},
                                                     {{true, true, false}, "HYBRID_SHARD"},
                                                     {{false, true, false}, "_HYBRID_SHARD_ZERO2"},
                                                     {{true, false, false}, "true"},
                                                     {{false, false, false}, "false"}};
  const auto* number = v.json().get_if<std::int64_t>();
  const Strategy strategy =
      number == nullptr ? meaning_of(kStrategies, v) : kStrategies[v.small_integer({1, 5}) - 1].value;
  r.trainer.reshard = strategy.reshard;
  r.trainer.hybrid = r.trainer.hybrid || strategy.hybrid;
  r.trainer.whole = r.trainer.whole || strategy.whole;
}

void read_chunked_loss(const ValueReader& v, R r) {
  r.trainer.chunked_loss = r.trainer.chunked_loss || v.boolean();
}

void begin_trl(R r) {
  r.plan.recipe.micro_batch = 8;  // TrainingArguments
  r.plan.recipe.sequence = 1024;
}
/// Its model loader quantises scales again unless bnb_config_kwargs says otherwise
/// (axolotl-ai-cloud/axolotl src/axolotl/loaders/model.py).
void begin_axolotl(R r) {
  r.trainer.double_quantization = true;
  r.brain = true;
}
void begin_llamafactory(R r) {
  r.plan.recipe.micro_batch = 8;
  r.plan.recipe.sequence = 2048;
  r.trainer.adapters = true;
  r.trainer.rank = 8;
  r.trainer.double_quantization = true;
  r.trainer.targets = {"all"};
  r.trainer.checkpoints = true;
}

/// SFTConfig computes in bf16 and checkpoints unless it is told otherwise, and its loss in chunks;
/// ModelConfig loads in fp32 and has adapters of rank 16 and alpha 32. A script of one's own on the Trainer
/// alone does none of it.
void settle_trl(R r) {
  TrainerReading& t = r.trainer;
  if (t.trl) {
    if (!r.brain_said) r.brain = !r.half;
    if (!t.checkpoints) t.checkpoints = true;
    if (!t.weights) t.weights = DType::Fp32;
    if (t.adapters && t.rank == 0) t.rank = 16;
    if (t.adapters && t.alpha == 0) t.alpha = 32;
    if (!t.chunked_loss && !t.other_loss) {
      t.chunked_loss = true;
      r.notes.emplace_back(
          "the loss in chunks, as TRL 1.16 computes it: releases that keep all logits are --cross-entropy "
          "default");
    }
  }
  // Weights in bf16 compute in bf16 where nothing else is said.
  const bool mixed = r.brain || r.half || t.weights != DType::Bf16;
  r.brain = r.brain || !mixed;
  settle_trainer(r);
  if (t.weights == DType::Bf16) train_in_16_bits(r, mixed);
}
/// It loads the model in the type that it computes in (axolotl/utils/config/__init__.py).
void settle_axolotl(R r) {
  if (r.half) r.brain = false;
  TrainerReading& t = r.trainer;
  t.chunked_loss = t.chunked_loss || t.cut_cross_entropy.value_or(false);
  settle_trainer(r);
  train_in_16_bits(r);
}
void settle_llamafactory(R r) {
  const bool mixed = r.brain || r.half;
  r.brain = r.brain || (r.trainer.pure_bf16 && !mixed);
  settle_trainer(r);
  if (r.trainer.pure_bf16) train_in_16_bits(r, mixed);
}

}  // namespace hexaplan::presets
