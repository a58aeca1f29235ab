#pragma once
#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// Where states are: on the GPU, or offloaded to its host (or the node's disks).
enum class StatePlace : std::uint8_t { Device, Host };

/// Appends parameters, gradients and optimizer states of `tensors` that are at `place`, as one rank holds
/// them after TP, EP and ZeRO, `count` times (layers).  [docs/formulas.md#M1]
void append_state_entries(const Scenario& scenario, const std::vector<ParameterTensor>& tensors,
                          int layer_class, double count, TensorLedger& out,
                          StatePlace place = StatePlace::Device);

/// Storage types of what is kept per parameter.
struct StateTypes {
  DType parameter, gradient, moment;
  DType frozen;         // parameters without gradients
  bool master = false;  // an fp32 copy beside the parameters
  [[nodiscard]] constexpr DType parameter_of(bool trained) const { return trained ? parameter : frozen; }
};
[[nodiscard]] StateTypes state_types(const Scenario& scenario);
/// Of what of the frozen model trains beside adapters (own_share): it keeps the type that it was loaded in,
/// where adapters are cast to fp32 (huggingface/peft@0.21.2 src/peft/tuners/tuners_utils.py
/// cast_adapter_dtype visits layers of adapters alone), and so do its gradients and states.
[[nodiscard]] StateTypes own_state_types(const Scenario& scenario);
/// `elements` that train, of which `own` are the frozen model's, as so many of state_types: parameters of
/// those are narrower.
[[nodiscard]] double in_state_types(const Scenario& scenario, double elements, double own);
/// … gradients of those, unless sharded units or the reduction cast all gradients to one type.
[[nodiscard]] double in_gradient_types(const Scenario& scenario, double elements, double own);

/// True when gradients have 16 bits and the optimizer updates an fp32 master copy: the step needs them in
/// fp32.
[[nodiscard]] bool widens_gradients(const Scenario& scenario);

/// True when fp32 parameters are cast to the 16 bits of the computation one operation after the other: casts
/// of matrices are kept, and the residual stream is fp32 (torch.autocast).
[[nodiscard]] bool casts_automatically(const Scenario& scenario);

/// True when ranks gather the parameters of a layer when it runs, and hold a share of them between steps.
[[nodiscard]] constexpr bool gathers_layers(const Scenario& scenario) {
  const int stage = scenario.layout.sharding.stage;
  return stage >= 3 || (stage == 2 && scenario.framework.zero2_gathers_layers);
}

/// In which micro-batches gradients are reduced where layers are gathered: what the recipe asks for, as far
/// as the framework can do it and it makes a difference.  [docs/formulas.md#C9]
[[nodiscard]] constexpr GradientReduction gradient_reduction(const Scenario& scenario) {
  const GradientReduction asked = scenario.recipe.execution.reduction;
  const Layout& layout = scenario.layout;
  const bool waits = asked != GradientReduction::Default && gathers_layers(scenario) &&
                     scenario.framework.reduction_can_wait && microbatches_per_step(scenario) > 1;
  const bool has_replicas = layout.shard_ranks() < layout.dp * layout.cp;
  if (!waits || (asked == GradientReduction::ReplicasOnce && !has_replicas)) return GradientReduction::Every;
  return asked;
}

/// ZeRO stage from which a rank keeps no more of its gradients than its shard.
[[nodiscard]] constexpr int gradients_cut_from(const Scenario& scenario) {
  return scenario.framework.shard_gradients_from_stage_2 ? 2 : 3;
}
/// Gradients are reduced in every micro-batch: from ZeRO-2 on a rank keeps no more than its shard
/// (arXiv:1910.02054 §5.2), in frameworks that cut gradients then.
[[nodiscard]] constexpr bool reduces_every_pass(const Scenario& scenario) {
  return scenario.layout.sharding.stage >= gradients_cut_from(scenario);
}
/// Gradients are reduced beside the backward: as the recipe says, else as the profile does, which says
/// whether sharding ends it.
[[nodiscard]] constexpr bool overlaps_gradients(const Scenario& scenario) {
  const FrameworkProfile& f = scenario.framework;
  const bool usual = f.gradient_overlap != GradientOverlap::None &&
                     !(f.gradient_overlap == GradientOverlap::WhileWhole && reduces_every_pass(scenario)) &&
                     !(scenario.layout.sharding.stage >= 1 && f.sharding_ends_overlap);
  return scenario.recipe.execution.data_overlap.value_or(usual);
}

/// True where activations, and with them messages and gradients, have 32 bits: nothing is cast.
[[nodiscard]] constexpr bool trains_in_fp32(const Scenario& scenario) {
  return activation_dtype(scenario.recipe.precision) == DType::Fp32;
}
/// In which parameters are gathered: the framework's; training in fp32 casts none.
[[nodiscard]] constexpr DType gathered_dtype(const Scenario& scenario) {
  return trains_in_fp32(scenario) ? DType::Fp32 : scenario.framework.gather_dtype;
}
/// True where gradients of fp16 parameters, of which the recipe says no type, are added up and travel in
/// fp16: frameworks with master copies make fp32 gradients for bf16 alone (Megatron-LM
/// megatron/training/arguments.py, accumulate_allreduce_grads_in_fp32).
[[nodiscard]] constexpr bool has_fp16_gradients(const Scenario& scenario) {
  const FrameworkProfile& f = scenario.framework;
  return !scenario.recipe.gradient_dtype && f.master_parameters && !f.widens_fp16_gradients &&
         activation_dtype(scenario.recipe.precision) == DType::Fp16;
}
/// In which gradients are reduced: what the recipe says, or the framework's; training in fp32 casts none.
[[nodiscard]] constexpr DType reduced_gradient_dtype(const Scenario& scenario) {
  const FrameworkProfile& f = scenario.framework;
  if (f.reduces_in_fp32) return DType::Fp32;
  if (scenario.recipe.gradient_dtype) return *scenario.recipe.gradient_dtype;
  if (trains_in_fp32(scenario)) return DType::Fp32;
  return has_fp16_gradients(scenario) ? DType::Fp16 : f.reduce_dtype;
}
/// True where every tensor-parallel rank has the logits of the whole vocabulary.
[[nodiscard]] constexpr bool gathers_logits(const Scenario& scenario) {
  return scenario.framework.whole_logits && scenario.layout.tp > 1;
}

