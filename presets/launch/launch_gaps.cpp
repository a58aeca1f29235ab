#include <cstdint>
#include <string>

#include "presets/launch/launch_fields.h"

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
                   kTorchtitan = bit(Launcher::Torchtitan), kDeepSpeed = bit(Launcher::DeepSpeed);
constexpr unsigned kAll = kMegatron | kNanotron | kTorchtitan | kDeepSpeed;

/// The setting of `launcher` under `key` is left out for want of a word.
bool unsaid(S s, std::string_view key) {
  for (const LaunchField& field : launch_fields()) {
    for (const std::string_view name : field.keys) {
      if (name == key) return field.value(s).is_null();
    }
  }
  return true;
}

/// Something that a plan may ask and some launchers cannot say.
struct Gap {
  unsigned launchers;
  bool (*asked)(S);
  const char* text;
};
constexpr Gap kGaps[] = {
    {kAll, [](S) { return true; }, "data, tokenizer, learning rate and checkpoints are yours to add"},
    {kTorchtitan, [](S) { return true; },
     "model.name and model.flavor: choose the flavor that has the plan's dimensions"},
    {kDeepSpeed, [](S) { return true; }, "the model and its sequence length stand in the program"},
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
    {kMegatron,
     [](S s) {
       return s.layout.pp > 1 && s.layout.schedule != ScheduleKind::OneFOneB &&
              s.layout.schedule != ScheduleKind::Interleaved;
     },
     "the pipeline schedule: Megatron-LM runs 1f1b and interleaved"},
    {kNanotron, [](S s) { return s.layout.pp > 1 && unsaid(s, "parallelism.pp_engine"); },
     "the pipeline schedule: nanotron runs 1f1b and gpipe"},
    {kTorchtitan, [](S s) { return s.layout.pp > 1 && unsaid(s, "parallelism.pipeline_parallel_schedule"); },
     "the pipeline schedule has no name in torchtitan"},
    {kNanotron | kTorchtitan | kDeepSpeed,
     [](S s) { return s.layout.split == costmodel::StageSplit::Explicit; }, "layers of every pipeline stage"},
    {kNanotron, [](S s) { return s.layout.sharding.stage > 1; }, "ZeRO beyond stage 1"},
    {kTorchtitan, [](S s) { return s.layout.sharding.stage == 1; },
     "ZeRO-1: torchtitan shards parameters too, or nothing"},
    {kMegatron | kNanotron | kTorchtitan,
     [](S s) {
       return s.layout.sharding.hpz > 1 || s.layout.sharding.quantized_weights ||
              s.layout.sharding.quantized_gradients;
     },
     "ZeRO++ (hpz, qwz, qgz)"},
    {kNanotron | kTorchtitan | kDeepSpeed, [](S s) { return s.layout.order != costmodel::Layout{}.order; },
     "the order of ranks"},
    {kMegatron,
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
    {kNanotron, [](S s) { return unsaid(s, "optimizer.optimizer_factory.name"); },
     "the optimizer has no name in nanotron"},
    {kTorchtitan, [](S s) { return unsaid(s, "optimizer.name"); }, "the optimizer has no name in torchtitan"},
    {kDeepSpeed, [](S s) { return unsaid(s, "optimizer.type"); }, "the optimizer has no name in DeepSpeed"},
    {kMegatron | kNanotron | kDeepSpeed, [](S s) { return s.recipe.optimizer_in_backward; },
     "the optimizer step inside backward"},
    {kMegatron, [](S s) { return s.recipe.recompute.mode == RecomputeMode::SelectiveOperators; },
     "recomputation by operator"},
    {kTorchtitan, [](S s) { return unsaid(s, "activation_checkpoint.mode"); },
     "this kind of recomputation: torchtitan knows none, full and selective-op"},
    {kNanotron,
     [](S s) {
       return s.recipe.recompute.mode != RecomputeMode::None &&
              s.recipe.recompute.mode != RecomputeMode::Full;
     },
     "this kind of recomputation: nanotron knows none and full"},
    {kMegatron, [](S s) { return !s.recipe.recompute.stage_layers.empty(); },
     "recomputed layers that differ from stage to stage"},
    {kAll, [](S s) { return costmodel::trains_adapters(s.recipe); }, "adapters instead of all parameters"},
    {kMegatron | kTorchtitan | kNanotron,
     [](S s) { return (s.recipe.offload & costmodel::kOffloadActivations) != 0; },
     "activations kept in host memory"},
    {kNanotron, [](S s) { return (s.recipe.offload & ~costmodel::kOffloadActivations) != 0; },
     "states kept in host memory"},
    {kNanotron, [](S s) { return s.model.attention.kind == costmodel::AttentionKind::Latent; },
     "latent attention"},
};

}  // namespace

std::vector<std::string> launch_gaps(const Scenario& scenario, Launcher launcher) {
  std::vector<std::string> texts;
  for (const Gap& gap : kGaps) {
    if ((gap.launchers & bit(launcher)) != 0 && gap.asked(scenario)) texts.emplace_back(gap.text);
  }
  return texts;
}

}  // namespace hexaplan::presets
