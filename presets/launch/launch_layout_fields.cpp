#include <algorithm>
#include <optional>
#include <string>

#include "costmodel/memory/saved_rule.h"
#include "costmodel/spec/stage_plan.h"
#include "presets/launch/launch_fields.h"
#include "presets/launch/launch_readers.h"
#include "presets/launch/launch_reading.h"
#include "presets/launch/launch_words.h"

namespace hexaplan::presets {

using costmodel::Scenario;
using costmodel::ScheduleKind;
using costmodel::StageSplit;

namespace {

using S = const Scenario&;
using V = const ValueReader&;
using R = LaunchReading&;

// --- layers over stages ---

/// Layers ("t") per model chunk in model order, with embedding, prediction modules and loss, where Megatron's
/// own split would be another one.
JsonValue pipeline_layout(S s) {
  if (s.layout.pp == 1) return {};
  const std::vector<int> chunks = costmodel::chunk_layers(s);
  if (std::all_of(chunks.begin(), chunks.end(), [&](int layers) { return layers == chunks.front(); }))
    return {};
  std::string text;
  for (const int layers : chunks) {
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

JsonValue megatron_strategy(S s) {
  constexpr FrameworkWord<int> kWords[] = {{2, "optim_grads"}, {3, "optim_grads_params"}};
  return word_of(kWords, s.layout.sharding.stage);
}
/// torchtitan shards over dp·cp: cp is not part of its degree.
int torch_shard(S s) {
  return s.layout.sharding.stage >= 2 ? std::max(1, s.layout.shard_ranks() / s.layout.cp) : 1;
}

// --- schedules and sequences ---

constexpr FrameworkWord<ScheduleKind> kNanotronEngines[] = {{ScheduleKind::OneFOneB, "1f1b"},
                                                            {ScheduleKind::GPipe, "afab"}};
constexpr FrameworkWord<ScheduleKind> kTorchSchedules[] = {{ScheduleKind::GPipe, "GPipe"},
                                                           {ScheduleKind::OneFOneB, "1F1B"},
                                                           {ScheduleKind::Interleaved, "Interleaved1F1B"},
                                                           {ScheduleKind::Zbv, "ZBVZeroBubble"},
                                                           {ScheduleKind::DualPipeV, "DualPipeV"}};
/// As TransformerConfig hands them to Transformer Engine, which raises at any other (core_v0.15.3
/// megatron/core/transformer/transformer_config.py, cp_comm_type; TransformerEngine@d0067d0
/// transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py). "allgather" stands in the
/// help of --cp-comm-type, and so in scripts.
constexpr FrameworkWord<costmodel::ContextKind> kMegatronContexts[] = {
    {costmodel::ContextKind::Ring, "p2p"},
    {costmodel::ContextKind::AllGather, "all_gather"},
    {costmodel::ContextKind::AllGather, "allgather"},
    {costmodel::ContextKind::AllToAll, "a2a"}};
/// "alltoall" shuffles the shards round by round: a ring.
constexpr FrameworkWord<costmodel::ContextKind> kTorchContexts[] = {
    {costmodel::ContextKind::Ring, "alltoall"}, {costmodel::ContextKind::AllGather, "allgather"}};

JsonValue nanotron_engine(S s) {
  return word_of(kNanotronEngines, s.layout.schedule);
}
JsonValue torch_schedule(S s) {
  return s.layout.pp > 1 ? word_of(kTorchSchedules, s.layout.schedule) : JsonValue{};
}
JsonValue megatron_context(S s) {
  return s.layout.cp > 1 ? word_of(kMegatronContexts, s.layout.context) : JsonValue{};
}
JsonValue torch_context(S s) {
  return s.layout.cp > 1 ? word_of(kTorchContexts, s.layout.context) : JsonValue{};
}

bool overlaps_data(S s) {
  return s.recipe.execution.data_overlap.value_or(s.framework.gradient_overlap !=
                                                  costmodel::GradientOverlap::None);
}

// --- degrees as they are read ---

template <std::optional<bool> costmodel::Execution::*choice>
void read_execution(V v, R r) {
  if (v.boolean()) r.plan.recipe.execution.*choice = true;
}
/// Axes as --use-tp-pp-dp-mapping has them.
constexpr std::array<costmodel::Axis, 4> kPipelineInside = {costmodel::Axis::Tensor, costmodel::Axis::Context,
                                                            costmodel::Axis::Pipeline, costmodel::Axis::Data};

// Keys: Megatron-LM, nanotron, torchtitan, DeepSpeed, Megatron-Bridge, MaxText; their sources stand in
// launch_formats().
constexpr LaunchField kLayoutSettings[] = {
    // The layout.
    {[](S s) -> JsonValue { return s.layout.dp; },
     {kNone, "parallelism.dp"},
     [](V v, R r) {
       read_degree<&costmodel::Layout::dp>(v, r);
       r.dp_said = true;
     }},
    {[](S s) -> JsonValue { return s.layout.tp; },
     {"--tensor-model-parallel-size", "parallelism.tp", "parallelism.tensor_parallel_degree", kNone,
      "model.tensor_model_parallel_size"},
     read_degree<&costmodel::Layout::tp>},
    // DeepSpeed's own, of Hugging Face's models: no profile plans it.
    {[](S) { return JsonValue{}; },
     {kNone, kNone, kNone, "tensor_parallel.autotp_size"},
     read_degree<&costmodel::Layout::tp>},
    {[](S s) -> JsonValue { return s.layout.pp; },
     {"--pipeline-model-parallel-size", "parallelism.pp", "parallelism.pipeline_parallel_degree", kNone,
      "model.pipeline_model_parallel_size"},
     read_degree<&costmodel::Layout::pp>},
    {virtual_stages,
     {"--num-virtual-stages-per-pipeline-rank", kNone, kNone, kNone,
      "model.virtual_pipeline_model_parallel_size"},
     read_degree<&costmodel::Layout::vpp>},
    {pipeline_layout,
     {"--pipeline-model-parallel-layout", kNone, kNone, kNone, "model.pipeline_model_parallel_layout"},
     [](V v, R r) { r.stage_text = v.text(); }},
    {nanotron_engine,
     {kNone, "parallelism.pp_engine"},
     [](V v, R r) { r.plan.layout.schedule = meaning_of(kNanotronEngines, v); }},
    {torch_schedule,
     {kNone, kNone, "parallelism.pipeline_parallel_schedule"},
     [](V v, R r) { r.plan.layout.schedule = meaning_of(kTorchSchedules, v); }},
    {[](S s) {
       const int chunks = s.layout.pp * costmodel::chunks_per_stage(s.layout.schedule, s.layout.vpp);
       return only_if(s.layout.pp > 1 && s.model.layers % chunks == 0, s.model.layers / chunks);
     },
     {kNone, kNone, "parallelism.pipeline_parallel_layers_per_stage"},
     [](V v, R r) { r.layers_per_stage = v.integer(kPositive); }},
    // torchtitan's own split leaves room for embedding and head; ours has none.
    {[](S s) { return only_if(s.layout.pp > 1, 0); },
     {kNone, kNone, "parallelism.pipeline_parallel_first_stage_less_layers"}},
    {[](S s) { return only_if(s.layout.pp > 1, 0); },
     {kNone, kNone, "parallelism.pipeline_parallel_last_stage_less_layers"}},
    {[](S s) { return only_if(s.layout.pp > 1, s.recipe.micro_batch); },
     {kNone, kNone, "parallelism.pipeline_parallel_microbatch_size"},
     [](V v, R r) { r.pipeline_batch = v.integer(kPositive); }},
    {[](S s) -> JsonValue { return s.layout.cp; },
     {"--context-parallel-size", "parallelism.context_parallel_size", "parallelism.context_parallel_degree",
      kNone, "model.context_parallel_size"},
     read_degree<&costmodel::Layout::cp>},
    {megatron_context,
     {"--cp-comm-type", kNone, kNone, kNone, "model.cp_comm_type"},
     [](V v, R r) { r.plan.layout.context = meaning_of(kMegatronContexts, v); }},
    {torch_context,
     {kNone, kNone, "parallelism.context_parallel_rotate_method"},
     [](V v, R r) { r.plan.layout.context = meaning_of(kTorchContexts, v); }},
    {[](S s) { return only_if(s.model.is_moe(), s.layout.ep); },
     {"--expert-model-parallel-size", "parallelism.expert_parallel_size",
      "parallelism.expert_parallel_degree", kNone, "model.expert_model_parallel_size"},
     read_degree<&costmodel::Layout::ep>},
    {[](S s) { return only_if(s.model.is_moe(), s.layout.expert_tensor()); },
     {"--expert-tensor-parallel-size", kNone, "parallelism.expert_tensor_parallel_degree", kNone,
      "model.expert_tensor_parallel_size"},
     read_degree<&costmodel::Layout::etp>},
    {[](S s) { return when(s.layout.sp); },
     {"--sequence-parallel", kNone, kNone, kNone, "model.sequence_parallel"},
     [](V v, R r) { r.plan.layout.sp = v.boolean(); }},
    // Transformer Engine's userbuffers gather and scatter along the sequence.
    {[](S s) { return when(s.layout.sp && s.recipe.execution.tensor_overlap.value_or(false)); },
     {"--tp-comm-overlap", kNone, kNone, kNone, "model.tp_comm_overlap"},
     read_execution<&costmodel::Execution::tensor_overlap>},
    {[](S s) -> JsonValue { return s.layout.sp ? "REDUCE_SCATTER" : "ALL_REDUCE"; },
     {kNone, "parallelism.tp_mode"},
     [](V v, R r) {
       constexpr FrameworkWord<bool> kModes[] = {{true, "REDUCE_SCATTER"}, {false, "ALL_REDUCE"}};
       r.plan.layout.sp = meaning_of(kModes, v);
     }},
    {[](S s) -> JsonValue {
       return s.layout.sp &&
              s.recipe.execution.tensor_backward_overlap.value_or(s.framework.tensor_backward_overlap);
     },
     {kNone, "parallelism.tp_linear_async_communication"}},
    {[](S s) { return when(s.layout.order[2] == costmodel::Axis::Pipeline && s.layout.cp == 1); },
     {"--use-tp-pp-dp-mapping", kNone, kNone, kNone, "dist.use_tp_pp_dp_mapping"},
     [](V v, R r) {
       if (v.boolean()) r.plan.layout.order = kPipelineInside;
     }},
    // What data-parallel ranks shard.
    {[](S s) { return when(s.layout.sharding.stage == 1); },
     {"--use-distributed-optimizer", kNone, kNone, kNone, "ddp.use_distributed_optimizer"},
     read_flag<&LaunchReading::distributed_optimizer>},
    {[](S s) { return when(s.layout.sharding.stage >= 2); },
     {"--use-megatron-fsdp", kNone, kNone, kNone, "ddp.use_megatron_fsdp"},
     read_flag<&LaunchReading::fsdp>},
    {megatron_strategy,
     {"--data-parallel-sharding-strategy", kNone, kNone, kNone, "ddp.data_parallel_sharding_strategy"},
     [](V v, R r) { r.strategy = v.text(); }},
    // The only one that Megatron FSDP saves in.
    {[](S s) { return only_if(s.layout.sharding.stage >= 2, "fsdp_dtensor"); },
     {"--ckpt-format", kNone, kNone, kNone, "checkpoint.ckpt_format"}},
    {[](S s) { return only_if(s.layout.sharding.stage > 0 && state_replicas(s) > 1, state_replicas(s)); },
     {"--num-distributed-optimizer-instances", kNone, kNone, kNone,
      "ddp.num_distributed_optimizer_instances"},
     [](V v, R r) { r.replicas = v.integer(kDegreeRange); }},
    {[](S s) { return when(overlaps_data(s)); },
     {"--overlap-grad-reduce", kNone, kNone, kNone, "ddp.overlap_grad_reduce"},
     read_flag<&LaunchReading::overlaps_gradients>},
    {[](S s) {
       return when(s.layout.sharding.stage > 0 &&
                   s.recipe.execution.data_overlap.value_or(s.framework.parameter_gather_overlap));
     },
     {"--overlap-param-gather", kNone, kNone, kNone, "ddp.overlap_param_gather"}},
    {[](S s) { return when(s.recipe.execution.tensor_overlap.value_or(false)); },
     {kNone, kNone, "parallelism.enable_async_tensor_parallel"},
     read_execution<&costmodel::Execution::tensor_overlap>},
    {[](S s) { return when(s.recipe.execution.expert_overlap.value_or(false) && can_overlap_experts(s)); },
     {"--overlap-moe-expert-parallel-comm", kNone, kNone, kNone, "model.overlap_moe_expert_parallel_comm"},
     read_execution<&costmodel::Execution::expert_overlap>},
    {[](S s) { return when(costmodel::compiles_layers(s)); },
     {kNone, kNone, "compile.enable"},
     read_execution<&costmodel::Execution::compiled>},
    {[](S s) -> JsonValue { return s.layout.dp / torch_shard(s); },
     {kNone, kNone, "parallelism.data_parallel_replicate_degree"},
     [](V v, R r) { r.replicas = v.integer(kDegreeRange); }},
    {[](S s) -> JsonValue { return torch_shard(s); },
     {kNone, kNone, "parallelism.data_parallel_shard_degree"},
     [](V v, R r) {
       r.shards = v.integer({-1, kDegreeRange.high});
     }},
    {[](S s) {
       return only_if(s.layout.sharding.stage >= 2 && s.layout.shard_ranks() > 1,
                      s.layout.sharding.stage == 3 ? "always" : "never");
     },
     {kNone, kNone, "parallelism.fsdp_reshard_after_forward"},
     [](V v, R r) { r.strategy = v.text(); }},
};

}  // namespace

std::span<const LaunchField> launch_layout_fields() {
  return kLayoutSettings;
}

}  // namespace hexaplan::presets
