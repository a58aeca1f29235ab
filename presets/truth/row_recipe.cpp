#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "presets/json/vocabulary.h"
#include "presets/scenario/execution_words.h"
#include "presets/scenario/recompute_text.h"
#include "presets/truth/engine_era.h"
#include "presets/truth/row_layout.h"
#include "presets/truth/row_words.h"

namespace hexaplan::presets {

using costmodel::AttentionKernel;
using costmodel::CrossEntropy;
using costmodel::DType;
using costmodel::Execution;
using costmodel::FineTune;
using costmodel::Optimizer;
using costmodel::Recipe;
using costmodel::Recompute;
using costmodel::RecomputeMode;

namespace {

constexpr Named<Optimizer> kOptimizers[] = {
    {"adamw", Optimizer::AdamW},
    {"adamw-8bit", Optimizer::AdamW8bit},
    {"adafactor", Optimizer::Adafactor},
    {"lion", Optimizer::Lion},
    {"sgd", Optimizer::Sgd},
    {"muon", Optimizer::Muon},
    {"lamb", Optimizer::Lamb},
    {"galore", Optimizer::Galore},
    {"galore-8bit", Optimizer::Galore8bit},
    {"apollo", Optimizer::Apollo},
    {"apollo-mini", Optimizer::ApolloMini},
    {"soap", Optimizer::Soap},
    {"shampoo", Optimizer::Shampoo},
    {"unknown", Optimizer::AdamW},
    {"", Optimizer::AdamW},
};
constexpr Named<CrossEntropy> kCrossEntropies[] = {
    {"", CrossEntropy::Default}, {"fused", CrossEntropy::Fused}, {"chunked", CrossEntropy::Chunked}};
constexpr Named<FineTune> kFineTunes[] = {
    {"", FineTune::Pretrain}, {"pretrain", FineTune::Pretrain}, {"full", FineTune::Full},
    {"lora", FineTune::Lora}, {"qlora", FineTune::Qlora},       {"adapter", FineTune::Lora},
};
constexpr Named<RecomputeMode> kRecomputes[] = {
    {"none", RecomputeMode::None},
    {"selective-core-attn", RecomputeMode::Selective},
    {"selective-modules", RecomputeMode::SelectiveModules},
    {"selective-op", RecomputeMode::SelectiveOperators},
    {"block-N", RecomputeMode::Layers},
    {"full", RecomputeMode::Full},
};

std::optional<DType> dtype_of(const std::string& word) {
  return value_in(kStateDTypeNames, word);  // unknown: what the framework does by default
}

/// Where the kernel is not stated: Megatron-DeepSpeed of that time and anything on V100 (no FlashAttention
/// below Ampere, arXiv:2205.14135) ran Megatron's fused scale-mask-softmax, and so did Megatron-LM and NeMo
/// until Transformer Engine, which came with Hopper, on the sequences of up to 2,048 tokens that kernel was
/// made for (megatron/fused_kernels, first version); everything else has run flash by default since 2023.
AttentionKernel attention_of(const TruthRow& row) {
  static constexpr Named<AttentionKernel> kernels[] = {
      {"flash", AttentionKernel::Flash},
      {"flash-attention-2", AttentionKernel::FlashAttention2},
      {"fused-softmax", AttentionKernel::FusedSoftmax},
      {"unfused", AttentionKernel::Unfused}};
  // Sources on GPT say so of all scores that are stored; Megatron's own kernel is fused
  // (masked_softmax_fusion).
  if (row.attention == "unfused" && row.arch == "gpt") return AttentionKernel::FusedSoftmax;
  if (row.attention != "unknown" && !row.attention.empty())
    return value_of_word(kernels, row.attention, "attention");
  const bool older =
      row.framework_profile == "megatron-deepspeed" || row.gpu.substr(0, 4) == "v100" ||
      (row.framework_profile == "megatron" && before_transformer_engine(row) && row.seq.value_or(0) <= 2048);
  return older ? AttentionKernel::FusedSoftmax : AttentionKernel::Flash;
}

/// `chunks`: of a stage. Rows count the layers of a stage.
Recompute recompute_of(const TruthRow& row, int chunks) {
  Recompute recompute{.mode = value_of_word(kRecomputes, row.recompute_norm, "recompute_norm")};
  if (recompute.mode == RecomputeMode::Layers) {
    const std::int64_t layers = row.recompute_layers.value_or(0);
    if (layers < 1 || layers > std::numeric_limits<int>::max())
      throw NoScenario{"recompute_layers is not given"};
    if (layers % chunks != 0) throw NoScenario{"recompute_layers are not as many in every chunk of a stage"};
    recompute.layers = static_cast<int>(layers / chunks);
  }
  if (recompute.mode != RecomputeMode::SelectiveModules) return recompute;
  // MaxText's "minimal_flash" keeps matrix products and the attention output: torchtitan's policy, by another
  // name.
  if (row.recompute_modules.find("minimal_flash") != std::string::npos)
    return {.mode = RecomputeMode::SelectiveOperators};
  if (row.recompute_modules.empty()) throw NoScenario{"recompute_modules is not given"};
  recompute.modules = parse_recompute_modules(row.recompute_modules, ';', "recompute_modules");
  return recompute;
}

std::uint8_t offload_of(const TruthRow& row) {
  std::uint8_t bits = 0;
  for (const auto& target : kOffloadNames) {
    if (row.offload.find(target.name) != std::string::npos)
      bits = static_cast<std::uint8_t>(bits | target.value);
  }
  return bits;
}

/// The schema does not say how many layers offload their activations. Megatron-FSDP rows are those of
/// Megatron-Bridge's presets, half of the layers (LLAMA3_70B_PRETRAIN_CONFIG_GB200_FP8_CS: 40 of 80).
int offloaded_layers_of(const TruthRow& row) {
  const bool some = row.framework_profile == "megatron" && row.zero == "fsdp-full";
  return some && (offload_of(row) & costmodel::kOffloadActivations) != 0 ? static_cast<int>(*row.layers / 2)
                                                                         : 0;
}

/// Gradients of a row that does not give their dtype. The megatron word of the schema stands for several
/// frameworks; those that shard optimizer states and say what they do reduce in the parameters' dtype (NeMo
/// and Megatron-Bridge recipes grad_reduce_in_fp32 = False, InternEvo, Aleph Alpha), Megatron-LM without
/// sharding is the profile's default, which is that of bf16: in fp16 it accumulates in fp32 only when asked
/// to (megatron/training/arguments.py accumulate_allreduce_grads_in_fp32).
std::optional<DType> gradient_dtype_of(const TruthRow& row) {
  const std::optional<DType> stated = dtype_of(row.grad_dtype);
  const bool sharded = row.zero == "1" || row.zero == "2" || row.zero == "3";
  if (stated || row.framework_profile != "megatron") return stated;
  if (sharded) return dtype_of(row.params_dtype);
  return row.precision_norm == "fp16" ? std::optional{DType::Fp16} : std::nullopt;
}

/// Where dropout is not stated: Megatron's and Megatron-DeepSpeed's GPT and BERT train with 0.1 unless told
/// otherwise (megatron/training/arguments.py hidden_dropout, attention_dropout); Llama-like models have none.
double dropout_of(const TruthRow& row) {
  if (row.dropout) return *row.dropout;
  const bool megatron = row.framework_profile == "megatron" || row.framework_profile == "megatron-deepspeed";
  const bool older = row.arch == "gpt" || row.arch == "moe-gpt" || row.arch == "bert";
  return megatron && older ? 0.1 : 0.0;
}

/// Engines whose loss is one kernel, or a few, from that year on; `compiled`: where they are compiled.
struct FusedLoss {
  std::string_view engine;
  int since;
  bool compiled;
};
/// NeMo since 2.0 (recipes of 2024 were mostly those of 1.0) and Megatron-Bridge: cross_entropy_loss_fusion =
/// True (NVIDIA/NeMo nemo/collections/llm/gpt/model/base.py, NVIDIA-NeMo/Megatron-Bridge
/// src/megatron/bridge/models/gpt_provider.py), which Megatron-LM leaves off; llm.c:
/// llmc/fused_classifier.cuh; torchtitan compiles its loss (components/loss.py).
constexpr FusedLoss kFusedLosses[] = {{"megatron-bridge", 0, false},
                                      {"megatron-core", 2025, false},
                                      {"llm.c", 0, false},
                                      {"torchtitan", 2025, true}};

/// The loss of a row that does not say how it is made.
CrossEntropy cross_entropy_of(const TruthRow& row) {
  const bool fused = std::ranges::any_of(kFusedLosses, [&](const FusedLoss& loss) {
    return row.engine == loss.engine && year_of_era(row.engine_era).value_or(0) >= loss.since &&
           (!loss.compiled || row.compile.value_or(false));
  });
  if (row.ce_kind.empty() && fused) return CrossEntropy::Fused;
  return value_of_word(kCrossEntropies, row.ce_kind, "ce_kind");
}

/// An empty cell is the framework's habit.
const std::string& or_default(const std::string& cell) {
  static const std::string kDefault = "default";
  return cell.empty() ? kDefault : cell;
}

/// Engines that leave gradients unreduced until the last micro-batch (Hugging Face's Trainer under FSDP:
/// accelerate's no_sync; KempnerInstitute/KempnerForge: set_requires_gradient_sync; Lightning-AI/litgpt
/// litgpt/finetune/lora.py: fabric.no_backward_sync).
costmodel::GradientReduction reduction_of(const TruthRow& row) {
  constexpr std::string_view kWaiting[] = {"hf-trainer", "kempnerforge", "lit-gpt", "litgpt"};
  const bool waits = std::ranges::find(kWaiting, row.engine) != std::end(kWaiting);
  return waits ? costmodel::GradientReduction::Once : costmodel::GradientReduction::Default;
}

/// torchtitan compiles when it is asked to, which its recipes in 16 bits do not (compile = false in
/// pytorch/torchtitan@3faaa1a train_configs, but for its fp8 recipe, and in config/configs.py since); other
/// engines that do not say it are as their profiles have them.
std::optional<bool> compiled_of(const TruthRow& row) {
  const bool by_itself =
      row.engine == "torchtitan" && (row.precision_norm == "bf16" || row.precision_norm == "fp16");
  return by_itself ? row.compile.value_or(false) : row.compile;
}

/// What the row says of overlap, graphs and compilation; an empty cell is what the engine does by itself.
Execution execution_of(const TruthRow& row) {
  // torchtitan's switch of that name pipelines every product, which tp_comm_overlap says.
  const bool linear_only = row.framework_profile == "nanotron";
  return {.tensor_overlap = row.tp_comm_overlap,
          .tensor_backward_overlap = linear_only ? row.async_tp : std::nullopt,
          .pipeline_overlap = row.pipeline_overlap,
          .data_overlap = row.dp_overlap,
          .expert_overlap = row.ep_overlap,
          .compiled = compiled_of(row),
          .reduction = reduction_of(row),
          .graphs = value_of_word(kCudaGraphNames, or_default(row.cuda_graphs), "cuda_graphs"),
          .dispatcher = value_of_word(kDispatcherNames, or_default(row.moe_dispatcher), "moe_dispatcher")};
}

/// Where padding is not stated: ms-swift's benchmark of memory pads to the longest of each batch, as Hugging
/// Face's Trainer does by default (transformers DataCollatorWithPadding, padding = True).
costmodel::BatchPadding padding_of(const TruthRow& row) {
  if (!row.padding.empty()) return value_of_word(kPaddingNames, row.padding, "padding");
  const bool trainer = row.engine == "hf-trainer" && row.framework_profile == "hf";
  return trainer ? costmodel::BatchPadding::Longest : costmodel::BatchPadding::MaxLength;
}

/// What adapters stand beside; the schema does not say it. NeMo AutoModel, torchtune and transformers' users
/// adapt all linear layers: the published numbers of trained parameters are theirs.
costmodel::AdapterTargets adapted_by(const TruthRow& row) {
  using costmodel::AdapterTargets;
  struct Usual {
    std::string_view engine, profile;  // empty: any
    AdapterTargets targets;
  };
  constexpr Usual kUsual[] = {
      // Megatron-Bridge's published LoRA presets linear_qkv.
      {"", "megatron", AdapterTargets::Attention},
      // MLPerf's Llama-2-70B adapts qkv and dense (mlcommons/training llama2_70b_lora).
      {"amd-mlperf-pytorch", "", AdapterTargets::Attention},
      // Lightning-AI/litgpt litgpt/finetune/lora.py: lora_query, lora_value.
      {"lit-gpt", "", AdapterTargets::QueryValue},
      {"litgpt", "", AdapterTargets::QueryValue},
  };
  for (const Usual& usual : kUsual) {
    const bool meant = (usual.engine.empty() || usual.engine == row.engine) &&
                       (usual.profile.empty() || usual.profile == row.framework_profile);
    if (meant) return usual.targets;
  }
  return AdapterTargets::AllLinear;
}

}  // namespace

Recipe recipe_of(const TruthRow& row, int chunks) {
  Recipe recipe;
  recipe.sequence = *row.seq;
  recipe.micro_batch = *row.micro_batch;
  // A batch that is not given matters only to time and to pp > 1: one micro-batch per rank then.
  recipe.global_batch =
      row.global_batch.value_or(*row.micro_batch * row.grad_accum.value_or(1) * row.dp.value_or(1));
  recipe.padding = padding_of(row);
  recipe.precision = value_of_word(kPrecisionNames, row.precision_norm, "precision_norm");
  recipe.parameter_dtype = dtype_of(row.params_dtype);
  recipe.gradient_dtype = gradient_dtype_of(row);
  recipe.optimizer = value_of_word(kOptimizers, row.optimizer_norm, "optimizer_norm");
  recipe.projection_rank = row.projection_rank.value_or(0);  // else the optimizer's usual ones
  recipe.projection_interval = row.projection_interval.value_or(0);
  recipe.precondition_frequency = row.precondition_frequency.value_or(0);
  recipe.max_precondition_dim = row.max_precondition_dim.value_or(0);
  recipe.optimizer_in_backward = row.optimizer_in_backward.value_or(false);
  recipe.outer.every = row.outer_steps.value_or(0);
  if (!row.outer_dtype.empty())
    recipe.outer.dtype = value_of_word(kOuterDTypeNames, row.outer_dtype, "outer_dtype");
  if (!row.outer_states.empty())
    recipe.outer.states = value_of_word(kOuterStatesNames, row.outer_states, "outer_states");
  recipe.recompute = recompute_of(row, chunks);
  recipe.attention = attention_of(row);
  recipe.dropout = dropout_of(row);
  recipe.fused_norm = row.fused_norm.value_or(true);
  recipe.cross_entropy = cross_entropy_of(row);
  recipe.fine_tune = value_of_word(kFineTunes, row.finetune, "finetune");
  // Adapters over a base of 4 bits, whatever the source calls them.
  if (recipe.fine_tune == FineTune::Lora && row.base_dtype.starts_with("nf4"))
    recipe.fine_tune = FineTune::Qlora;
  if (recipe.fine_tune == FineTune::Lora && row.base_dtype == "fp8")
    recipe.parameter_dtype = DType::Fp8;  // of what is frozen
  recipe.double_quantization = recipe.fine_tune == FineTune::Qlora && row.base_dtype == "nf4-dq";
  if (recipe.fine_tune == FineTune::Lora || recipe.fine_tune == FineTune::Qlora) {
    recipe.lora_rank = row.lora_rank.value_or(0);  // else the framework's usual one
    recipe.trainable_parameters = row.trainable_params.value_or(0);
    recipe.lora_targets = adapted_by(row);
  }
  recipe.execution = execution_of(row);
  recipe.offload = offload_of(row);
  recipe.offload_layers = offloaded_layers_of(row);
  // Token dropping keeps capacity_factor × the mean; the schema does not give the factor, 1 is Megatron's
  // default.
  if (row.moe_routing == "drop") recipe.routing.capacity_factor = 1.0;
  return recipe;
}

}  // namespace hexaplan::presets
