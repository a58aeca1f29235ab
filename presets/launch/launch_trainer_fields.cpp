// Settings of the trainers above Hugging Face's Trainer; their sources stand in launch_formats().
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "costmodel/memory/saved_rule.h"
#include "costmodel/parameters/adapters.h"
#include "costmodel/spec/optimizer_traits.h"
#include "costmodel/units/parse_units.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/launch/launch_fields.h"
#include "presets/launch/launch_readers.h"
#include "presets/launch/launch_reading.h"
#include "presets/launch/launch_words.h"
#include "presets/launch/trainer_plan.h"
#include "presets/models/hub_models.h"

namespace hexaplan::presets {

using costmodel::AdapterTargets;
using costmodel::DType;
using costmodel::FineTune;
using costmodel::Optimizer;
using costmodel::Precision;
using costmodel::RecomputeMode;
using costmodel::Scenario;

namespace {

using S = const Scenario&;
using V = const ValueReader&;
using R = LaunchReading&;

/// By Launcher, of a setting that the three trainers may have.
constexpr std::array<std::string_view, kLaunchers> trainers(std::string_view trl, std::string_view axolotl,
                                                            std::string_view llamafactory) {
  return {kNone, kNone, kNone, kNone, kNone, kNone, trl, axolotl, llamafactory};
}
constexpr std::array<std::string_view, kLaunchers> all_trainers(std::string_view key) {
  return trainers(key, key, key);
}

// --- what is trained ---

bool trains_lora(S s) {
  return trains_low_rank(s.recipe);
}
bool in_4_bits(S s) {
  return s.recipe.fine_tune == FineTune::Qlora;
}
bool in_8_bits(S s) {
  return s.recipe.fine_tune == FineTune::Lora8bit;
}
JsonValue rank(S s) {
  return only_if(trains_lora(s), adapter_rank(s));
}
JsonArray names_of_targets(AdapterTargets targets) {
  JsonArray names;
  for (const AdaptedModules& row : adapted_modules()) {
    if (row.targets != targets) continue;
    for (const std::string_view module : row.modules) names.emplace_back(std::string{module});
  }
  return names;
}
bool everywhere(S s) {
  return s.recipe.lora_targets == AdapterTargets::AllLinear;
}
/// PEFT's word for every linear layer stands alone in TRL's list.
JsonValue trl_targets(S s) {
  if (!trains_lora(s)) return {};
  return everywhere(s) ? JsonValue{JsonArray{"all-linear"}}
                       : JsonValue{names_of_targets(s.recipe.lora_targets)};
}
JsonValue axolotl_targets(S s) {
  return trains_lora(s) && !everywhere(s) ? JsonValue{names_of_targets(s.recipe.lora_targets)} : JsonValue{};
}
JsonValue llamafactory_targets(S s) {
  if (!trains_lora(s)) return {};
  if (everywhere(s)) return "all";
  std::string text;
  for (const JsonValue& name : names_of_targets(s.recipe.lora_targets))
    text += (text.empty() ? "" : ",") + *name.get_if<std::string>();
  return text;
}
void read_targets(V v, R r) {
  r.trainer.targets = module_names_in(v);
}
void read_saved(V v, R r) {
  r.trainer.saved = module_names_in(v);
}
JsonValue saved_modules(S s) {
  JsonArray names;
  for (const std::string& name : saved_module_names(s)) names.emplace_back(name);
  return names.empty() ? JsonValue{} : JsonValue{names};
}
JsonValue llamafactory_saved(S s) {
  const std::vector<std::string> names = saved_module_names(s);
  return only_if(!names.empty(), fmt::format("{}", fmt::join(names, ",")));
}

// --- types ---

bool is(S s, Precision precision) {
  return s.recipe.precision == precision;
}
JsonValue weights_type(S s) {
  return word_of(kTorchTypes, loaded_weights(s));
}

// --- memory against time ---

constexpr FrameworkWord<Optimizer> kTrainerOptimizers[] = {
    {Optimizer::AdamW, "adamw_torch_fused"},
    {Optimizer::AdamW, "adamw_torch"},
    {Optimizer::AdamW, "adamw_hf"},
    {Optimizer::AdamW, "paged_adamw_32bit"},
    {Optimizer::AdamW8bit, "adamw_8bit"},
    {Optimizer::AdamW8bit, "adamw_bnb_8bit"},
    {Optimizer::AdamW8bit, "adamw_torch_8bit"},
    {Optimizer::AdamW8bit, "paged_adamw_8bit"},
    {Optimizer::AdamW8bit, "ao_adamw_8bit"},
    {Optimizer::Adafactor, "adafactor"},
    {Optimizer::Lion, "lion_32bit"},
    {Optimizer::Lion, "paged_lion_32bit"},
    {Optimizer::Sgd, "sgd"},
    {Optimizer::Galore, "galore_adamw"},
    {Optimizer::Galore, "galore_adamw_layerwise"},
    {Optimizer::Galore8bit, "galore_adamw_8bit"},
    {Optimizer::Galore8bit, "galore_adamw_8bit_layerwise"},
    {Optimizer::Apollo, "apollo_adamw"},
    {Optimizer::Apollo, "apollo_adamw_layerwise"},
    {Optimizer::ApolloMini, "apollo_adamw"}};
constexpr std::string_view kLayerwise = "_layerwise";

bool projects(S s) {
  return costmodel::traits_of(s.recipe.optimizer).projects();
}
bool projects_layerwise(S s) {
  return projects(s) && s.recipe.optimizer_in_backward;
}
bool has_apollo(S s) {
  return projects(s) && costmodel::traits_of(s.recipe.optimizer).scales_gradients();
}
bool has_galore(S s) {
  return projects(s) && !has_apollo(s);
}
bool has_apollo_mini(S s) {
  return s.recipe.optimizer == Optimizer::ApolloMini;
}
std::int64_t asked_rank(S s) {
  return costmodel::asked_projection_rank(s.recipe);
}
std::int64_t asked_interval(S s) {
  return costmodel::projection_interval(s.recipe);
}
/// Of APOLLO and GaLore the trainers have the usual one as their default.
std::int64_t mini_scale() {
  return std::llround(costmodel::traits_of(Optimizer::ApolloMini).step_scale);
}

JsonValue optimizer(S s) {
  // bitsandbytes' blocks do not fit the shards of FSDP.
  if (s.recipe.optimizer == Optimizer::AdamW8bit && shards_by_fsdp(s)) return "adamw_torch_8bit";
  const JsonValue word = word_of(kTrainerOptimizers, s.recipe.optimizer);
  return projects_layerwise(s) ? JsonValue{*word.get_if<std::string>() + std::string{kLayerwise}} : word;
}
/// LLaMA-Factory makes them of the optimizer's name and a switch (src/llamafactory/train/trainer_utils.py
/// _create_galore_optimizer, _create_apollo_optimizer).
JsonValue llamafactory_optimizer(S s) {
  if (!projects(s)) return optimizer(s);
  return s.recipe.optimizer == Optimizer::Galore8bit ? "adamw_8bit" : "adamw_torch";
}
/// optim_args of GaLore and APOLLO: huggingface/transformers@v5.24.0
/// src/transformers/trainer_optimizer.py.
JsonValue subspace_args(S s) {
  if (!projects(s)) return {};
  std::string text =
      "rank=" + std::to_string(asked_rank(s)) + ",update_proj_gap=" + std::to_string(asked_interval(s));
  if (has_apollo_mini(s)) text += ",scale_type=tensor,scale=" + std::to_string(mini_scale());
  return text;
}
/// Linear layers of numbered blocks: all but the output layer.
constexpr const char* kBlocksOfLayers = R"(.*\.\d+\..*)";

void read_subspace_args(V v, R r) {
  std::string text = v.text();
  std::erase(text, ' ');
  SubspaceReading& to = r.trainer.subspaces;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string name = part.substr(0, equals), value = part.substr(std::min(equals + 1, part.size()));
    if (name == "rank") to.rank = costmodel::parse_count(value);
    if (name == "update_proj_gap") to.interval = costmodel::parse_count(value);
    if (name == "scale_type") to.by_matrix = value == "tensor";
    begin = end + 1;
  }
}
void read_subspace_targets(V v, R r) {
  const auto* text = v.json().get_if<std::string>();
  if (v.json() == JsonValue{kBlocksOfLayers} || v.json() == JsonValue{JsonArray{kBlocksOfLayers}}) return;
  const bool all = text != nullptr && (*text == "all-linear" || *text == "all_linear");
  r.notes.emplace_back(all ? "all-linear projects the output layer as well, which is planned as not projected"
                           : "optim_target_modules: all matrices of the layers are planned as projected");
}
JsonValue axolotl_optimizer(S s) {
  const bool has_muon = !by_deepspeed(s) && !is_version_of(s.framework, "fsdp1");
  return s.recipe.optimizer == Optimizer::Muon && has_muon ? JsonValue{"muon"} : optimizer(s);
}
void read_optimizer(V v, R r) {
  if (v.json() == JsonValue{"muon"}) {
    r.plan.recipe.optimizer = Optimizer::Muon;
    return;
  }
  r.plan.recipe.optimizer = meaning_of(kTrainerOptimizers, v);
  if (v.text().ends_with(kLayerwise)) r.trainer.subspaces.layerwise = true;
  // huggingface/transformers@v5.24.0 src/transformers/trainer_optimizer.py, _get_sgd.
  if (r.plan.recipe.optimizer == Optimizer::Sgd)
    r.notes.emplace_back(
        "sgd has momentum where optim_args says so alone: planned with it, a moment per parameter");
  if (v.text().starts_with("paged_"))
    r.notes.push_back(v.text() +
                      " moves its states to the host when memory runs out: planned as if it did not");
}
bool checkpoints(S s) {
  return s.recipe.recompute.mode == RecomputeMode::Full;
}
void read_activation_offload(V v, R r) {
  const auto* text = v.json().get_if<std::string>();
  if (text != nullptr ? *text == "offload" || *text == "legacy" || *text == "hidden_states" : v.boolean())
    add_offload(r, costmodel::kOffloadActivations);
}

constexpr FrameworkWord<costmodel::AttentionKernel> kAttentions[] = {
    {costmodel::AttentionKernel::Flash, "sdpa"},
    {costmodel::AttentionKernel::FlashAttention2, "flash_attention_2"},
    {costmodel::AttentionKernel::FlashAttention2, "kernels-community/flash-attn2"},
    {costmodel::AttentionKernel::Flash, "flash_attention_3"},
    {costmodel::AttentionKernel::Flash, "kernels-community/flash-attn3"},
    {costmodel::AttentionKernel::Flash, "kernels-community/vllm-flash-attn3"},
    {costmodel::AttentionKernel::Flash, "xformers"},
    {costmodel::AttentionKernel::Flash, "flex_attention"},
    {costmodel::AttentionKernel::Unfused, "eager"}};
constexpr FrameworkWord<costmodel::AttentionKernel> kFactoryAttentions[] = {
    {costmodel::AttentionKernel::Flash, "sdpa"},
    {costmodel::AttentionKernel::FlashAttention2, "fa2"},
    {costmodel::AttentionKernel::Flash, "fa3"},
    {costmodel::AttentionKernel::Flash, "auto"},
    {costmodel::AttentionKernel::Unfused, "disabled"}};
/// The kernel that the plan is priced with, by name: "sdpa" leaves the choice to PyTorch, as profiles of the
/// Trainer's layers have it.
costmodel::AttentionKernel named_kernel(S s) {
  const bool second = !stores_scores(s.recipe.attention) &&
                      attention_library(s) == costmodel::AttentionLibrary::FlashAttention2;
  return second ? costmodel::AttentionKernel::FlashAttention2 : s.recipe.attention;
}

bool chunks_loss(S s) {
  return s.recipe.cross_entropy == costmodel::CrossEntropy::Chunked;
}

// --- FSDP ---

bool groups(S s) {
  return shards_by_fsdp(s) && state_replicas(s) > 1;
}

/// Not where one micro-batch leaves nothing to wait for.
bool reduces_every_micro_batch(S s) {
  return shards_by_fsdp(s) && costmodel::microbatches_per_step(s) > 1 &&
         s.recipe.execution.reduction != costmodel::GradientReduction::Once;
}

constexpr IntegerRange kBatches{1, 1'000'000'000};

void read_type(V v, R r, bool LaunchReading::*type) {
  const bool automatic = v.json() == JsonValue{"auto"} || v.json() == JsonValue{"full"};
  r.*type = automatic || v.boolean();
}
bool brain(S s) {
  return is(s, Precision::Bf16) || is(s, Precision::Fp8);
}
void read_brain(V v, R r) {
  read_type(v, r, &LaunchReading::brain);
  r.brain_said = true;
}

constexpr LaunchField kTrainerSettings[] = {
    {[](S s) -> JsonValue {
       const std::string hub = hub_name_of_model(s.model);
       return only_if(!hub.empty(), hub);
     },
     trainers("model_name_or_path", "base_model", "model_name_or_path"),
     [](V v, R r) { r.model_name = v.text(); }},
    {[](S s) -> JsonValue { return s.recipe.sequence; }, trainers("max_length", "sequence_len", "cutoff_len"),
     [](V v, R r) {
       r.plan.recipe.sequence = v.integer(kBatches);
       r.trainer.trl = true;
     }},
    {[](S s) -> JsonValue { return s.recipe.micro_batch; },
     trainers("per_device_train_batch_size", "micro_batch_size", "per_device_train_batch_size"),
     [](V v, R r) { r.plan.recipe.micro_batch = v.integer(kBatches); }},
    {[](S s) -> JsonValue { return costmodel::microbatches_per_step(s); },
     all_trainers("gradient_accumulation_steps"), [](V v, R r) { r.accumulation = v.integer(kBatches); }},
    {optimizer_steps, all_trainers("max_steps"),
     [](V v, R r) {
       r.steps = std::max<std::int64_t>(0, v.integer({-1, kBatches.high}));
     }},
    // Types.
    // FSDP keeps 16 bits where precision is not mixed: the weights say what it computes in.
    {[](S s) -> JsonValue { return brain(s) && !(trains_pure_bf16(s) && shards_by_fsdp(s)); },
     trainers("bf16", kNone, "bf16"), read_brain},
    {[](S s) -> JsonValue { return brain(s); }, trainers(kNone, "bf16", kNone), read_brain},
    {[](S s) { return when(is(s, Precision::Fp16)); }, all_trainers("fp16"),
     [](V v, R r) { read_type(v, r, &LaunchReading::half); }},
    {[](S s) { return when(is(s, Precision::Tf32)); }, all_trainers("tf32"),
     [](V v, R r) { r.trainer.tf32 = v.json() != JsonValue{"auto"} && v.boolean(); }},
    {[](S s) { return when(is(s, Precision::Fp8)); }, trainers(kNone, "fp8", kNone),
     read_flag<&LaunchReading::fp8>},
    {weights_type, trainers("dtype", kNone, kNone),
     [](V v, R r) {
       if (v.json() != JsonValue{"auto"}) r.trainer.weights = meaning_of(kTorchTypes, v);
     }},
    {[](S s) {
       return when(!trains_adapters(s.recipe) && loaded_weights(s) == DType::Bf16 && !by_deepspeed(s));
     },
     trainers(kNone, kNone, "pure_bf16"), read_flag<&TrainerReading::pure_bf16>},
    // Adapters.
    {[](S s) { return when(trains_lora(s)); }, trainers("use_peft", kNone, kNone),
     [](V v, R r) {
       r.trainer.adapters = v.boolean();
       r.trainer.trl = true;
     }},
    {[](S s) { return only_if(trains_lora(s), in_4_bits(s) ? "qlora" : "lora"); },
     trainers(kNone, "adapter", kNone),
     [](V v, R r) {
       constexpr FrameworkWord<int> kAdapters[] = {{0, ""}, {1, "lora"}, {2, "qlora"}};
       const int kind = meaning_of(kAdapters, v);
       r.trainer.adapters = kind > 0;
       r.trainer.four_bits = r.trainer.four_bits || kind == 2;
     }},
    {[](S s) -> JsonValue { return trains_lora(s) ? "lora" : "full"; },
     trainers(kNone, kNone, "finetuning_type"),
     [](V v, R r) {
       constexpr FrameworkWord<bool> kTypes[] = {{true, "lora"}, {false, "full"}};
       r.trainer.adapters = meaning_of(kTypes, v);
     }},
    {rank, trainers("lora_r", "lora_r", "lora_rank"),
     [](V v, R r) {
       r.trainer.rank = v.integer(kBatches);
       r.trainer.trl = true;
     }},
    // Each trainer's default would be another scale, or none.
    {[](S s) { return only_if(trains_lora(s), adapter_alpha(s)); }, all_trainers("lora_alpha"),
     [](V v, R r) { r.trainer.alpha = v.integer(kBatches); }},
    {[](S s) { return when(costmodel::learns_magnitudes(s.recipe)); },
     trainers("use_dora", "peft_use_dora", "use_dora"), read_flag<&TrainerReading::dora>},
    {[](S s) { return only_if(trains_lora(s), 0); }, all_trainers("lora_dropout"),
     [](V v, R r) { r.trainer.dropout = v.number(kShare); }},
    {trl_targets, trainers("lora_target_modules", kNone, kNone), read_targets},
    {axolotl_targets, trainers(kNone, "lora_target_modules", kNone), read_targets},
    {llamafactory_targets, trainers(kNone, kNone, "lora_target"), read_targets},
    {saved_modules, trainers("lora_modules_to_save", "lora_modules_to_save", kNone), read_saved},
    {llamafactory_saved, trainers(kNone, kNone, "additional_target"), read_saved},
    {[](S s) { return when(trains_lora(s) && everywhere(s)); }, trainers(kNone, "lora_target_linear", kNone),
     [](V v, R r) {
       if (v.boolean()) r.trainer.targets = {"all-linear"};
     }},
    {[](S s) { return when(in_4_bits(s)); }, trainers("load_in_4bit", "load_in_4bit", kNone),
     read_flag<&TrainerReading::four_bits>},
    {[](S s) { return when(in_8_bits(s)); }, trainers("load_in_8bit", "load_in_8bit", kNone),
     read_flag<&TrainerReading::eight_bits>},
    {[](S s) { return only_if(quantises_base(s.recipe), in_8_bits(s) ? 8 : 4); },
     trainers(kNone, kNone, "quantization_bit"),
     [](V v, R r) {
       const int bits = v.small_integer({1, 16});
       r.trainer.four_bits = bits == 4;
       r.trainer.eight_bits = bits == 8;
     }},
    {[](S s) { return when(in_4_bits(s) && s.recipe.double_quantization); },
     trainers("use_bnb_nested_quant", kNone, kNone), read_flag<&TrainerReading::double_quantization>},
    {[](S s) { return only_if(in_4_bits(s), s.recipe.double_quantization); },
     trainers(kNone, "bnb_config_kwargs.bnb_4bit_use_double_quant", "double_quantization"),
     read_flag<&TrainerReading::double_quantization>},
    // Memory against time.
    {[](S s) -> JsonValue { return checkpoints(s); },
     trainers("gradient_checkpointing", "gradient_checkpointing", kNone),
     [](V v, R r) {
       const bool word = v.json().get_if<std::string>() != nullptr;
       if (word) read_activation_offload(v, r);
       r.trainer.checkpoints = word || v.boolean();
     }},
    {[](S s) -> JsonValue { return !checkpoints(s); },
     trainers(kNone, kNone, "disable_gradient_checkpointing"),
     [](V v, R r) { r.trainer.checkpoints = !v.boolean(); }},
    {[](S s) { return when(offloads(s, costmodel::kOffloadActivations)); },
     trainers("activation_offloading", kNone, kNone), read_activation_offload},
    {[](S s) { return when(offloads(s, costmodel::kOffloadActivations) && checkpoints(s)); },
     trainers(kNone, "activation_offloading", kNone), read_activation_offload},
    {[](S s) { return leaves_optimizer_to_deepspeed(s) ? JsonValue{} : optimizer(s); },
     trainers("optim", kNone, kNone), read_optimizer},
    {[](S s) { return leaves_optimizer_to_deepspeed(s) ? JsonValue{} : llamafactory_optimizer(s); },
     trainers(kNone, kNone, "optim"), read_optimizer},
    {subspace_args, trainers("optim_args", "optim_args", kNone), read_subspace_args},
    {[](S s) { return projects(s) ? JsonValue{JsonArray{kBlocksOfLayers}} : JsonValue{}; },
     trainers("optim_target_modules", "optim_target_modules", kNone), read_subspace_targets},
    {[](S s) { return when(has_galore(s)); }, trainers(kNone, kNone, "use_galore"),
     [](V v, R r) { r.trainer.subspaces.galore = v.boolean(); }},
    {[](S s) { return only_if(has_galore(s), asked_rank(s)); }, trainers(kNone, kNone, "galore_rank"),
     [](V v, R r) { r.trainer.subspaces.rank = v.integer(kBatches); }},
    {[](S s) { return only_if(has_galore(s), asked_interval(s)); },
     trainers(kNone, kNone, "galore_update_interval"),
     [](V v, R r) { r.trainer.subspaces.interval = v.integer(kBatches); }},
    {[](S s) { return when(has_galore(s) && projects_layerwise(s)); },
     trainers(kNone, kNone, "galore_layerwise"),
     [](V v, R r) { r.trainer.subspaces.layerwise = v.boolean(); }},
    {[](S s) { return when(has_apollo(s)); }, trainers(kNone, kNone, "use_apollo"),
     [](V v, R r) { r.trainer.subspaces.apollo = v.boolean(); }},
    {[](S s) { return only_if(has_apollo(s), asked_rank(s)); }, trainers(kNone, kNone, "apollo_rank"),
     [](V v, R r) { r.trainer.subspaces.rank = v.integer(kBatches); }},
    {[](S s) { return only_if(has_apollo(s), asked_interval(s)); },
     trainers(kNone, kNone, "apollo_update_interval"),
     [](V v, R r) { r.trainer.subspaces.interval = v.integer(kBatches); }},
    {[](S s) { return only_if(has_apollo_mini(s), "tensor"); }, trainers(kNone, kNone, "apollo_scale_type"),
     [](V v, R r) { r.trainer.subspaces.by_matrix = v.text() == "tensor"; }},
    {[](S s) { return only_if(has_apollo_mini(s), mini_scale()); }, trainers(kNone, kNone, "apollo_scale"),
     [](V, R) {}},
    {[](S s) { return when(has_apollo(s) && projects_layerwise(s)); },
     trainers(kNone, kNone, "apollo_layerwise"),
     [](V v, R r) { r.trainer.subspaces.layerwise = v.boolean(); }},
    {[](S s) { return leaves_optimizer_to_deepspeed(s) ? JsonValue{} : axolotl_optimizer(s); },
     trainers(kNone, "optimizer", kNone), read_optimizer},
    {[](S s) { return word_of(kAttentions, named_kernel(s)); },
     trainers("attn_implementation", "attn_implementation", kNone),
     [](V v, R r) { r.plan.recipe.attention = meaning_of(kAttentions, v); }},
    {[](S s) { return word_of(kFactoryAttentions, named_kernel(s)); }, trainers(kNone, kNone, "flash_attn"),
     [](V v, R r) { r.plan.recipe.attention = meaning_of(kFactoryAttentions, v); }},
    {[](S s) { return when(chunks_loss(s)); }, trainers(kNone, kNone, "enable_liger_kernel"),
     read_chunked_loss},
    {[](S s) { return when(chunks_loss(s)); }, trainers(kNone, "chunked_cross_entropy", kNone),
     read_chunked_loss},
    {[](S s) { return when(costmodel::compiles_layers(s)); }, all_trainers("torch_compile"),
     [](V v, R r) {
       if (v.json() != JsonValue{"auto"} && v.boolean()) r.plan.recipe.execution.compiled = true;
     }},
    // FSDP.
    {[](S s) { return when(shards_by_fsdp(s)); }, trainers("fsdp", kNone, "fsdp"), read_fsdp},
    {[](S s) { return only_if(shards_by_fsdp(s), is_version_of(s.framework, "fsdp1") ? 1 : 2); },
     trainers("fsdp_config.version", "fsdp_config.fsdp_version", "fsdp_config.version"), read_fsdp_version},
    {[](S s) { return only_if(shards_by_fsdp(s), s.layout.sharding.stage == 3); },
     all_trainers("fsdp_config.reshard_after_forward"), read_reshard},
    // huggingface/transformers src/transformers/trainer.py: no_sync up to the last micro-batch, unless …
    {[](S s) { return when(reduces_every_micro_batch(s)); },
     all_trainers("accelerator_config.gradient_accumulation_kwargs.sync_each_batch"),
     read_flag<&TrainerReading::reduces_every_micro_batch>},
    {[](S s) { return only_if(shards_by_fsdp(s), "TRANSFORMER_BASED_WRAP"); },
     all_trainers("fsdp_config.auto_wrap_policy")},
    {[](S s) { return when(shards_by_fsdp(s) && offloads(s, costmodel::kOffloadParameters)); },
     trainers("fsdp_config.cpu_offload", "fsdp_config.offload_params", "fsdp_config.cpu_offload"),
     read_flag<&TrainerReading::offload>},
    {[](S s) { return only_if(groups(s), s.layout.shard_ranks()); }, trainers(kNone, "dp_shard_size", kNone),
     [](V v, R r) { r.shards = v.integer(kDegreeRange); }},
    {[](S s) { return only_if(groups(s), state_replicas(s)); }, trainers(kNone, "dp_replicate_size", kNone),
     [](V v, R r) { r.replicas = v.integer(kDegreeRange); }},
};

}  // namespace

std::span<const LaunchField> launch_trainer_fields() {
  return kTrainerSettings;
}

bool is_inside_trainers(std::string_view key) {
  constexpr std::string_view kOwn[] = {"optimizer.", "activation_checkpointing.", "tensor_parallel."};
  return std::none_of(std::begin(kOwn), std::end(kOwn),
                      [&](std::string_view section) { return key.starts_with(section); });
}

}  // namespace hexaplan::presets
