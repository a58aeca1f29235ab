#include <algorithm>
#include <string>

#include "costmodel/spec/stage_plan.h"
#include "presets/launch/launch_fields.h"
#include "presets/launch/launch_words.h"

namespace hexaplan::presets {

using costmodel::Scenario;
using costmodel::ScheduleKind;
using costmodel::StageSplit;

namespace {

using S = const Scenario&;

// --- layers over stages ---

/// Layers ("t") per model chunk in model order, with embedding, prediction modules and loss, where Megatron's
/// own split would be another one.
JsonValue pipeline_layout(S s) {
  const int chunks = s.layout.pp * s.layout.vpp;
  const bool own_split = s.layout.split == StageSplit::Even && s.model.layers % chunks == 0;
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

JsonValue megatron_strategy(S s) {
  constexpr FrameworkWord<int> kWords[] = {{2, "optim_grads"}, {3, "optim_grads_params"}};
  return word_of(kWords, s.layout.sharding.stage);
}
/// torchtitan shards over dp·cp: cp is not part of its degree.
int torch_shard(S s) {
  return s.layout.sharding.stage >= 2 ? std::max(1, s.layout.shard_ranks() / s.layout.cp) : 1;
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

// Keys: Megatron-LM, nanotron, torchtitan, DeepSpeed; their sources stand in launch_formats().
constexpr LaunchField kLayoutSettings[] = {
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
    // Transformer Engine's userbuffers gather and scatter along the sequence.
    {[](S s) { return when(s.layout.sp && s.recipe.execution.tensor_overlap.value_or(false)); },
     {"--tp-comm-overlap"}},
    {[](S s) -> JsonValue { return s.layout.sp ? "REDUCE_SCATTER" : "ALL_REDUCE"; },
     {kNone, "parallelism.tp_mode"}},
    {[](S s) -> JsonValue {
       return s.layout.sp &&
              s.recipe.execution.tensor_backward_overlap.value_or(s.framework.tensor_backward_overlap);
     },
     {kNone, "parallelism.tp_linear_async_communication"}},
    {[](S s) { return when(s.layout.order[2] == costmodel::Axis::Pipeline && s.layout.cp == 1); },
     {"--use-tp-pp-dp-mapping"}},
    // What data-parallel ranks shard.
    {[](S s) { return when(s.layout.sharding.stage == 1); }, {"--use-distributed-optimizer"}},
    {[](S s) { return when(s.layout.sharding.stage >= 2); }, {"--use-megatron-fsdp"}},
    {megatron_strategy, {"--data-parallel-sharding-strategy"}},
    // The only one that Megatron FSDP saves in.
    {[](S s) { return only_if(s.layout.sharding.stage >= 2, "fsdp_dtensor"); }, {"--ckpt-format"}},
    {[](S s) { return only_if(s.layout.sharding.stage > 0 && state_replicas(s) > 1, state_replicas(s)); },
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
};

}  // namespace

std::span<const LaunchField> launch_layout_fields() {
  return kLayoutSettings;
}

}  // namespace hexaplan::presets
