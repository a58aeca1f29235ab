// Two tables of words that are accepted and move less than they promise. A row goes when the code comes;
// tests/presets/scenario/silent_knobs_test.cpp turns every word and fails on one that moves nothing and is
// not named here.
#include "costmodel/program/not_modelled.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/parameters/adapters.h"
#include "costmodel/program/replay_memory.h"
#include "costmodel/program/working_sets.h"
#include "costmodel/spec/recompute_modules.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::costmodel {
namespace {

struct KnobRow {
  const char* knob;
  bool (*said)(const Scenario&);
  const char* effect;
};

bool offloads(const Scenario& s, OffloadTarget target) {
  return (s.recipe.offload & target) != 0;
}
/// ZeRO-3 alone gathers and updates piece by piece; one rank gathers nothing.
bool sizes_in_vain(const Scenario& s) {
  const bool pieces = s.layout.sharding.stage >= 3;
  ZeroSizes sizes = s.recipe.sizes;
  sizes.reduce_bucket.reset();
  if (pieces) sizes.update_group.reset();
  return sizes != ZeroSizes{} && (!pieces || s.layout.shard_ranks() == 1);
}
bool offloads_states(const Scenario& s) {
  return offloads(s, kOffloadOptimizer) || offloads(s, kOffloadParameters);
}
/// ZeRO++ is an affair of ZeRO-3 (deepspeedai/DeepSpeed docs/_tutorials/zeropp.md: "stage": 3).
bool zero_plus_plus_applies(const Scenario& s) {
  return s.layout.sharding.stage >= 3;
}
/// ZeRO-R cuts what a recomputed layer keeps, its input, over tp; sequence parallelism has cut it already.
bool partitions_activations(const Scenario& s) {
  return s.recipe.recompute.of_layers() && program::cuts_checkpoints(s);
}

/// Gradients are asked to wait for the last micro-batch, and are reduced in every one nevertheless.
bool waits_in_vain(const Scenario& s) {
  const GradientReduction asked = s.recipe.execution.reduction;
  return asked > GradientReduction::Every && gradient_reduction(s) != asked;
}

/// Every schedule after the interleaved one puts weight gradients off; the replay counts what they keep.
bool splits_backward_of_recomputed_layers(const Scenario& s) {
  return s.layout.schedule > ScheduleKind::Interleaved && s.layout.pp > 1 && s.recipe.recompute.of_layers() &&
         !s.framework.replays_parameters && !needs_replay(s);
}

constexpr unsigned kCompiledCases = bit_of(SavedCase::Compiled) | bit_of(SavedCase::NotCompiled);
bool compiles(const Scenario& s) {
  return s.recipe.execution.compiled == true && s.framework.abilities.asked_execution;
}
/// The profile has kernels of their own for one of `cases`.
bool fuses_where(const Scenario& s, unsigned cases) {
  return std::ranges::any_of(s.framework.elementwise_when,
                             [&](const ElementwiseOverride& rule) { return (rule.cases & cases) != 0; });
}

constexpr KnobRow kNotModelled[] = {
    {"fine-tune",
     [](const Scenario& s) {
       return s.framework.adapters_by_operation && trains_adapters(s.recipe) && !adapters_are_operations(s);
     },
     "what the adapters' products keep for backward"},
    {"lora-alpha", [](const Scenario& s) { return s.recipe.lora_alpha > 0 && adapter_rank(s) > 0; },
     "a multiplier has no bytes and takes no time: losses of `run` and exported files follow it"},
    {"dora",
     [](const Scenario& s) {
       return learns_magnitudes(s.recipe) && s.layout.tp > 1 && !s.framework.adapters_by_operation;
     },
     // NVIDIA-NeMo/Megatron-Bridge@2afd2d3 src/megatron/bridge/peft/dora_layers.py, _get_weight_norm.
     "the gathering of adapters' matrices over tensor-parallel ranks whenever lengths of rows are measured"},
    {"compile",
     [](const Scenario& s) {
       return compiles(s) && !s.recipe.recompute.of_layers() && !fuses_where(s, kCompiledCases);
     },
     "what a compiler would fuse of this framework's kernels: the host alone issues fewer"},
    {"compile",
     [](const Scenario& s) {
       return compiles(s) && s.recipe.recompute.of_layers() && fuses_where(s, bit_of(SavedCase::Compiled));
     },
     "what a compiler would fuse: checkpoints break its graph at every recomputed layer, and published steps "
     "gained nothing"},
    {"params-dtype fp8", [](const Scenario& s) { return s.recipe.parameter_dtype == DType::Fp8; },
     "the transposed second copy of 8-bit weights and their gathering in 8 bits"},
    {"model's further parts", [](const Scenario& s) { return !s.model.not_counted.empty(); },
     "vision or audio towers and what joins them to the language model: neither their parameters nor their "
     "memory and time"},
    {"norms over all heads",
     [](const Scenario& s) {
       const AttentionSpec& a = s.model.attention;
       return a.qk_norm && a.qk_norm_scope == QkNormScope::Row && s.layout.tp > 1;
     },
     "the sum over tensor-parallel ranks that norms of whole query and key rows take: two numbers of each "
     "token and layer"},
    {"recompute with a split backward", splits_backward_of_recomputed_layers,
     "memory of both factors of every weight gradient that waits for its pass (arXiv:2401.10241 section 2): "
     "the layers' inputs alone are counted"},
};

bool recomputes_more_layers_than_a_chunk_has(const Scenario& s) {
  const Recompute& recompute = s.recipe.recompute;
  const Layout& l = s.layout;
  if (recompute.mode != RecomputeMode::Layers || !recompute.stage_layers.empty() || l.pp < 1 || l.vpp < 1)
    return false;
  const std::vector<int> layers = chunk_layers(s);
  return std::ranges::all_of(layers, [&](int n) { return n < recompute.layers; });
}

/// A module that is asked for, and that no layer of the model has.
template <std::uint16_t kModule>
bool recomputes_what_is_not_there(const Scenario& s) {
  const Recompute& r = s.recipe.recompute;
  return r.mode == RecomputeMode::SelectiveModules && (r.modules & kModule) != 0 &&
         (recompute_modules_of(s.model) & kModule) == 0;
}

bool has_one_axis(const Layout& l) {
  return (l.tp > 1) + (l.cp > 1) + (l.dp > 1) + (l.pp > 1) <= 1;
}

const Execution& asked(const Scenario& s) {
  return s.recipe.execution;
}

constexpr KnobRow kWithoutEffect[] = {
    {"recomputed layers beyond those of a model chunk", recomputes_more_layers_than_a_chunk_has,
     "all layers are recomputed, as with recompute full"},
    {"recompute modules=mla_up_proj", recomputes_what_is_not_there<kRecomputeMlaUpProjection>,
     "the model has no latent attention"},
    {"recompute modules=mlp", recomputes_what_is_not_there<kRecomputeMlp>, "no layer of the model is dense"},
    {"recompute modules=act", recomputes_what_is_not_there<kRecomputeActivation>,
     "no layer of the model is dense"},
    {"recompute modules=moe", recomputes_what_is_not_there<kRecomputeMoe>, "the model has no experts"},
    {"recompute modules=moe_act", recomputes_what_is_not_there<kRecomputeMoeActivation>,
     "the model has no experts"},
    {"recompute modules=shared_experts", recomputes_what_is_not_there<kRecomputeSharedExperts>,
     "the model has no shared experts"},
    {"lora-targets",
     [](const Scenario& s) {
       return s.recipe.lora_targets != AdapterTargets::AllLinear && !trains_low_rank(s.recipe);
     },
     "only fine-tune lora, qlora and lora-8bit train adapters beside chosen layers"},
    {"lora-rank", [](const Scenario& s) { return s.recipe.lora_rank > 0 && !trains_low_rank(s.recipe); },
     "only fine-tune lora, qlora and lora-8bit train adapters that have a rank"},
    {"lora-alpha", [](const Scenario& s) { return s.recipe.lora_alpha > 0 && !trains_low_rank(s.recipe); },
     "only fine-tune lora, qlora and lora-8bit train adapters that are scaled"},
    {"double-quantization",
     [](const Scenario& s) { return s.recipe.double_quantization && s.recipe.fine_tune != FineTune::Qlora; },
     "only fine-tune qlora keeps weights in 4 bits, which have scales"},
    {"params-dtype",
     [](const Scenario& s) {
       return s.recipe.parameter_dtype && activation_dtype(s.recipe.precision) == DType::Fp32 &&
              *s.recipe.parameter_dtype != DType::Fp32 && !trains_adapters(s.recipe);
     },
     "precision fp32 and tf32 train fp32 parameters"},
    {"trainable_parameters",
     [](const Scenario& s) { return s.recipe.trainable_parameters > 0 && !trains_adapters(s.recipe); },
     "all parameters are trained; fine-tune lora or qlora trains some"},
    {"routing-imbalance",
     [](const Scenario& s) { return s.recipe.routing.imbalance > 1 && !s.model.is_moe(); },
     "the model has no experts"},
    {"capacity-factor", [](const Scenario& s) { return s.recipe.routing.drops() && !s.model.is_moe(); },
     "the model has no experts"},
    {"capacity-factor",
     [](const Scenario& s) {
       const MoeRouting& r = s.recipe.routing;
       return s.model.is_moe() && r.drops() && !r.pads() && r.capacity_factor >= r.imbalance;
     },
     "nothing is dropped in the numbers, where no expert gets more than routing-imbalance times the mean; "
     "a real router drops what it overfills"},
    {"pad-to-capacity",
     [](const Scenario& s) { return s.recipe.routing.pad_to_capacity && !s.model.is_moe(); },
     "the model has no experts"},
    {"pad-to-capacity",
     [](const Scenario& s) {
       return s.recipe.routing.pad_to_capacity && !s.recipe.routing.drops() && s.model.is_moe();
     },
     "experts have no capacity: say capacity-factor"},
    {"attention flash",
     [](const Scenario& s) {
       return !stores_scores(s.recipe.attention) && s.recipe.precision == Precision::Fp32 &&
              !s.framework.abilities.fp32_flash;
     },
     // Dao-AILab/flash-attention README: "Datatype fp16 and bf16"; PyTorch falls back to its memory-efficient
     // kernel (torch.nn.functional.scaled_dot_product_attention).
     "FlashAttention has no fp32 kernel; counted as one that stores no scores either, PyTorch's "
     "memory-efficient kernel"},
    {"tp_comm_overlap", [](const Scenario& s) { return asked(s).tensor_overlap && s.layout.tp == 1; },
     "tp is 1"},
    {"tp_comm_overlap",
     [](const Scenario& s) {
       return asked(s).tensor_overlap.value_or(false) && s.layout.tp > 1 &&
              s.framework.tensor_overlap_asked <= 0;
     },
     "the framework runs tensor-parallel messages by themselves"},
    {"tp_comm_overlap",
     [](const Scenario& s) {
       return asked(s).tensor_overlap.value_or(false) && s.layout.tp > 1 && !s.layout.sp &&
              s.framework.tensor_overlap_asked > 0;
     },
     "it is the messages of sequence parallelism that hide: that needs sp"},
    {"tp_backward_overlap",
     [](const Scenario& s) { return asked(s).tensor_backward_overlap && !(s.layout.sp && s.layout.tp > 1); },
     "it is the messages of sequence parallelism that hide: that needs tp above 1 and sp"},
    {"pipeline_overlap", [](const Scenario& s) { return asked(s).pipeline_overlap && s.layout.pp == 1; },
     "pp is 1"},
    {"dp_overlap", [](const Scenario& s) { return asked(s).data_overlap && s.layout.dp * s.layout.cp == 1; },
     "there are no replicas: dp and cp are 1"},
    {"reduce_gradients", [](const Scenario& s) { return waits_in_vain(s) && microbatches_per_step(s) == 1; },
     "the step has one micro-batch"},
    {"reduce_gradients",
     [](const Scenario& s) {
       return waits_in_vain(s) && microbatches_per_step(s) > 1 && !s.framework.reduction_can_wait;
     },
     "the framework cannot leave gradients unreduced between micro-batches"},
    {"reduce_gradients",
     [](const Scenario& s) {
       return waits_in_vain(s) && microbatches_per_step(s) > 1 && s.framework.reduction_can_wait;
     },
     "it needs parameters that are sharded (ZeRO-3, fsdp), and replicas-once hybrid sharding (hsdp)"},
    {"ep_overlap", [](const Scenario& s) { return asked(s).expert_overlap && s.layout.ep == 1; }, "ep is 1"},
    {"moe_dispatcher",
     [](const Scenario& s) { return asked(s).dispatcher != ExpertDispatcher::Default && s.layout.ep == 1; },
     "ep is 1"},
    {"overlap, graphs, compile",
     [](const Scenario& s) {
       Execution others = asked(s);
       others.reduction = GradientReduction::Default;
       return !s.framework.abilities.asked_execution && others != Execution{};
     },
     "Hexaplan's executor launches and sends one thing after the other"},
    {"offload_layers",
     [](const Scenario& s) { return s.recipe.offload_layers > 0 && !offloads(s, kOffloadActivations); },
     "activations are not offloaded"},
    {"offload_fraction",
     [](const Scenario& s) { return s.recipe.offload_fraction < 1 && !offloads(s, kOffloadOptimizer); },
     "the optimizer is not offloaded"},
    {"offload_device nvme",
     [](const Scenario& s) { return s.recipe.offload_device == OffloadDevice::Nvme && !offloads_states(s); },
     "neither optimizer states nor parameters are offloaded"},
    {"multi-token prediction", [](const Scenario& s) { return s.model.mtp_layers > mtp_modules(s); },
     "the framework trains the main model without these modules"},
    {"prefetch_bucket, live_parameters, reuse_distance, persistence_threshold, sub_group_size", sizes_in_vain,
     "ZeRO-3 alone gathers and updates piece by piece, over several ranks"},
    {"reduce_bucket",
     [](const Scenario& s) { return s.recipe.sizes.reduce_bucket && s.layout.dp * s.layout.cp == 1; },
     "there are no replicas: dp and cp are 1"},
    {"hpz", [](const Scenario& s) { return s.layout.sharding.hpz > 0 && !zero_plus_plus_applies(s); },
     "ZeRO++ works on ZeRO-3"},
    {"qwz",
     [](const Scenario& s) { return s.layout.sharding.quantized_weights && !zero_plus_plus_applies(s); },
     "ZeRO++ works on ZeRO-3"},
    {"qgz",
     [](const Scenario& s) { return s.layout.sharding.quantized_gradients && !zero_plus_plus_applies(s); },
     "ZeRO++ works on ZeRO-3"},
    {"shard", [](const Scenario& s) { return s.layout.sharding.group > 0 && s.layout.sharding.stage == 0; },
     "nothing is sharded without a ZeRO stage"},
    {"partition-activations",
     [](const Scenario& s) { return s.layout.partition_activations && !partitions_activations(s); },
     "it cuts the inputs of recomputed layers over tp: that needs recompute full or layers, tp above 1 and "
     "no sequence parallelism, which has cut them already"},
    {"sp", [](const Scenario& s) { return s.layout.sp && s.layout.tp == 1; }, "tp is 1"},
    {"context", [](const Scenario& s) { return s.layout.context != ContextKind::Ring && s.layout.cp == 1; },
     "cp is 1"},
    {"schedule",
     [](const Scenario& s) {
       return s.layout.schedule != ScheduleKind::OneFOneB && s.layout.pp == 1 && s.layout.vpp == 1;
     },
     "pp is 1: there are no stages to schedule"},
    {"split",
     [](const Scenario& s) {
       return s.layout.split != StageSplit::Even && s.layout.pp == 1 && s.layout.vpp == 1;
     },
     "pp is 1: there are no stages to cut"},
    {"order", [](const Scenario& s) { return s.layout.order != Layout{}.order && has_one_axis(s.layout); },
     "at most one axis has more than one rank"},
    {"etp",
     [](const Scenario& s) { return s.layout.etp > 0 && s.layout.etp == s.layout.tp && s.model.is_moe(); },
     "it equals tp, which experts use by default"},
    {"vocab",
     [](const Scenario& s) { return s.layout.vocab != VocabParallel::LastStage && s.layout.pp == 1; },
     "pp is 1: there are no stages to spread the output layer over"},
};

std::vector<KnobNote> rows_that_apply(std::span<const KnobRow> rows, const Scenario& scenario) {
  std::vector<KnobNote> words;
  for (const KnobRow& row : rows) {
    if (row.said(scenario)) words.push_back({row.knob, row.effect});
  }
  return words;
}

}  // namespace

std::vector<KnobNote> not_modelled(const Scenario& scenario) {
  std::vector<KnobNote> words = rows_that_apply(kNotModelled, scenario);
  if (!scenario.framework.not_modelled.empty())
    words.push_back({"framework " + scenario.framework.name, scenario.framework.not_modelled});
  return words;
}

std::vector<KnobNote> words_without_effect(const Scenario& scenario) {
  return rows_that_apply(kWithoutEffect, scenario);
}

std::vector<KnobNote> newly_not_modelled(const Scenario& scenario, const Scenario& changed) {
  const std::vector<KnobNote> before = not_modelled(scenario);
  std::vector<KnobNote> words = not_modelled(changed);
  std::erase_if(words, [&](const KnobNote& word) {
    return std::find(before.begin(), before.end(), word) != before.end();
  });
  return words;
}

}  // namespace hexaplan::costmodel
