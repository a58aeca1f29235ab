#include "presets/launch/launch_fields.h"

#include <algorithm>
#include <string>

#include "costmodel/spec/stage_plan.h"
#include "costmodel/units/ceil_div.h"

namespace hexaplan::presets {

using costmodel::AttentionKind;
using costmodel::DType;
using costmodel::Optimizer;
using costmodel::Precision;
using costmodel::RecomputeMode;
using costmodel::Scenario;
using costmodel::ScheduleKind;
using costmodel::StageSplit;

namespace {

using S = const Scenario&;

/// A flag without value, left out when it is not set.
JsonValue when(bool condition) {
  return condition ? JsonValue{true} : JsonValue{};
}
template <class T>
JsonValue only_if(bool condition, const T& value) {
  return condition ? JsonValue{value} : JsonValue{};
}
/// The word of the first row whose value it is; null when there is none.
template <class E>
struct FrameworkWord {
  E value;
  const char* word;
};
template <class E, std::size_t N>
JsonValue word_of(const FrameworkWord<E> (&table)[N], E value) {
  for (const FrameworkWord<E>& row : table) {
    if (row.value == value) return row.word;
  }
  return {};
}

// --- the step ---

DType gradient_dtype(S s) {
  return s.recipe.gradient_dtype.value_or(s.framework.gradient_dtype);
}
bool half(S s) {
  return costmodel::activation_dtype(s.recipe.precision) != DType::Fp32;
}
JsonValue torch_dtype(S s) {
  constexpr FrameworkWord<DType> kWords[] = {
      {DType::Bf16, "bfloat16"}, {DType::Fp16, "float16"}, {DType::Fp32, "float32"}};
  return word_of(kWords, costmodel::activation_dtype(s.recipe.precision));
}
JsonValue fp8_recipe(S s) {
  constexpr FrameworkWord<Precision> kWords[] = {
      {Precision::Fp8, "tensorwise"}, {Precision::Fp8Block, "blockwise"}, {Precision::Mxfp8, "mxfp8"}};
  return word_of(kWords, s.recipe.precision);
}
JsonValue converters(S s) {
  constexpr FrameworkWord<Precision> kWords[] = {{Precision::Fp8, "quantize.linear.float8"},
                                                 {Precision::Mxfp8, "quantize.linear.mx"}};
  const JsonValue word = word_of(kWords, s.recipe.precision);
  return word.is_null() ? word : JsonValue{JsonArray{word}};
}
JsonValue steps(S s) {
  return only_if(s.recipe.tokens > 0, costmodel::ceil_div(s.recipe.tokens, tokens_per_step(s.recipe)));
}
bool offloads(S s, costmodel::OffloadTarget target) {
  return (s.recipe.offload & target) != 0;
}
JsonValue offload_device(S s, costmodel::OffloadTarget target) {
  return only_if(offloads(s, target),
                 s.recipe.offload_device == costmodel::OffloadDevice::Cpu ? "cpu" : "nvme");
}

// --- recomputation ---

RecomputeMode mode(S s) {
  return s.recipe.recompute.mode;
}
JsonValue granularity(S s) {
  constexpr FrameworkWord<RecomputeMode> kWords[] = {{RecomputeMode::Full, "full"},
                                                     {RecomputeMode::Layers, "full"},
                                                     {RecomputeMode::Selective, "selective"},
                                                     {RecomputeMode::SelectiveModules, "selective"}};
  return word_of(kWords, mode(s));
}
JsonValue recompute_method(S s) {
  constexpr FrameworkWord<RecomputeMode> kWords[] = {{RecomputeMode::Full, "uniform"},
                                                     {RecomputeMode::Layers, "block"}};
  return word_of(kWords, mode(s));
}
JsonValue recompute_layers(S s) {
  if (mode(s) == RecomputeMode::Full) return 1;
  return only_if(mode(s) == RecomputeMode::Layers, s.recipe.recompute.layers);
}
JsonValue recompute_modules(S s) {
  if (mode(s) != RecomputeMode::SelectiveModules) return {};
  constexpr FrameworkWord<std::uint16_t> kModules[] = {
      {costmodel::kRecomputeCoreAttention, "core_attn"},
      {costmodel::kRecomputeNorm, "layernorm"},
      {costmodel::kRecomputeMlaUpProjection, "mla_up_proj"},
      {costmodel::kRecomputeMlp, "mlp"},
      {costmodel::kRecomputeMoe, "moe"},
      {costmodel::kRecomputeMoeActivation, "moe_act"},
      {costmodel::kRecomputeSharedExperts, "shared_experts"}};
  JsonArray list;
  for (const auto& row : kModules) {
    if ((s.recipe.recompute.modules & row.value) != 0) list.emplace_back(row.word);
  }
  return list;
}
JsonValue checkpoint_mode(S s) {
  constexpr FrameworkWord<RecomputeMode> kWords[] = {{RecomputeMode::None, "none"},
                                                     {RecomputeMode::Full, "full"},
                                                     {RecomputeMode::SelectiveOperators, "selective"}};
  return word_of(kWords, mode(s));
}

// --- layers over stages ---

/// Layers ("t") per model chunk in model order, with embedding, prediction modules and loss, where Megatron's
/// own split would be another one.
JsonValue pipeline_layout(S s) {
  const int chunks = s.layout.pp * s.layout.vpp;
  const bool own_split = s.layout.split == StageSplit::EmbeddingCounts ||
                         (s.layout.split == StageSplit::Even && s.model.layers % chunks == 0);
  if (s.layout.pp == 1 || own_split) return {};
  std::string text;
  for (const int layers : costmodel::chunk_layers(s)) {
    text += text.empty() ? 'E' : '|';
    text.append(static_cast<std::size_t>(layers), 't');
  }
  text.append(static_cast<std::size_t>(s.model.mtp_layers), 'm');
  return text + "L";
}
JsonValue virtual_stages(S s) {
  return only_if(s.layout.vpp > 1 && pipeline_layout(s).is_null(), s.layout.vpp);
}

// --- sharding over data-parallel ranks ---

/// Replicas of the sharded state.
int replicas(S s) {
  return s.layout.dp * s.layout.cp / s.layout.shard_ranks();
}
JsonValue megatron_strategy(S s) {
  constexpr FrameworkWord<int> kWords[] = {{2, "optim_grads"}, {3, "optim_grads_params"}};
  return word_of(kWords, s.layout.sharding.stage);
}
/// torchtitan shards over dp·cp: cp is not part of its degree.
int torch_shard(S s) {
  return s.layout.sharding.stage >= 2 ? std::max(1, s.layout.shard_ranks() / s.layout.cp) : 1;
}

// --- optimizers ---

JsonValue megatron_optimizer(S s) {
  constexpr FrameworkWord<Optimizer> kWords[] = {{Optimizer::AdamW, "adam"}, {Optimizer::Sgd, "sgd"}};
  return word_of(kWords, s.recipe.optimizer);
}
JsonValue nanotron_optimizer(S s) {
  constexpr FrameworkWord<Optimizer> kWords[] = {{Optimizer::AdamW, "adamW"}, {Optimizer::Sgd, "sgd"}};
  return word_of(kWords, s.recipe.optimizer);
}
JsonValue torch_optimizer(S s) {
  constexpr FrameworkWord<Optimizer> kWords[] = {{Optimizer::AdamW, "AdamW"}};
  return word_of(kWords, s.recipe.optimizer);
}
JsonValue deepspeed_optimizer(S s) {
  constexpr FrameworkWord<Optimizer> kWords[] = {{Optimizer::AdamW, "AdamW"},
                                                 {Optimizer::Lion, "Lion"},
                                                 {Optimizer::Lamb, "Lamb"},
                                                 {Optimizer::Sgd, "SGD"}};
  return word_of(kWords, s.recipe.optimizer);
}

// --- schedules and sequences ---

JsonValue nanotron_engine(S s) {
  constexpr FrameworkWord<ScheduleKind> kWords[] = {{ScheduleKind::OneFOneB, "1f1b"},
                                                    {ScheduleKind::GPipe, "afab"}};
  return word_of(kWords, s.layout.schedule);
}
JsonValue torch_schedule(S s) {
  constexpr FrameworkWord<ScheduleKind> kWords[] = {{ScheduleKind::GPipe, "GPipe"},
                                                    {ScheduleKind::OneFOneB, "1F1B"},
                                                    {ScheduleKind::Interleaved, "Interleaved1F1B"},
                                                    {ScheduleKind::Zbv, "ZBVZeroBubble"},
                                                    {ScheduleKind::DualPipeV, "DualPipeV"}};
  return s.layout.pp > 1 ? word_of(kWords, s.layout.schedule) : JsonValue{};
}
JsonValue megatron_context(S s) {
  constexpr FrameworkWord<costmodel::ContextKind> kWords[] = {
      {costmodel::ContextKind::Ring, "p2p"},
      {costmodel::ContextKind::AllGather, "allgather"},
      {costmodel::ContextKind::AllToAll, "a2a"}};
  return s.layout.cp > 1 ? word_of(kWords, s.layout.context) : JsonValue{};
}
/// "alltoall" shuffles the shards round by round: a ring.
JsonValue torch_context(S s) {
  constexpr FrameworkWord<costmodel::ContextKind> kWords[] = {
      {costmodel::ContextKind::Ring, "alltoall"}, {costmodel::ContextKind::AllGather, "allgather"}};
  return s.layout.cp > 1 ? word_of(kWords, s.layout.context) : JsonValue{};
}

// --- the model ---

/// Which layers have experts, as the Python expression that --moe-layer-freq takes: "([0]*3+[1]*58)".
JsonValue expert_layers(S s) {
  if (!s.model.is_moe()) return {};
  std::string text;
  std::int64_t moe_layers = 0;
  for (std::int64_t layer = 0; layer < s.model.layers;) {
    const bool moe = costmodel::class_of_layer(s.model, layer).moe;
    std::int64_t run = 0;
    for (; layer < s.model.layers && costmodel::class_of_layer(s.model, layer).moe == moe; ++layer) ++run;
    if (moe) moe_layers += run;
    text += (text.empty() ? "" : "+") + std::string{moe ? "[1]*" : "[0]*"} + std::to_string(run);
  }
  return only_if(moe_layers < s.model.layers, "(" + text + ")");
}
bool latent(S s) {
  return s.model.attention.kind == AttentionKind::Latent;
}
bool grouped(S s) {
  return !latent(s) && s.model.attention.kv_heads < s.model.attention.heads;
}
JsonValue positions(S s) {
  constexpr FrameworkWord<costmodel::PositionKind> kWords[] = {
      {costmodel::PositionKind::Rotary, "rope"},
      {costmodel::PositionKind::Learned, "learned_absolute"},
      {costmodel::PositionKind::None, "none"}};
  return word_of(kWords, s.model.positions);
}
std::int64_t position_rows(S s) {
  return std::max(s.model.max_positions, s.recipe.sequence);
}

constexpr std::string_view kNone;

// Keys: Megatron-LM, nanotron, torchtitan, DeepSpeed; their sources stand in launch_formats().
constexpr LaunchField kLaunchFields[] = {
    // The layout.
    {[](S s) -> JsonValue { return s.layout.dp; }, {kNone, "parallelism.dp"}},
    {[](S s) -> JsonValue { return s.layout.tp; },
     {"--tensor-model-parallel-size", "parallelism.tp", "parallelism.tensor_parallel_degree"}},
    {[](S s) { return only_if(s.layout.tp > 1, s.layout.tp); },
     {kNone, kNone, kNone, "tensor_parallel.autotp_size"}},
    {[](S s) -> JsonValue { return s.layout.pp; },
     {"--pipeline-model-parallel-size", "parallelism.pp", "parallelism.pipeline_parallel_degree"}},
    {virtual_stages, {"--num-virtual-stages-per-pipeline-rank"}},
    {pipeline_layout, {"--pipeline-model-parallel-layout"}},
    {[](S s) { return when(s.layout.split == StageSplit::EmbeddingCounts); },
     {"--account-for-embedding-in-pipeline-split"}},
    {[](S s) { return when(s.layout.split == StageSplit::EmbeddingCounts); },
     {"--account-for-loss-in-pipeline-split"}},
    {nanotron_engine, {kNone, "parallelism.pp_engine"}},
    {torch_schedule, {kNone, kNone, "parallelism.pipeline_parallel_schedule"}},
    {[](S s) {
       const int chunks = s.layout.pp * costmodel::chunks_per_stage(s.layout.schedule, s.layout.vpp);
       return only_if(s.layout.pp > 1 && s.model.layers % chunks == 0, s.model.layers / chunks);
     },
     {kNone, kNone, "parallelism.pipeline_parallel_layers_per_stage"}},
    // torchtitan's own split leaves room for embedding and head; ours has none.
    {[](S s) { return only_if(s.layout.pp > 1, 0); },
     {kNone, kNone, "parallelism.pipeline_parallel_first_stage_less_layers"}},
    {[](S s) { return only_if(s.layout.pp > 1, 0); },
     {kNone, kNone, "parallelism.pipeline_parallel_last_stage_less_layers"}},
    {[](S s) { return only_if(s.layout.pp > 1, s.recipe.micro_batch); },
     {kNone, kNone, "parallelism.pipeline_parallel_microbatch_size"}},
    {[](S s) -> JsonValue { return s.layout.cp; },
     {"--context-parallel-size", "parallelism.context_parallel_size", "parallelism.context_parallel_degree"}},
    {megatron_context, {"--cp-comm-type"}},
    {torch_context, {kNone, kNone, "parallelism.context_parallel_rotate_method"}},
    {[](S s) { return only_if(s.model.is_moe(), s.layout.ep); },
     {"--expert-model-parallel-size", "parallelism.expert_parallel_size",
      "parallelism.expert_parallel_degree"}},
    {[](S s) { return only_if(s.model.is_moe(), s.layout.expert_tensor()); },
     {"--expert-tensor-parallel-size", kNone, "parallelism.expert_tensor_parallel_degree"}},
    {[](S s) { return when(s.layout.sp); }, {"--sequence-parallel"}},
    {[](S s) -> JsonValue { return s.layout.sp ? "REDUCE_SCATTER" : "ALL_REDUCE"; },
     {kNone, "parallelism.tp_mode"}},
    {[](S s) -> JsonValue { return s.layout.sp && s.framework.tensor_overlap > 0; },
     {kNone, "parallelism.tp_linear_async_communication"}},
    {[](S s) { return when(s.layout.order[2] == costmodel::Axis::Pipeline && s.layout.cp == 1); },
     {"--use-tp-pp-dp-mapping"}},
    // What data-parallel ranks shard.
    {[](S s) { return when(s.layout.sharding.stage == 1); }, {"--use-distributed-optimizer"}},
    {[](S s) { return when(s.layout.sharding.stage >= 2); }, {"--use-megatron-fsdp"}},
    {megatron_strategy, {"--data-parallel-sharding-strategy"}},
    {[](S s) { return only_if(s.layout.sharding.stage > 0 && replicas(s) > 1, replicas(s)); },
     {"--num-distributed-optimizer-instances"}},
    {[](S s) { return when(s.framework.gradient_overlap != costmodel::GradientOverlap::None); },
     {"--overlap-grad-reduce"}},
    {[](S s) { return when(s.layout.sharding.stage > 0 && s.framework.parameter_gather_overlap); },
     {"--overlap-param-gather"}},
    {[](S s) -> JsonValue { return s.layout.dp / torch_shard(s); },
     {kNone, kNone, "parallelism.data_parallel_replicate_degree"}},
    {[](S s) -> JsonValue { return torch_shard(s); },
     {kNone, kNone, "parallelism.data_parallel_shard_degree"}},
    {[](S s) {
       return only_if(s.layout.sharding.stage >= 2, s.layout.sharding.stage == 3 ? "always" : "never");
     },
     {kNone, kNone, "parallelism.fsdp_reshard_after_forward"}},
    // The step.
    {[](S s) -> JsonValue { return s.recipe.global_batch; },
     {"--global-batch-size", kNone, "training.global_batch_size", "train_batch_size"}},
    {[](S s) -> JsonValue { return s.recipe.micro_batch; },
     {"--micro-batch-size", "tokens.micro_batch_size", kNone, "train_micro_batch_size_per_gpu"}},
    {[](S s) -> JsonValue {
       return s.layout.pp > 1 ? s.recipe.global_batch / s.layout.dp : s.recipe.micro_batch;
     },
     {kNone, kNone, "training.local_batch_size"}},
    {[](S s) -> JsonValue { return costmodel::microbatches_per_step(s); },
     {kNone, "tokens.batch_accumulation_per_replica", kNone, "gradient_accumulation_steps"}},
    {[](S s) -> JsonValue { return s.recipe.sequence; },
     {"--seq-length", "tokens.sequence_length", "training.seq_len"}},
    {steps, {"--train-iters", "tokens.train_steps", "training.steps"}},
    {[](S s) { return when(half(s) && s.recipe.precision != Precision::Fp16); }, {"--bf16"}},
    {[](S s) { return when(s.recipe.precision == Precision::Fp16); }, {"--fp16"}},
    {[](S s) { return only_if(!fp8_recipe(s).is_null(), "hybrid"); }, {"--fp8-format"}},
    {fp8_recipe, {"--fp8-recipe"}},
    {[](S s) { return only_if(s.recipe.precision == Precision::Nvfp4, "e2m1"); }, {"--fp4-format"}},
    {torch_dtype, {kNone, "model.dtype", "training.mixed_precision_param"}},
    {converters, {kNone, kNone, "model.converters"}},
    {[](S s) { return when(half(s) && s.recipe.precision != Precision::Fp16); },
     {kNone, kNone, kNone, "bf16.enabled"}},
    {[](S s) { return when(s.recipe.precision == Precision::Fp16); }, {kNone, kNone, kNone, "fp16.enabled"}},
    {[](S s) { return when(half(s) && gradient_dtype(s) == DType::Fp32); },
     {"--accumulate-allreduce-grads-in-fp32"}},
    {[](S s) { return when(gradient_dtype(s) == DType::Bf16); }, {"--grad-reduce-in-bf16"}},
    {[](S s) -> JsonValue { return half(s) && gradient_dtype(s) == DType::Fp32; },
     {kNone, "optimizer.accumulate_grad_in_fp32"}},
    {[](S s) {
       constexpr FrameworkWord<DType> kWords[] = {
           {DType::Fp32, "fp32"}, {DType::Bf16, "bf16"}, {DType::Fp16, "fp16"}};
       return word_of(kWords, gradient_dtype(s));
     },
     {kNone, kNone, kNone, "data_types.grad_accum_dtype"}},
    {[](S s) { return only_if(gradient_dtype(s) == DType::Fp32, "float32"); },
     {kNone, kNone, "training.mixed_precision_reduce"}},
    {megatron_optimizer, {"--optimizer"}},
    {nanotron_optimizer, {kNone, "optimizer.optimizer_factory.name"}},
    {torch_optimizer, {kNone, kNone, "optimizer.name"}},
    {deepspeed_optimizer, {kNone, kNone, kNone, "optimizer.type"}},
    {[](S s) { return when(s.recipe.optimizer_in_backward); },
     {kNone, kNone, "optimizer.early_step_in_backward"}},
    {[](S s) -> JsonValue { return std::min(s.layout.sharding.stage, 1); }, {kNone, "optimizer.zero_stage"}},
    // DeepSpeed's own ways of sharding.
    {[](S s) -> JsonValue { return s.layout.sharding.stage; },
     {kNone, kNone, kNone, "zero_optimization.stage"}},
    {[](S s) { return only_if(s.layout.sharding.hpz > 1, s.layout.sharding.hpz); },
     {kNone, kNone, kNone, "zero_optimization.zero_hpz_partition_size"}},
    {[](S s) { return when(s.layout.sharding.quantized_weights); },
     {kNone, kNone, kNone, "zero_optimization.zero_quantized_weights"}},
    {[](S s) { return when(s.layout.sharding.quantized_gradients); },
     {kNone, kNone, kNone, "zero_optimization.zero_quantized_gradients"}},
    {[](S s) { return only_if(s.layout.sharding.stage == 3 && replicas(s) > 1, s.layout.shard_ranks()); },
     {kNone, kNone, kNone, "zero_optimization.mics_shard_size"}},
    {[](S s) { return offload_device(s, costmodel::kOffloadOptimizer); },
     {kNone, kNone, kNone, "zero_optimization.offload_optimizer.device"}},
    {[](S s) { return offload_device(s, costmodel::kOffloadParameters); },
     {kNone, kNone, kNone, "zero_optimization.offload_param.device"}},
    {[](S s) { return when(offloads(s, costmodel::kOffloadOptimizer)); }, {"--optimizer-cpu-offload"}},
    {[](S s) { return when(offloads(s, costmodel::kOffloadParameters)); },
     {kNone, kNone, "training.enable_cpu_offload"}},
    // Memory against time.
    {granularity, {"--recompute-granularity"}},
    {recompute_method, {"--recompute-method"}},
    {recompute_layers, {"--recompute-num-layers"}},
    {recompute_modules, {"--recompute-modules"}},
    {[](S s) { return when(s.layout.partition_activations); },
     {"--distribute-saved-activations", kNone, kNone, "activation_checkpointing.partition_activations"}},
    {[](S s) { return when(offloads(s, costmodel::kOffloadActivations)); },
     {kNone, kNone, kNone, "activation_checkpointing.cpu_checkpointing"}},
    {[](S s) -> JsonValue { return mode(s) == RecomputeMode::Full; }, {kNone, "parallelism.recompute_layer"}},
    {checkpoint_mode, {kNone, kNone, "activation_checkpoint.mode"}},
    {[](S s) { return only_if(mode(s) == RecomputeMode::SelectiveOperators, "op"); },
     {kNone, kNone, "activation_checkpoint.selective_ac_option"}},
    {[](S s) -> JsonValue {
       return s.recipe.attention == costmodel::AttentionKernel::Flash ? "flash" : "unfused";
     },
     {"--attention-backend"}},
    {[](S s) { return when(costmodel::fuses_cross_entropy(s)); }, {"--cross-entropy-loss-fusion"}},
    {[](S s) -> JsonValue { return s.recipe.dropout; }, {"--attention-dropout"}},
    {[](S s) -> JsonValue { return s.recipe.dropout; }, {"--hidden-dropout"}},
    // The model.
    {[](S s) { return when(!s.model.is_moe()); }, {kNone, "model.model_config.is_llama_config"}},
    {[](S s) { return when(s.model.is_moe()); }, {kNone, "model.model_config.is_qwen2_config"}},
    {[](S s) -> JsonValue { return s.model.layers; },
     {"--num-layers", "model.model_config.num_hidden_layers"}},
    {[](S s) -> JsonValue { return s.model.hidden; }, {"--hidden-size", "model.model_config.hidden_size"}},
    {[](S s) -> JsonValue { return s.model.mlp.ffn; },
     {"--ffn-hidden-size", "model.model_config.intermediate_size"}},
    {[](S s) -> JsonValue { return s.model.attention.heads; },
     {"--num-attention-heads", "model.model_config.num_attention_heads"}},
    {[](S s) -> JsonValue { return s.model.attention.kv_heads; },
     {kNone, "model.model_config.num_key_value_heads"}},
    {[](S s) { return when(grouped(s)); }, {"--group-query-attention"}},
    {[](S s) { return only_if(grouped(s), s.model.attention.kv_heads); }, {"--num-query-groups"}},
    {[](S s) { return only_if(!latent(s), s.model.attention.head_dim); }, {"--kv-channels"}},
    {[](S s) { return when(latent(s)); }, {"--multi-latent-attention"}},
    {[](S s) {
       return only_if(latent(s) && s.model.attention.q_lora_rank > 0, s.model.attention.q_lora_rank);
     },
     {"--q-lora-rank"}},
    {[](S s) { return only_if(latent(s), s.model.attention.kv_lora_rank); }, {"--kv-lora-rank"}},
    {[](S s) { return only_if(latent(s), s.model.attention.qk_nope_dim); }, {"--qk-head-dim"}},
    {[](S s) { return only_if(latent(s), s.model.attention.qk_rope_dim); }, {"--qk-pos-emb-head-dim"}},
    {[](S s) { return only_if(latent(s), s.model.attention.v_head_dim); }, {"--v-head-dim"}},
    {[](S s) -> JsonValue { return s.model.norm == costmodel::NormKind::Rms ? "RMSNorm" : "LayerNorm"; },
     {"--normalization"}},
    {[](S s) { return when(s.model.mlp.gated); }, {"--swiglu"}},
    {[](S s) { return when(!s.model.mlp.bias); }, {"--disable-bias-linear"}},
    {[](S s) { return when(s.model.attention.qkv_bias && !s.model.mlp.bias); }, {"--add-qkv-bias"}},
    {[](S s) { return when(s.model.attention.qk_norm); }, {"--qk-layernorm"}},
    {positions, {"--position-embedding-type"}},
    {[](S s) -> JsonValue { return position_rows(s); },
     {"--max-position-embeddings", "model.model_config.max_position_embeddings"}},
    {[](S s) -> JsonValue { return s.model.vocab; }, {"--vocab-size", "model.model_config.vocab_size"}},
    {[](S s) -> JsonValue { return s.framework.vocab_multiple; },
     {"--make-vocab-size-divisible-by", "model.make_vocab_size_divisible_by"}},
    {[](S s) { return when(!s.model.tied_embeddings); }, {"--untie-embeddings-and-output-weights"}},
    {[](S s) -> JsonValue { return s.model.tied_embeddings; },
     {kNone, "model.model_config.tie_word_embeddings"}},
    {[](S s) { return only_if(s.model.mtp_layers > 0, s.model.mtp_layers); }, {"--mtp-num-layers"}},
    {[](S s) { return only_if(s.model.is_moe(), s.model.moe.experts); },
     {"--num-experts", "model.model_config.moe_config.num_experts"}},
    {[](S s) { return only_if(s.model.is_moe(), s.model.moe.top_k); },
     {"--moe-router-topk", "model.model_config.moe_config.top_k"}},
    {[](S s) { return only_if(s.model.is_moe(), s.model.moe.expert_ffn); }, {"--moe-ffn-hidden-size"}},
    {[](S s) { return only_if(s.model.moe.shared_ffn > 0, s.model.moe.shared_ffn); },
     {"--moe-shared-expert-intermediate-size"}},
    {[](S s) { return only_if(s.model.is_moe(), s.model.moe.shared_ffn > 0); },
     {kNone, "model.model_config.moe_config.enable_shared_expert"}},
    {expert_layers, {"--moe-layer-freq"}},
    {[](S s) { return only_if(s.model.is_moe(), "alltoall"); },
     {"--moe-token-dispatcher-type", "model.model_config.moe_config.token_dispatcher_type"}},
    {[](S s) { return when(s.model.is_moe()); }, {"--moe-grouped-gemm"}},
    {[](S s) { return only_if(s.recipe.routing.capacity_factor > 0, s.recipe.routing.capacity_factor); },
     {"--moe-expert-capacity-factor"}},
};

}  // namespace

std::span<const LaunchField> launch_fields() {
  return kLaunchFields;
}

}  // namespace hexaplan::presets