/// Of whole gradients that wait for the last micro-batch: FSDP2 adds them up in the type of the reduction
/// (torch/distributed/fsdp/_fully_shard/_fsdp_param.py to_accumulated_grad_if_needed), FSDP1 leaves
/// autograd's.
[[nodiscard]] constexpr DType waiting_gradient_dtype(const Scenario& scenario) {
  return scenario.framework.waiting_gradients_as_reduced ? reduced_gradient_dtype(scenario)
                                                         : activation_dtype(scenario.recipe.precision);
}

/// The input of a fully recomputed layer, `count` times.  [docs/formulas.md#M3]
void append_checkpoint_entry(const Scenario& scenario, const LocalDims& dims, LayerClass kind, double count,
                             TensorLedger& out);

/// How a chunked loss cuts the tokens of a micro-batch: all chunks but the last have `rows` of them.
struct LossChunks {
  std::int64_t count = 1, rows = 0;
};
/// The framework's number of chunks, or Liger's rule, as far as there are tokens for them.
[[nodiscard]] LossChunks loss_chunks(const Scenario& scenario, const LocalDims& dims);

/// All logits over those that are there at once: 1 where the loss is not made of chunks.
[[nodiscard]] double made_of_chunks(const Scenario& scenario);

/// Logits, loss and the output layer's backward on the last stage.  [docs/formulas.md#M5]
void append_loss_entries(const Scenario& scenario, const LocalDims& dims, TensorLedger& out);
/// What the loss of one micro-batch keeps until its backward, where the forward passes of all come first
/// (GPipe): its graph with the logits (pytorch/pytorch@v2.9.0 torch/distributed/pipelining/stage.py,
/// fwd_cache); of a loss in chunks, whose backward runs at once, the gradient of the hidden states.
void append_waiting_loss_entries(const Scenario& scenario, const LocalDims& dims, TensorLedger& out);

/// Elements of a stage on one rank after TP and EP, before ZeRO: what buffers are sized by.
struct StageElements {
  double all = 0;
  double largest_layer = 0;
  // Of sharded layers once they are gathered, in elements of the gather's type: 4-bit weights count less.
  double gathered_layers = 0, largest_gathered = 0;
  double largest_module = 0;   // … of one linear layer
  double persistent = 0;       // … of tensors that stay whole (stays_whole)
  double trained = 0;          // what has gradients, in elements of the parameters' type (in_state_types)
  double reduced = 0;          // what is reduced, in elements of the gradients' type (in_gradient_types)
  double largest_reduced = 0;  // … of one sharded layer
  double reduced_embedding = 0, reduced_head = 0;  // … of either end
  double embedding = 0;
  double head = 0;
  double matrix_update_bytes = 0;  // optimizers by matrix: beside the states while one is updated, at most
  double listed_update_bytes = 0;  // Shampoo: … of all matrices
  double distinct_matrices = 0;  // one of every weight shape in the stage's layers (of experts: one expert's)
  double head_matrix = 0;
  double tied_head = 0;      // … where the embedding's table is it, and does not stay whole
  double gathered_head = 0;  // what the head reads gathered: without what stays whole, with such a table
};

/// Elements of ZeRO++'s secondary partition (hpZ): a second copy of the parameters in the gather's type, cut
/// over few neighbours (arXiv:2306.10209 section 4.2).
[[nodiscard]] double secondary_elements(const Scenario& scenario, const StageElements& elements);

/// What lies outside the framework's allocator.
struct DeviceOverhead {
  Bytes context, communicators;
};

/// Buffers sized by a stage's parameters: buckets, parameters gathered by ZeRO-3, placeholder gradients,
/// optimizer temporaries.  [docs/formulas.md#M6]
void append_parameter_buffers(const Scenario& scenario, const StageElements& elements, TensorLedger& out);
/// Buffers sized by a micro-batch: persistent gather buffers.  [docs/formulas.md#M6]
void append_stream_buffers(const Scenario& scenario, const LocalDims& dims, TensorLedger& out);
/// What a stage receives from its neighbours; a replay has it as values.  [docs/formulas.md#M6]
void append_receive_buffers(const Scenario& scenario, const LocalDims& dims, TensorLedger& out);
/// Communicators, library workspace, context.  [docs/formulas.md#M6]
void append_device_entries(const Scenario& scenario, const DeviceOverhead& overhead, TensorLedger& out);

/// Elements of `tensors` on one rank after TP and EP, before ZeRO.
[[nodiscard]] double elements_before_sharding(const Scenario& scenario,
                                              const std::vector<ParameterTensor>& tensors);

}  // namespace hexaplan::costmodel
