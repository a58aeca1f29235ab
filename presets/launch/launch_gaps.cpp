#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "costmodel/spec/optimizer_traits.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/execution.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/launch/launch_fields.h"
#include "presets/launch/launch_readers.h"
#include "presets/launch/launch_words.h"
#include "presets/launch/maxtext_plan.h"
#include "presets/launch/trainer_plan.h"
#include "presets/models/hub_models.h"

namespace hexaplan::presets {

using costmodel::RecomputeMode;
using costmodel::Scenario;
using costmodel::ScheduleKind;

namespace {

using S = const Scenario&;

constexpr unsigned bit(Launcher launcher) {
  return 1U << static_cast<unsigned>(launcher);
}
constexpr unsigned kMegatron = bit(Launcher::Megatron), kNanotron = bit(Launcher::Nanotron),
                   kTorchtitan = bit(Launcher::Torchtitan), kDeepSpeed = bit(Launcher::DeepSpeed),
                   kBridge = bit(Launcher::Bridge), kMaxText = bit(Launcher::MaxText);
/// Layers of Megatron-Core, by Megatron-LM's arguments or by Megatron-Bridge's providers.
constexpr unsigned kCore = kMegatron | kBridge;
constexpr unsigned kTrl = bit(Launcher::Trl), kAxolotl = bit(Launcher::Axolotl),
                   kLlamaFactory = bit(Launcher::LlamaFactory);
constexpr unsigned kAll =
    kCore | kNanotron | kTorchtitan | kDeepSpeed | kMaxText;     // that build the model themselves
constexpr unsigned kTrainers = kTrl | kAxolotl | kLlamaFactory;  // that load it

/// The setting of `launcher` under `key` is left out for want of a word.
bool unsaid(S s, std::string_view key) {
  for (const LaunchField& field : launch_fields()) {
    for (const std::string_view name : field.keys) {
      if (name == key) return field.value(s).is_null();
    }
  }
  return true;
}

bool gated_gelu(S s) {
  return s.model.mlp.gated && s.model.mlp.activation == costmodel::Activation::Gelu;
}
bool rope_scaling(S s) {
  return s.model.positions == costmodel::PositionKind::Rotary &&
         s.model.rotary.scaling != costmodel::RopeScaling::None;
}
/// YaRN's numbers that Megatron-LM's latent attention has no arguments for are not its defaults
/// (core_v0.15.3 megatron/core/transformer/transformer_config.py, MLATransformerConfig).
bool other_yarn(S s) {
  const costmodel::RotarySpec& r = s.model.rotary;
  return rope_scaling(s) && r.scaling == costmodel::RopeScaling::Yarn &&
         (r.original_positions != 4096 || r.beta_fast != 32 || r.beta_slow != 1);
}
/// Some of the linear layers of a block have a bias, some none.
bool mixed_biases(S s) {
  const costmodel::AttentionSpec& a = s.model.attention;
  const bool experts = s.model.is_moe() && s.model.moe.first_k_dense == 0;
  return has_linear_bias(s) &&
         !(a.qkv_bias && a.output_bias && (experts ? s.model.moe.expert_bias : s.model.mlp.bias));
}
bool own_score_width(S s) {
  const costmodel::AttentionSpec& a = s.model.attention;
  return a.score_width > 0 && a.score_width != static_cast<double>(a.head_dim);
}

bool unrotated_layers(S s) {
  return s.model.attention.unrotated_period > 0 || !s.model.attention.unrotated_layers.empty();
}
bool stages_are_equal(S s) {
  if (s.layout.pp == 1) return true;
  const std::vector<int> chunks = costmodel::chunk_layers(s);
  return std::all_of(chunks.begin(), chunks.end(), [&](int layers) { return layers == chunks.front(); });
}
bool nanotron_cuts_so(S s) {
  if (s.layout.pp == 1) return true;
  Scenario own = s;
  own.layout.split = costmodel::StageSplit::ComputeCost;
  return costmodel::chunk_layers(own) == costmodel::chunk_layers(s);
}
/// nanotron sums in fp32 or in the type of the parameters.
bool other_gradients(S s) {
  const costmodel::DType sums = s.recipe.gradient_dtype.value_or(s.framework.gradient_dtype);
  return sums != costmodel::DType::Fp32 && sums != costmodel::activation_dtype(s.recipe.precision);
}

/// MaxText has Llama 3.1's scaling with these numbers.
bool maxtext_scales(S s) {
  const costmodel::RotarySpec& r = s.model.rotary;
  return r.scaling == costmodel::RopeScaling::Llama3 && r.factor == 8 && r.low_frequency == 1 &&
         r.high_frequency == 4 && r.original_positions == 8192;
}
/// Every pass over the devices has a whole number of sequences, and pipelines whole rounds of micro-batches.
bool maxtext_counts(S s) {
  if (s.layout.pp == 1) return true;
  // DeepSeek's dense layers stay outside of its pipeline (src/maxtext/configs/types.py).
  return s.model.moe.first_k_dense == 0 && s.model.layers % s.layout.pp == 0 &&
         costmodel::microbatches_per_step(s) % s.layout.pp == 0;
}

bool frozen_in_fp32(S s) {
  const bool in_16_bits = costmodel::activation_dtype(s.recipe.precision) != costmodel::DType::Fp32;
  return s.recipe.fine_tune == costmodel::FineTune::Lora && in_16_bits && !by_deepspeed(s) &&
         s.recipe.parameter_dtype == costmodel::DType::Fp32;
}
bool trl_says_weights(S s) {
  return trains_pure_bf16(s) || frozen_in_fp32(s);
}
/// DeepSpeed and FSDP train copies of their own in fp32 where it computes in 16 bits.
bool axolotl_says_weights(S s) {
  const bool plain = is_version_of(s.framework, "hf-eager") && !trains_adapters(s.recipe) &&
                     s.recipe.precision == costmodel::Precision::Bf16;
  return plain ? trains_pure_bf16(s) : !s.recipe.parameter_dtype;
}

/// Of optimizer states or parameters.
bool offloads_to_nvme(S s) {
  return s.recipe.offload_device == costmodel::OffloadDevice::Nvme &&
         (s.recipe.offload & ~costmodel::kOffloadActivations) != 0;
}
bool runs_in_deepspeed(S s) {
  return runs_profile(find_launch_format("deepspeed"), s.framework.name);
}

/// torchtitan replicates: nothing is sharded, over context-parallel ranks neither.
bool runs_ddp(S s) {
  return s.layout.dp > 1 && s.layout.cp == 1 && s.layout.sharding.stage < 2;
}

bool captures_graphs(S s) {
  return s.recipe.execution.graphs > costmodel::CudaGraphs::None;
}
/// Dropout in modules that run again as part of a CUDA graph.
bool draws_in_graphs(S s) {
  constexpr unsigned kDrawing =
      costmodel::kRecomputeCoreAttention | costmodel::kRecomputeMlp | costmodel::kRecomputeMoe;
  const RecomputeMode mode = s.recipe.recompute.mode;
  return captures_graphs(s) && s.recipe.dropout > 0 &&
         (mode == RecomputeMode::Selective ||
          (mode == RecomputeMode::SelectiveModules && (core_modules(s) & kDrawing) != 0));
}

bool names_no_model(S s) {
  return hub_name_of_model(s.model).empty();
}

/// Something that a plan may ask and some launchers cannot say.
/// The profile that an import of this framework's file is planned with.
std::string_view profile_of_import(S s, Launcher launcher) {
  if (!is_trainer(launcher)) {
    return std::ranges::find(launch_formats(), launcher, &LaunchFormat::launcher)->profile;
  }
  if (by_deepspeed(s)) return "hf-deepspeed";
  if (!shards_by_fsdp(s)) return "hf-eager";
  return is_version_of(s.framework, "fsdp1") ? "fsdp1" : "hf-fsdp2";
}
/// Files do not say whose kernels a plan is priced with. torchtitan's other engines have rows of their own.
std::string other_profile(S s, Launcher launcher) {
  const std::string_view imported = profile_of_import(s, launcher);
  if (launcher == Launcher::Torchtitan || imported == s.framework.name) return {};
  return fmt::format(
      "profile {}, with whose layers and kernels the plan is priced: what runs this file is priced as {} "
      "(--framework {}), and so are imports of it",
      s.framework.name, imported, imported);
}

struct Gap {
  unsigned launchers;
  bool (*asked)(S);
  const char* text;
};
constexpr Gap kGaps[] = {
    {kAll | kTrainers, [](S) { return true; },
     "data, tokenizer, learning rate and checkpoints are yours to add"},
    {kBridge,
     [](S s) {
       const costmodel::Execution& execution = s.recipe.execution;
       return execution.tensor_backward_overlap || execution.pipeline_overlap || execution.compiled;
     },
     "messages between stages and backward collectives beside computation, and compilation"},
    {(kAll & ~kBridge) | kTrainers,
     [](S s) {
       costmodel::Execution other = s.recipe.execution;
       other.tensor_overlap.reset();
       other.graphs = costmodel::CudaGraphs::Default;
       other.reduction = costmodel::GradientReduction::Default;
       if (runs_in_deepspeed(s)) other.data_overlap.reset();  // overlap_comm
       other.compiled.reset();
       return other != costmodel::Execution{};
     },
     "what runs beside what and the dispatcher of tokens: the names differ by release"},
    {kMegatron | kNanotron | kDeepSpeed | kMaxText,
     [](S s) { return s.recipe.execution.compiled.has_value(); },
     "compilation: the training loop says so, no setting"},
    {kAll, [](S s) { return s.recipe.execution.reduction > costmodel::GradientReduction::Every; },
     "gradients that wait for the last micro-batch: the training loop says so, no setting"},
    {kTrainers,
     [](S s) { return s.recipe.execution.reduction == costmodel::GradientReduction::ReplicasOnce; },
     "gradients that wait between replicas alone"},
    {kNanotron | kTorchtitan | kDeepSpeed | kMaxText | kTrainers,
     [](S s) { return s.recipe.execution.graphs != costmodel::CudaGraphs::Default; }, "CUDA graphs"},
    {kTorchtitan, [](S s) { return unsaid(s, "model.flavor"); },
     "model.name and model.flavor: none has the plan's dimensions; add one that has them, with its RoPE and "
     "norm epsilon"},
    // v0.2.2 torchtitan/models/llama3/model/args.py, RoPEScalingArgs.
    {kTorchtitan,
     [](S s) { return s.model.family == "llama" && !unsaid(s, "model.flavor") && !rope_scaling(s); },
     "RoPE without scaling: the flavor has Llama 3.1's"},
    {kTorchtitan, [](S s) { return s.model.attention.window > 0 && s.model.family != "gpt_oss"; },
     "the sliding window: torchtitan's Llama has none"},
    {kDeepSpeed, [](S) { return true; },
     "the model, its sequence length and the number of steps stand in the program"},
    {kBridge, [](S) { return true; },
     "data: the file names mock data and a NullTokenizer; train.train_iters where the plan has no tokens"},
    {kMaxText, [](S) { return true; },
     "base_output_directory, run_name and data: the file names synthetic data"},
    {kBridge,
     [](S s) { return s.recipe.execution.expert_overlap.value_or(false) && !can_overlap_experts(s); },
     "exchanges of tokens behind another micro-batch: Megatron-Core has them with expert parallelism, "
     "interleaved "
     "stages where there are any, 16 bits and no layers that run again"},
    {kBridge, [](S s) { return s.recipe.execution.expert_overlap == false; },
     "exchanges of tokens that wait: the flag says only that they do not"},
    {kCore, [](S s) { return s.recipe.precision == costmodel::Precision::Fp8; },
     "delayed scaling of fp8: the file has current scaling (tensorwise), which delayed is planned as"},
    // What the model computes.
    {kMegatron, [](S s) { return gated_gelu(s) && s.model.mlp.gelu != costmodel::GeluForm::Quick; },
     "the gated GELU (GeGLU): pretrain_gpt.py has an argument for SwiGLU and quick GeGLU alone; set "
     "gated_linear_unit and activation_func in its configuration"},
    {kMegatron,
     [](S s) { return !s.model.mlp.gated && s.model.mlp.activation == costmodel::Activation::Relu; },
     "the activation ReLU"},
    {kCore,
     [](S s) {
       return s.model.mlp.activation == costmodel::Activation::Xielu ||
              (s.model.mlp.gated && s.model.mlp.activation == costmodel::Activation::ReluSquared);
     },
     "the activation xIELU, or a gated squared ReLU"},
    {kCore, [](S s) { return s.model.positions == costmodel::PositionKind::Sinusoidal; },
     "sinusoidal positions"},
    {kMegatron, unrotated_layers, "layers without rotary positions: --no-rope-freq of Megatron-LM"},
    {kCore, [](S s) { return s.model.attention.chunked; }, "windows that begin anew (attention chunks)"},
    {kCore,
     [](S s) {
       return s.model.attention.qk_norm && s.model.attention.qk_norm_scope != costmodel::QkNormScope::Head;
     },
     "norms over all query or key heads together, or with weights for each"},
    {kCore, [](S s) { return s.model.residual_multiplier != 1 || s.model.logit_multiplier != 1; },
     "multipliers of the residual stream and of the logits"},
    {kCore, [](S s) { return s.model.norms_behind_branches; },
     "norms behind attention and MLP instead of before them"},
    {kCore, [](S s) { return !s.model.norm_weight; }, "norms without weights"},
    {kAll, [](S s) { return !s.model.own_rule.empty(); },
     "a rule of the model's family that no dimension says: check that the framework has the family"},
    {kAll | kTrainers, [](S s) { return !s.model.not_counted.empty(); },
     "parts beside the language model, which the plan does not count"},
    {kMegatron,
     [](S s) {
       return !s.model.mlp.gated && s.model.mlp.activation == costmodel::Activation::Gelu &&
              s.model.mlp.gelu == costmodel::GeluForm::Tanh && !has_linear_bias(s);
     },
     "GELU approximated by tanh: without biases Megatron-LM computes the exact one"},
    {kCore, [](S s) { return s.model.positions == costmodel::PositionKind::Alibi; }, "ALiBi positions"},
    {kCore,
     [](S s) {
       return rope_scaling(s) && s.model.rotary.scaling == costmodel::RopeScaling::Llama3 &&
              unsaid(s, "--use-rope-scaling");
     },
     "RoPE scaling of Llama 3 with other numbers than 1, 4 and 8192"},
    {kMegatron,
     [](S s) {
       return rope_scaling(s) && s.model.rotary.scaling != costmodel::RopeScaling::Llama3 &&
              unsaid(s, "--rotary-seq-len-interpolation-factor") && unsaid(s, "--rotary-scaling-factor");
     },
     "this scaling of RoPE (rope_scaling of config.json)"},
    {kBridge,
     [](S s) {
       using costmodel::RopeScaling;
       const RopeScaling scaling = s.model.rotary.scaling;
       return rope_scaling(s) && scaling != RopeScaling::Llama3 && scaling != RopeScaling::Yarn &&
              unsaid(s, "--rotary-seq-len-interpolation-factor");
     },
     "this scaling of RoPE (rope_scaling of config.json)"},
    {kBridge,
     [](S s) {
       return s.model.positions == costmodel::PositionKind::Learned &&
              s.model.max_positions != s.recipe.sequence;
     },
     "learned positions beyond the sequence: Megatron-Bridge has as many as the sequence's tokens"},
    {kMegatron, [](S s) { return !unsaid(s, "--rotary-scaling-factor") && other_yarn(s); },
     "YaRN's beta_fast, beta_slow or original length: set them in MLATransformerConfig"},
    {kCore, [](S s) { return s.model.rotary.local_base > 0; }, "the RoPE base of windowed layers"},
    {kMegatron,
     [](S s) {
       return s.model.positions == costmodel::PositionKind::Rotary &&
              s.model.rotary.base != std::floor(s.model.rotary.base);
     },
     "the fraction of RoPE's base: --rotary-base takes whole numbers"},
    {kMegatron, own_score_width, "the scale of attention scores (query_pre_attn_scalar)"},
    {kCore, [](S s) { return s.model.attention.softcap > 0; }, "soft-capped attention scores"},
    {kCore, [](S s) { return s.model.logit_softcap > 0; }, "soft-capped logits"},
    {kCore, [](S s) { return s.model.attention.value_clip > 0; },
     "clipped queries, keys and values (clip_qkv)"},
    {kCore, [](S s) { return s.model.embedding_multiplier != 1; },
     "word embeddings multiplied by the square root of the hidden size"},
    {kCore, [](S s) { return s.model.embedding_norm; }, "the norm after the word embedding"},
    {kCore, [](S s) { return s.model.norms_per_layer == 4; }, "the norms after attention and MLP"},
    {kCore, [](S s) { return s.model.norms_after; },
     "norms that follow attention and MLP instead of preceding"},
    {kCore, [](S s) { return s.model.norms_per_layer == 1 || s.model.parallel_residual; },
     "attention and MLP beside each other (parallel residual)"},
    {kCore, [](S s) { return !s.model.final_norm; }, "a model without a norm before the output layer"},
    {kCore, [](S s) { return s.model.norm == costmodel::NormKind::Layer && !s.model.norm_bias; },
     "LayerNorm without biases"},
    {kCore, [](S s) { return s.model.head_bias; }, "the bias of the output layer"},
    {kCore, mixed_biases, "biases on some linear layers only: Megatron-LM has them on all or none"},
    {kCore, [](S s) { return s.model.moe.router_bias; }, "the bias of the router"},
    {kMegatron, [](S s) { return s.model.moe.shared_gate; }, "the gate of the shared expert"},
    {kCore,
     [](S s) {
       return s.model.is_moe() && s.model.moe.score == costmodel::RouterScore::Sigmoid &&
              !s.model.moe.renormalise;
     },
     "sigmoid scores that are not divided by their sum"},
    {kCore,
     [](S s) {
       return s.model.is_moe() && costmodel::activation_dtype(s.recipe.precision) != costmodel::DType::Bf16;
     },
     "grouped products of experts: Megatron-LM has them in bf16 alone"},
    {kNanotron, rope_scaling, "the scaling of RoPE (rope_scaling of config.json)"},
    {kNanotron,
     [](S s) {
       const costmodel::AttentionSpec& a = s.model.attention;
       return a.window > 0 && (a.global_period > 0 || !a.global_layers.empty());
     },
     "layers without the sliding window: nanotron has it in all"},
    // deepspeed/runtime/engine.py, allreduce_gradients.
    {kDeepSpeed | kTrainers,
     [](S s) {
       return runs_in_deepspeed(s) && s.layout.sharding.stage == 0 && s.layout.dp * s.layout.cp > 1 &&
              costmodel::overlaps_gradients(s);
     },
     "gradients reduced beside the backward: DeepSpeed reduces them behind it where it shards nothing"},
    {kDeepSpeed, [](S s) { return s.layout.sharding.stage == 3 && state_replicas(s) > 1; },
     "replicas of a sharded state (hybrid sharding): DeepSpeed 0.19.8 has no mics_shard_size any more; "
     "zero_hpz_partition_size keeps a second copy of the weights per node instead"},
    {kDeepSpeed, [](S s) { return s.layout.tp > 1; },
     "tensor parallelism: it stands in Megatron's arguments (--tensor-model-parallel-size)"},
    {kDeepSpeed, [](S s) { return s.layout.pp > 1; },
     "pipeline stages: the program builds PipelineModule(num_stages=…)"},
    {kDeepSpeed, [](S s) { return s.layout.cp > 1; },
     "context parallelism: the program sets up the sequence-parallel group (Ulysses)"},
    {kDeepSpeed, [](S s) { return s.layout.ep > 1; },
     "expert parallelism: the program's MoE layers take ep_size"},
    {kDeepSpeed, [](S s) { return s.recipe.recompute.mode != RecomputeMode::None; },
     "recomputation: the program calls deepspeed.checkpointing"},
    {kDeepSpeed | kTorchtitan, [](S s) { return s.layout.tp > 1 && !s.layout.sp; },
     "tensor parallelism without sequence parallelism"},
    {kCore,
     [](S s) {
       return s.layout.pp > 1 && s.layout.schedule != ScheduleKind::OneFOneB &&
              s.layout.schedule != ScheduleKind::Interleaved;
     },
     "the pipeline schedule: Megatron-LM runs 1f1b and interleaved"},
    {kNanotron, [](S s) { return s.layout.pp > 1 && unsaid(s, "parallelism.pp_engine"); },
     "the pipeline schedule: nanotron runs 1f1b and gpipe"},
    {kTorchtitan, [](S s) { return s.layout.pp > 1 && unsaid(s, "parallelism.pipeline_parallel_schedule"); },
     "the pipeline schedule has no name in torchtitan"},
    {kTorchtitan | kDeepSpeed, [](S s) { return !stages_are_equal(s); }, "layers of every pipeline stage"},
    {kNanotron, [](S s) { return !nanotron_cuts_so(s); },
     "layers of every pipeline stage: nanotron cuts by the cost of blocks"},
    {kNanotron, [](S s) { return s.layout.sharding.stage > 1; }, "ZeRO beyond stage 1"},
    {kTorchtitan, [](S s) { return is_version_of(s.framework, "fsdp1"); },
     "FSDP1, which the plan is predicted for: torchtitan shards with FSDP2"},
    // AI-Hypercomputer/maxtext@e591f30 src/maxtext/layers/linears.py: grad_dtype is what they are widened to.
    {kMaxText,
     [](S s) {
       using costmodel::DType;
       return s.recipe.gradient_dtype == DType::Fp32 && s.framework.reduce_dtype != DType::Fp32 &&
              costmodel::activation_dtype(s.recipe.precision) != DType::Fp32;
     },
     "gradients reduced in another type than the computation's"},
    {kTorchtitan | kMaxText,
     [](S s) { return s.layout.sharding.stage >= 2 && s.layout.shard_ranks() == 1; },
     "ZeRO over a single rank: nothing is sharded, as --layout … zero0 predicts"},
    // v0.2.2 torchtitan/models/llama3/infra/parallelize.py, apply_ddp.
    {kTorchtitan, [](S s) { return is_version_of(s.framework, "ddp"); },
     "DDP as the plan's profile has it: torchtitan's has buckets of 100 MB"},
    {kTorchtitan, [](S s) { return !is_version_of(s.framework, "ddp") && runs_ddp(s); },
     "the engine that the plan is predicted for: torchtitan runs DDP where nothing is sharded, as "
     "--framework "
     "ddp predicts"},
    {kCore | kNanotron | kTorchtitan | kMaxText,
     [](S s) {
       return s.layout.sharding.hpz > 1 || s.layout.sharding.quantized_weights ||
              s.layout.sharding.quantized_gradients;
     },
     "ZeRO++ (hpz, qwz, qgz)"},
    {kNanotron | kTorchtitan | kDeepSpeed, [](S s) { return s.layout.order != costmodel::Layout{}.order; },
     "the order of ranks"},
    {kCore,
     [](S s) { return s.layout.order != costmodel::Layout{}.order && unsaid(s, "--use-tp-pp-dp-mapping"); },
     "the order of ranks"},
    {kAll, [](S s) { return s.layout.vocab != costmodel::VocabParallel::LastStage; },
     "the output layer spread over pipeline stages"},
    {kNanotron | kDeepSpeed, [](S s) { return costmodel::is_quantized(s.recipe.precision); },
     "8-bit and 4-bit matrix products"},
    {kTorchtitan,
     [](S s) { return costmodel::is_quantized(s.recipe.precision) && unsaid(s, "model.converters"); },
     "this kind of 8-bit or 4-bit matrix products"},
    {kTorchtitan, [](S s) { return unsaid(s, "training.mixed_precision_reduce"); },
     "gradients reduced in 16 bits"},
    {kMegatron, [](S s) { return unsaid(s, "--optimizer"); }, "the optimizer has no name in Megatron-LM"},
    {kBridge, [](S s) { return unsaid(s, "optimizer.optimizer"); },
     "the optimizer has no name in Megatron-Bridge"},
    {kNanotron, [](S s) { return unsaid(s, "optimizer.optimizer_factory.name"); },
     "the optimizer has no name in nanotron"},
    {kTorchtitan, [](S s) { return unsaid(s, "optimizer.name"); }, "the optimizer has no name in torchtitan"},
    {kDeepSpeed, [](S s) { return unsaid(s, "optimizer.type"); }, "the optimizer has no name in DeepSpeed"},
    {kCore | kNanotron | kDeepSpeed | kMaxText, [](S s) { return s.recipe.optimizer_in_backward; },
     "the optimizer step inside backward"},
    {kCore, [](S s) { return s.recipe.recompute.mode == RecomputeMode::SelectiveOperators; },
     "recomputation by operator"},
    {kTorchtitan, [](S s) { return unsaid(s, "activation_checkpoint.mode"); },
     "this kind of recomputation: torchtitan knows none, full and selective-op"},
    {kNanotron,
     [](S s) {
       return s.recipe.recompute.mode != RecomputeMode::None &&
              s.recipe.recompute.mode != RecomputeMode::Full;
     },
     "this kind of recomputation: nanotron knows none and full"},
    {kCore, [](S s) { return !s.recipe.recompute.stage_layers.empty(); },
     "recomputed layers that differ from stage to stage: the file has the most of them for every stage"},
    {kCore,
     [](S s) {
       return s.recipe.recompute.mode == RecomputeMode::SelectiveModules &&
              core_modules(s) != s.recipe.recompute.modules;
     },
     "some of the recomputed modules: Megatron-Core has no act alone, and mla_up_proj, moe, moe_act and "
     "shared_experts only in models with latent attention, experts, their grouped products in 16 bits and "
     "shared experts"},
    {kAll & ~kBridge, [](S s) { return costmodel::trains_adapters(s.recipe); },
     "adapters instead of all parameters"},
    {kBridge, [](S s) { return costmodel::trains_adapters(s.recipe) && unsaid(s, "peft.target_modules"); },
     "these adapters: Megatron-Bridge has LoRA beside queries, keys and values together"},
    {kBridge | kTrainers,
     [](S s) { return trains_adapters(s.recipe) && s.recipe.lora_bias != costmodel::TrainedBiases::None; },
     "biases that train beside adapters: PEFT's LoraConfig has them, its callers' settings do not"},
    {kBridge,
     [](S s) {
       return trains_adapters(s.recipe) && s.recipe.saved_modules != costmodel::SavedModules::None;
     },
     "modules that train as a whole beside adapters"},
    {kTrainers,
     [](S s) {
       return trains_low_rank(s.recipe) && s.recipe.saved_modules != costmodel::SavedModules::None &&
              saved_module_names(s).empty();
     },
     "modules that train as a whole beside adapters: what the model's code calls them is not known"},
    {kBridge, [](S s) { return costmodel::trains_adapters(s.recipe); },
     "checkpoint.pretrained_checkpoint: the weights that adapters stand beside"},
    {kNanotron | kTorchtitan | kDeepSpeed, [](S s) { return s.recipe.dropout > 0; },
     "dropout: it stands in the model's program"},
    {kNanotron | kTorchtitan | kDeepSpeed,
     [](S s) { return stores_scores(s.recipe.attention); },
     "attention that stores its scores: it stands in the model's program"},
    {kNanotron | kTorchtitan | kDeepSpeed,
     [](S s) {
       return s.recipe.attention == costmodel::AttentionKernel::FlashAttention2 &&
              s.framework.attention_library != costmodel::AttentionLibrary::FlashAttention2;
     },
     "FlashAttention-2: it stands in the model's program"},
    {kCore, [](S s) { return s.recipe.attention == costmodel::AttentionKernel::FlashAttention2; },
     "FlashAttention-2: the backend \"flash\" takes the newest that is installed"},
    {kMaxText, [](S s) { return s.recipe.attention == costmodel::AttentionKernel::FlashAttention2; },
     "FlashAttention-2: MaxText runs cuDNN's kernels"},
    {kMegatron, [](S s) { return s.recipe.attention == costmodel::AttentionKernel::FusedSoftmax; },
     "one kernel of softmax over stored scores: --transformer-impl local --attention-backend local"},
    {kNanotron | kTorchtitan | kDeepSpeed,
     [](S s) { return s.recipe.cross_entropy != costmodel::CrossEntropy::Default; },
     "how the loss is computed: it stands in the model's program"},
    {kCore, [](S s) { return s.recipe.cross_entropy == costmodel::CrossEntropy::Chunked; },
     "the loss in chunks: Megatron-LM keeps all logits"},
    {kCore, [](S s) { return offloads(s, costmodel::kOffloadParameters); }, "parameters kept in host memory"},
    {kTorchtitan, [](S s) { return offloads(s, costmodel::kOffloadOptimizer); },
     "optimizer states alone in host memory: training.enable_cpu_offload takes parameters along"},
    {kNanotron, other_gradients, "the type in which gradients are summed"},
    {kAll & ~kMaxText, [](S s) { return s.recipe.parameter_dtype.has_value(); },
     "the type in which parameters are kept"},
    {kNanotron | kTorchtitan | kDeepSpeed, costmodel::limits_experts, "the capacity factor of experts"},
    {kNanotron | kTorchtitan,
     [](S s) { return s.layout.cp > 1 && s.layout.context == costmodel::ContextKind::AllToAll; },
     "context parallelism by all-to-all"},
    {kNanotron, [](S s) { return s.layout.cp > 1 && s.layout.context == costmodel::ContextKind::AllGather; },
     "context parallelism by all-gather: nanotron's is a ring"},
    {kTorchtitan, [](S s) { return s.layout.cp > 1 && s.layout.sharding.stage == 0; },
     "parameters that context-parallel ranks do not shard: torchtitan's do"},
    {kTorchtitan | kNanotron, [](S s) { return offloads(s, costmodel::kOffloadActivations); },
     "activations kept in host memory"},
    // core_v0.15.3 megatron/training/arguments.py; core_v0.16.0 makes arguments of TransformerConfig.
    {kMegatron, [](S s) { return offloads(s, costmodel::kOffloadActivations); },
     "activations kept in host memory: core_v0.15.3 has no argument for it, later releases have "
     "--cpu-offloading-num-layers"},
    {kBridge, [](S s) { return offloads(s, costmodel::kOffloadActivations) && !offloads_counted_layers(s); },
     "activations kept in host memory: model.cpu_offloading_num_layers takes some of the layers "
     "(--offload-layers here), without pipelines or recomputation"},
    {kDeepSpeed,
     [](S s) {
       return offloads(s, costmodel::kOffloadActivations) && s.recipe.recompute.mode == RecomputeMode::None;
     },
     "activations kept in host memory: cpu_checkpointing moves the inputs of checkpointed layers alone"},
    {kDeepSpeed,
     [](S s) {
       return offloads(s, costmodel::kOffloadActivations) && s.recipe.recompute.mode != RecomputeMode::None &&
              s.recipe.offload_layers > 0;
     },
     "the number of layers whose activations are in host memory: cpu_checkpointing takes all of them"},
    {kDeepSpeed | kTrainers, [](S s) { return offloads_to_nvme(s) && runs_in_deepspeed(s); },
     "nvme_path in zero_optimization: /local_nvme stands there for the folder of your disks"},
    // v0.19.6 deepspeed/runtime/zero/stage_1_and_2.py has no swapping.
    {kDeepSpeed | kTrainers,
     [](S s) { return offloads_to_nvme(s) && runs_in_deepspeed(s) && s.layout.sharding.stage < 3; },
     "optimizer states on NVMe: below ZeRO-3 DeepSpeed keeps them in host memory"},
    {(kAll & ~kDeepSpeed) | kTrainers, [](S s) { return offloads_to_nvme(s) && !runs_in_deepspeed(s); },
     "NVMe: what is offloaded goes to host memory"},
    {kNanotron, [](S s) { return (s.recipe.offload & ~costmodel::kOffloadActivations) != 0; },
     "states kept in host memory"},
    {kNanotron, [](S s) { return s.model.attention.kind == costmodel::AttentionKind::Latent; },
     "latent attention"},
    // MaxText.
    {kMaxText,
     [](S s) {
       return rope_scaling(s) && s.model.rotary.scaling != costmodel::RopeScaling::Linear &&
              s.model.rotary.scaling != costmodel::RopeScaling::Yarn && !maxtext_scales(s);
     },
     "this scaling of RoPE, or Llama 3.1's with other numbers than 8, 1, 4 and 8192"},
    {kMaxText, [](S s) { return s.model.rotary.base != std::floor(s.model.rotary.base); },
     "the fraction of RoPE's base"},
    {kMaxText, [](S s) { return s.layout.tp > 1 && !s.layout.sp; },
     "activations between products whole on every rank: MaxText's tensor axis cuts them along the hidden "
     "size"},
    {kMaxText, [](S s) { return s.layout.sharding.stage == 2; },
     "ZeRO-2: MaxText's fsdp axis shards parameters, too"},
    {kMaxText,
     [](S s) {
       return s.layout.sharding.stage < 2 && (s.layout.cp > 1 || (s.model.is_moe() && s.layout.ep > 1));
     },
     "parameters that context or expert ranks do not shard: MaxText's axes do"},
    {kMaxText, [](S s) { return s.layout.cp > 1 && s.layout.context != costmodel::ContextKind::AllGather; },
     "context parallelism by ring or all-to-all: the profile plans all-gather"},
    {kMaxText, [](S s) { return s.model.is_moe() && s.layout.expert_tensor() != s.layout.tp; },
     "another tensor-parallel degree of experts"},
    {kMaxText, [](S s) { return !stages_are_equal(s); }, "layers of every pipeline stage"},
    {kMaxText, [](S s) { return s.layout.pp > 1 && s.layout.schedule != ScheduleKind::GPipe; },
     "the pipeline schedule: MaxText runs all forward passes first (gpipe)"},
    {kMaxText, [](S s) { return s.layout.order != costmodel::Layout{}.order; }, "the order of ranks"},
    {kMaxText,
     [](S s) {
       return s.recipe.recompute.mode != RecomputeMode::Full &&
              s.recipe.recompute.mode != RecomputeMode::SelectiveOperators;
     },
     "this kind of recomputation: MaxText keeps at most the results of products and attention"},
    {kMaxText, [](S s) { return unsaid(s, "opt_type"); }, "the optimizer has no name in MaxText"},
    {kMaxText, [](S s) { return costmodel::is_quantized(s.recipe.precision) && unsaid(s, "quantization"); },
     "8-bit matrix products with scales of blocks"},
    {kMaxText, [](S s) { return s.recipe.attention == costmodel::AttentionKernel::FusedSoftmax; },
     "one kernel of softmax over stored scores"},
    {kMaxText, [](S s) { return s.recipe.cross_entropy != costmodel::CrossEntropy::Default; },
     "how the loss is computed: num_vocab_tiling is the number of its chunks"},
    {kMaxText, [](S s) { return offloads(s, costmodel::kOffloadActivations); },
     "activations kept in host memory: remat_policy qkv_proj_offloaded and minimal_offloaded take some"},
    {kMaxText, [](S s) { return offloads(s, costmodel::kOffloadOptimizer) && s.recipe.offload_fraction < 1; },
     "a share of the optimizer's states in host memory"},
    {kMaxText, costmodel::limits_experts,
     "which tokens are beyond a capacity: MaxText counts by sequence and drops the last ones"},
    {kMaxText, [](S s) { return limits_experts(s) && !pads_experts(s); },
     "experts that are not padded to their capacity: MaxText's are"},
    {kMaxText, [](S s) { return s.layout.partition_activations; },
     "checkpoints cut over tensor-parallel ranks"},
    // Trainers that load the model.
    {kTrainers, names_no_model,
     "the model: no preset made from the hub is it; give the folder of its config.json and weights"},
    {kTrainers, [](S s) { return s.recipe.fine_tune == costmodel::FineTune::Pretrain; },
     "training from random weights: the trainer starts from those that it loads"},
    {kTrainers,
     [](S s) {
       return s.recipe.fine_tune == costmodel::FineTune::Ia3 ||
              (trains_adapters(s.recipe) && s.recipe.trainable_parameters > 0);
     },
     "IA3, or a number of trained parameters: adapters of a rank alone have settings"},
    {kTrl | kLlamaFactory, [](S s) { return costmodel::is_quantized(s.recipe.precision); },
     "8-bit and 4-bit matrix products"},
    {kAxolotl,
     [](S s) {
       return costmodel::is_quantized(s.recipe.precision) && s.recipe.precision != costmodel::Precision::Fp8;
     },
     "block-scaled 8-bit and 4-bit matrix products"},
    {kTrl, [](S s) { return s.recipe.parameter_dtype && !trl_says_weights(s); },
     "the type in which parameters are kept"},
    {kAxolotl, [](S s) { return !axolotl_says_weights(s); },
     "the type in which parameters are kept: Axolotl loads them in the type that it computes in"},
    {kLlamaFactory, [](S s) { return s.recipe.parameter_dtype && !trains_pure_bf16(s); },
     "the type in which parameters are kept"},
    {kCore,
     [](S s) {
       return s.recipe.gradient_dtype == costmodel::DType::Bf16 &&
              s.recipe.precision != costmodel::Precision::Bf16 &&
              !costmodel::is_quantized(s.recipe.precision);
     },
     "gradients in bf16: Megatron-Core sums in bf16 beside bf16 products only"},
    {kAll & ~kMegatron, [](S s) { return s.recipe.moment_dtype.has_value(); },
     "the type in which moments are kept"},
    {kMegatron, [](S s) { return s.recipe.moment_dtype && s.layout.sharding.stage == 0; },
     "moments of another type: Megatron-LM's precision-aware optimizer needs the distributed optimizer "
     "(zero1)"},
    {kTrainers,
     [](S s) {
       return !by_deepspeed(s) &&
              s.recipe.gradient_dtype.value_or(s.framework.gradient_dtype) != s.framework.gradient_dtype;
     },
     "the type in which gradients are summed"},
    {kTrl | kLlamaFactory, [](S s) { return !leaves_optimizer_to_deepspeed(s) && unsaid(s, "optim"); },
     "the optimizer has no name there"},
    {kAxolotl, [](S s) { return !leaves_optimizer_to_deepspeed(s) && unsaid(s, "optimizer"); },
     "the optimizer has no name in Axolotl"},
    {kTrainers,
     [](S s) {
       return s.recipe.optimizer_in_backward && !costmodel::traits_of(s.recipe.optimizer).projects();
     },
     "the optimizer step inside backward"},
    {kTrainers,
     [](S s) {
       return s.recipe.recompute.mode != RecomputeMode::None &&
              s.recipe.recompute.mode != RecomputeMode::Full;
     },
     "this kind of recomputation: the trainer knows none and full"},
    {kTrainers, [](S s) { return s.recipe.attention == costmodel::AttentionKernel::FusedSoftmax; },
     "one kernel of softmax over stored scores"},
    {kTrainers, [](S s) { return s.recipe.dropout > 0; }, "dropout: it stands in the model's configuration"},
    {kTrl, [](S s) { return s.recipe.cross_entropy != costmodel::CrossEntropy::Chunked; },
     "the loss over all logits: TRL 1.16 computes it in chunks (--cross-entropy chunked)"},
    {kAxolotl | kLlamaFactory,
     [](S s) {
       return s.recipe.cross_entropy == costmodel::CrossEntropy::Fused ||
              s.recipe.cross_entropy == costmodel::CrossEntropy::Unfused;
     },
     "how the loss over all logits is computed"},
    {kDeepSpeed | kTrainers, [](S s) { return s.recipe.optimizer == costmodel::Optimizer::Sgd; },
     "SGD's momentum, without which it keeps no moment: optim_args momentum=0.9, or params of DeepSpeed's "
     "optimizer"},
    {kTrainers, [](S s) { return !by_deepspeed(s) && offloads(s, costmodel::kOffloadOptimizer); },
     "optimizer states alone in host memory: without DeepSpeed they go with the parameters"},
    {kLlamaFactory, [](S s) { return offloads(s, costmodel::kOffloadActivations); },
     "activations kept in host memory"},
    {kAxolotl,
     [](S s) {
       return offloads(s, costmodel::kOffloadActivations) && s.recipe.recompute.mode == RecomputeMode::None;
     },
     "activations kept in host memory: Axolotl offloads those of checkpointed layers alone"},
    {kTrl | kAxolotl,
     [](S s) { return offloads(s, costmodel::kOffloadActivations) && s.recipe.offload_layers > 0; },
     "the number of layers whose activations are in host memory: all of them"},
    {kTrl | kLlamaFactory, [](S s) { return shards_by_fsdp(s) && state_replicas(s) > 1; },
     "replicas of a sharded state: accelerate's parallelism_config says them"},
    {kTrainers,
     [](S s) {
       const costmodel::Sharding& sharding = s.layout.sharding;
       return !by_deepspeed(s) &&
              (sharding.hpz > 1 || sharding.quantized_weights || sharding.quantized_gradients);
     },
     "ZeRO++ (hpz, qwz, qgz)"},
    {kTrainers, [](S s) { return by_deepspeed(s) && s.layout.sharding.stage > 0 && state_replicas(s) > 1; },
     "replicas of a sharded state: DeepSpeed 0.19 has no mics_shard_size any more"},
    {kTrainers, costmodel::limits_experts, "the capacity factor of experts"},
    {kTrainers, [](S s) { return s.layout.partition_activations; },
     "checkpoints cut over tensor-parallel ranks"},
};

/// nanotron's Llama and Qwen2 (2411b02 src/nanotron/models/llama.py, qwen.py).
bool is_llama_like(const costmodel::ModelSpec& m) {
  const costmodel::AttentionSpec& a = m.attention;
  return !is_hybrid(m) && a.kind == costmodel::AttentionKind::Grouped && !a.qk_norm && !a.sinks &&
         !a.output_bias && a.softcap == 0 && a.score_width == 0 && m.norm == costmodel::NormKind::Rms &&
         m.norms_per_layer == 2 && !m.parallel_residual && m.positions == costmodel::PositionKind::Rotary &&
         m.rotary.share == 1 && m.mlp.gated && !m.mlp.bias &&
         m.mlp.activation == costmodel::Activation::Silu && !m.zero_centered_norm &&
         m.embedding_multiplier == 1 && m.residual_multiplier == 1 && m.logit_multiplier == 1 &&
         !m.norms_behind_branches && a.unrotated_period == 0 && a.unrotated_layers.empty() &&
         m.own_rule.empty() && m.logit_softcap == 0 && a.heads * a.head_dim == m.hidden;
}

/// torchtitan's Llama 3, Qwen3, DeepSeek-V3 and GPT-OSS (v0.2.2 torchtitan/models), whose classes take
/// dimensions.
bool torchtitan_has(const costmodel::ModelSpec& m) {
  constexpr std::string_view kFamilies[] = {"qwen3",       "qwen3_moe", "deepseek_v2",
                                            "deepseek_v3", "kimi_k2",   "gpt_oss"};
  if (std::find(std::begin(kFamilies), std::end(kFamilies), m.family) != std::end(kFamilies)) return true;
  costmodel::ModelSpec dense = m;
  dense.attention.qk_norm = false;  // Qwen3's
  dense.attention.head_dim = m.hidden / std::max<std::int64_t>(1, m.attention.heads);
  return !m.is_moe() && !m.attention.qkv_bias && is_llama_like(dense);
}

/// What a framework does not start at all. A row goes when the framework learns it.
struct Refusal {
  unsigned launchers;
  bool (*applies)(S);
  const char *rule, *reason, *advice;
};
constexpr Refusal kRefusals[] = {
    {kNanotron, [](S s) { return s.model.is_moe(); }, "nanotron-model",
     "nanotron's only model with experts is Qwen2's, which computes another function",
     "export it for Megatron-LM (--framework megatron)"},
    {kNanotron, [](S s) { return !is_llama_like(s.model); }, "nanotron-model",
     "nanotron has Llama and Qwen2; this model is neither",
     "export it for Megatron-LM (--framework megatron)"},
    // NVIDIA/Megatron-LM@d98e8a6 pretrain_hybrid.py and megatron/core/ssm/mamba_hybrid_layer_allocation.py.
    {kCore, [](S s) { return is_hybrid(s.model); }, "core-hybrid",
     "recurrent layers and gated attention have a training script and a pattern of layers of their own, "
     "which are not written",
     "take degrees, batch and recomputation from the plan into the framework's own recipe of the model"},
    // core_v0.15.3 megatron/core/transformer/transformer_config.py, __post_init__.
    {kMegatron,
     [](S s) {
       return s.model.attention.kind == costmodel::AttentionKind::Grouped &&
              s.model.attention.kv_heads % s.layout.tp != 0;
     },
     "megatron-kv-heads", "Megatron-LM cuts kv heads over tensor-parallel ranks and copies none",
     "use a tp that divides the kv heads"},
    {kMegatron, [](S s) { return s.model.is_moe() && has_linear_bias(s) && s.layout.expert_tensor() > 1; },
     "megatron-expert-bias", "Megatron-LM has experts with biases on one tensor-parallel rank alone",
     "use etp1"},
    // core_v0.15.3 megatron/training/arguments.py, validate_args.
    {kMegatron,
     [](S s) {
       return s.model.is_moe() && s.layout.ep > 1 && s.recipe.precision == costmodel::Precision::Fp16;
     },
     "megatron-fp16-experts", "Megatron-LM has no expert parallelism in fp16", "use bf16, or ep1"},
    // core_v0.15.3 megatron/core/transformer/moe/moe_layer.py, MoELayer.forward; main d98e8a6 as well.
    {kMegatron | kBridge, [](S s) { return s.model.is_moe() && s.layout.tp > 1 && !s.layout.sp; },
     "megatron-experts-want-sp",
     "Megatron-Core trains no experts under tensor parallelism without sequence parallelism",
     "add sp to the layout, or use tp1"},
    // core_v0.15.3 megatron/core/transformer/transformer_config.py, cuda_graph_impl; the one exception there,
    // graphs of attention alone (--cuda-graph-scope attn), no plan says.
    {kMegatron, [](S s) { return captures_graphs(s) && !unsaid(s, "--recompute-granularity"); },
     "megatron-graphs", "Megatron-LM captures no CUDA graphs where activations are recomputed",
     "use recompute none, or cuda_graphs none"},
    // Megatron-LM@cd4afff megatron/core/transformer/transformer_config.py, cuda_graph_impl.
    {kBridge,
     [](S s) {
       return s.recipe.execution.graphs == costmodel::CudaGraphs::Partial && s.recipe.recompute.of_layers();
     },
     "bridge-graphs", "Megatron-Core captures no CUDA graphs of layers that run again as a whole",
     "use cuda_graphs full_iteration or none, or another recomputation"},
    {kBridge,
     [](S s) {
       return s.recipe.execution.graphs == costmodel::CudaGraphs::Partial && offloads_counted_layers(s);
     },
     "bridge-graphs", "Megatron-Core captures no CUDA graphs of layers whose activations are offloaded",
     "use cuda_graphs full_iteration or none, or no offloading"},
    {kBridge, draws_in_graphs, "bridge-graphs",
     "Megatron-Core recomputes no dropout inside of CUDA graphs: attention, MLP or experts",
     "use dropout 0, cuda_graphs none, or another recomputation"},
    // v0.6.0 src/megatron/bridge/training/config.py, and Megatron-Core's own checks.
    {kBridge,
     [](S s) {
       const std::int64_t groups = s.model.attention.kv_heads;
       return s.model.attention.kind == costmodel::AttentionKind::Grouped && groups % s.layout.tp != 0 &&
              s.layout.tp % groups != 0;
     },
     "bridge-kv-heads", "Megatron-Core cuts kv heads over tensor-parallel ranks, or copies each as often",
     "use a tp that divides the kv heads, or is a multiple of them"},
    {kBridge, [](S s) { return s.model.is_moe() && has_linear_bias(s) && s.layout.expert_tensor() > 1; },
     "bridge-expert-bias", "Megatron-Core has experts with biases on one tensor-parallel rank alone",
     "use etp1"},
    {kBridge,
     [](S s) {
       const bool offloaded = offloads(s, costmodel::kOffloadOptimizer);
       return offloaded &&
              (s.layout.sharding.stage == 0 || s.recipe.optimizer != costmodel::Optimizer::AdamW);
     },
     "bridge-offload", "Megatron-Core's optimizer on the host is Adam, and a distributed one",
     "use zero1 and adamw"},
    {kBridge,
     [](S s) { return s.layout.sharding.stage >= 2 && s.layout.order[2] == costmodel::Axis::Pipeline; },
     "bridge-order", "Megatron FSDP has data-parallel ranks inside pipeline stages alone",
     "use the usual order of ranks"},
    // torchtitan's with torchft is one job per replica, which a lighthouse brings together
    // (pytorch/torchtitan@b5bcd76 torchtitan/experiments/torchft/README.md); a plan's files start one job.
    {kAll | kTrainers, [](S s) { return s.recipe.outer.taken(); }, "outer-steps",
     "replicas that train apart are jobs of their own, and a plan's files start one",
     "export the plan of one replica: its layout without diloco and outer-steps, its share of the global "
     "batch, and its GPUs"},
    {kTorchtitan, [](S s) { return !torchtitan_has(s.model); }, "torchtitan-model",
     "torchtitan has Llama 3, Qwen3, DeepSeek-V3 and GPT-OSS; this model is none of them",
     "export it for Megatron-LM or Megatron-Bridge (--framework megatron), or for a trainer (--target trl)"},
    // v0.2.2 torchtitan/models/llama3/infra/parallelize.py: fully_shard, or replicate.
    {kTorchtitan, [](S s) { return s.layout.sharding.stage == 1 && s.layout.shard_ranks() > 1; },
     "torchtitan-zero1", "torchtitan shards parameters along with the optimizer's states, or nothing",
     "use zero2, zero3 or zero0, or a framework that has ZeRO-1 (--framework megatron)"},
    {kTorchtitan, [](S s) { return runs_ddp(s) && s.layout.tp * s.layout.pp > 1; }, "torchtitan-ddp",
     "torchtitan has replicas of whole parameters in plain data parallelism alone, without tp and pp",
     "use zero2 or zero3"},
    {kMaxText, [](S s) { return decoder_block(s.model) == nullptr; }, "maxtext-model",
     "MaxText has no decoder block for this model, or none that is described here",
     "export it for Megatron-Bridge (--target bridge --framework megatron)"},
    {kMaxText, [](S s) { return !mesh_of(s).has_value(); }, "maxtext-mesh",
     "no axes of MaxText's mesh have the plan's groups and fill whole nodes",
     "use degrees that divide the GPUs of a node, and ep and cp that divide the shard group"},
    {kMaxText, [](S s) { return !maxtext_counts(s); }, "maxtext-pipeline",
     "MaxText's stages have equal layers, all with experts or none, and micro-batches that are a multiple of "
     "the stages",
     "use pp1, or a global batch of dp·pp·micro-batch times a whole number"},
    {kMaxText,
     [](S s) {
       const std::string_view block = decoder_block(s.model)->name;
       return s.recipe.optimizer == costmodel::Optimizer::Muon && block != "deepseek" && block != "qwen3" &&
              block != "llama2";
     },
     "maxtext-muon", "MaxText has not described this model's matrices for Muon", "use adamw"},
    // deepspeedai/DeepSpeed@1b88ac3 deepspeed/runtime/zero/config.py, offload_ratio_check.
    {kDeepSpeed | kTrainers,
     [](S s) {
       return runs_in_deepspeed(s) && offloads(s, costmodel::kOffloadOptimizer) &&
              s.recipe.offload_fraction < 1 && s.layout.sharding.stage < 3;
     },
     "deepspeed-offload-ratio", "DeepSpeed offloads a share of the optimizer's states under ZeRO-3 alone",
     "use zero3, or offload all of them (--offload-fraction 1)"},
    {kTrainers, [](S s) { return s.layout.tp > 1 || s.layout.cp > 1 || s.layout.pp > 1 || s.layout.ep > 1; },
     "trainer-layout", "Hugging Face's trainers shard what data-parallel ranks hold and cut nothing else",
     "use dp alone, with zero2 or zero3, or another framework"},
    {kTrainers,
     [](S s) {
       const int stage = s.layout.sharding.stage;
       return is_version_of(s.framework, "hf-eager") ? stage > 0 : !by_deepspeed(s) && stage < 2;
     },
     "trainer-sharding", "the Trainer shards by FSDP (ZeRO-2 and 3) or by DeepSpeed",
     "plan with --framework hf-fsdp2 or hf-deepspeed, or with hf-eager and no sharding"},
    {kAxolotl, [](S s) { return s.model.family == "mpt" && s.recipe.recompute.mode == RecomputeMode::Full; },
     "axolotl-checkpoints", "Axolotl checkpoints no layers of MPT", "use recompute none"},
    {kTrainers, [](S s) { return !runs_profile(find_launch_format("trl"), s.framework.name); },
     "trainer-profile", "the plan is another framework's",
     "plan with --framework hf-eager, hf-fsdp2 or hf-deepspeed"},
};

}  // namespace

std::optional<costmodel::Rejected> launch_rejection(const Scenario& scenario, Launcher launcher) {
  for (const Refusal& refusal : kRefusals) {
    if ((refusal.launchers & bit(launcher)) != 0 && refusal.applies(scenario))
      return costmodel::Rejected{refusal.rule, refusal.reason, refusal.advice};
  }
  return std::nullopt;
}

std::vector<std::string> launch_gaps(const Scenario& scenario, Launcher launcher, const ModelOrigin& origin) {
  std::vector<std::string> texts;
  for (const Gap& gap : kGaps) {
    if ((gap.launchers & bit(launcher)) == 0 || !gap.asked(scenario)) continue;
    if (gap.asked == names_no_model && !origin.load_by.empty()) continue;
    texts.emplace_back(gap.text);
  }
  if (const std::string text = other_profile(scenario, launcher); !text.empty()) texts.push_back(text);
  return texts;
}

}  // namespace hexaplan::presets
