#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/spec/attention_library.h"
#include "costmodel/spec/dtype.h"
#include "costmodel/spec/layout.h"
#include "costmodel/spec/model_spec.h"
#include "costmodel/spec/recipe.h"
#include "costmodel/units/bits.h"
#include "costmodel/units/quantity.h"

namespace hexaplan::costmodel {

/// Tensors that a layer may keep between forward and backward. The pass `keep_values` knows
/// which values of the step program they are; a framework profile says which are kept, in which dtype and how
/// often.
enum class Saved : std::uint8_t {
  NormInput,    // residual stream entering a norm            tokens·h, cut by SP; per norm
  NormOutput,   // input of the linear layers after a norm    tokens·h, cut by SP; per norm that feeds one
  NormStats,    // rstd (and mean)                            tokens, per norm
  QkNormInput,  // q and k before their norms                 tokens·(a+g)d, cut by TP
  Query,        // tokens·a·d, cut by TP
  Key,          // tokens·g·d
  Value,        // tokens·g·d_v
  RepeatedKeyValue,  // k and v as eager attention reads them, expanded to all heads  tokens·a·(d+d_v)
  LogSumExp,         // tokens·a, flash only
  Scores,            // tokens·a·s, not flash
  ScoresDropout,     // 1 byte mask, tokens·a·s, not flash, dropout > 0
  AttentionOutput,   // input of the output projection             tokens·a·d_v, cut by TP
  ResidualDropout,   // masks of the two residual dropouts         tokens·h, cut by SP, dropout > 0
  LatentQuery,       // MLA q latent                               tokens·r_q
  LatentKeyValue,    // MLA kv latent with rope part               tokens·(r_kv+d_r)
  LatentNormOutput,  // inputs of the up-projections               tokens·(r_q+r_kv)
  GateUp,            // output of the first MLP matrix             tokens·2f (gated) or f, cut by TP
  ActivationOutput,  // input of the second MLP matrix             tokens·f, cut by TP
  ActivationInner,   // act(gate) where kept beside the product    tokens·f, cut by TP, gated only
  RouterLogits,      // tokens·E
  RoutingMap,        // ids and weights                            tokens·k
  ExpertInput,       // dispatched tokens                          tokens'·h
  ExpertGateUp,      // tokens'·2f_e
  ExpertActivation,  // tokens'·f_e
  ExpertOutput,      // back with their tokens, before weighting   tokens·k·h
  SharedGateUp,      // tokens·2f_s, cut by TP
  SharedActivation,  // tokens·f_s
  LayerOutput,       // further copies of the residual stream      tokens·h, cut by SP
  KeyValueUp,     // MLA: keys and values as the up-projection makes them  tokens·a·(d_nope+d_v), cut by TP
  RouterInput,    // what the router casts                      tokens·h
  ExpertInner,    // act(gate) of experts, beside the product   tokens'·f_e, gated only
  SharedInner,    // … of shared experts                        tokens·f_s, cut by TP, gated only
  AdapterInput,   // inputs of the adapted linear layers, each its own copy
  AdapterHidden,  // what LoRA's first matrices make            tokens·r per adapted layer
  ScaledOutput,   // what IA³ scales: keys, values              tokens·(g·d + g·d_v)
                  // what DoRA scales                           tokens·outputs of the adapted layers
  RowNorms,       // DoRA's lengths and magnitudes over them    outputs of the adapted layers
  AttentionMask,  // of a sliding window, where fused attention takes masks   tokens·s, windowed layers only
};
inline constexpr int kSavedCount = 37;

/// How often one saved tensor is kept, by dtype. All zero: not kept.
struct SavedRule {
  double compute = 0;  // copies in the activation dtype
  double fp32 = 0;     // copies in fp32
  double byte = 0;     // copies of one byte (masks, fp8)
  friend bool operator==(const SavedRule&, const SavedRule&) = default;
};

/// What decides about what the same framework keeps. A scenario may be several of them.
enum class SavedCase : std::uint8_t {
  Autocast,         // 16-bit operations on fp32 parameters
  NotCompiled,      // the recipe says that layers run operation by operation
  StoredScores,     // attention that is not fused
  CappedScores,     // … and cuts its scores by tanh
  Adapters,         // frozen weights
  ScalingAdapters,  // … IA³
  OffsetNorms,      // norms multiply by 1 + weight, in fp32 (Gemma)
  NormsBehind,      // norms behind the branches alone, multiplied in fp32 (OLMo-2)
  Latent,           // MLA
  SigmoidRouter,    // of DeepSeek-V3's kind: in fp32 from its input on
  Ungated,          // two matrices in the MLP
  ComposedGelu,     // … and GELU by tanh, composed of single operations (gelu_new)
  RmsNorms,
  Compiled,     // the recipe says that layers are compiled, and no checkpoint runs them again
  Dora,         // adapters that learn magnitudes
  IntegerBase,  // … beside matrices in 8 bits
  PackedQkv,    // one linear layer for queries, keys and values
  PackedGateUp,
  Rotary,              // queries and keys are rotated, each into a tensor of its own
  PartialRotary,       // … from columns that are rotated and others
  GroupedHeads,        // fewer heads of keys and values than of queries
  MultiQuery,          // one of keys and values, which needs no copies to be read by every query's
  FourNorms,           // RMSNorms before and behind both branches, multiplied in 16 bits (GLM-4)
  SharedNorm,          // one norm, which attention and MLP read
  ComposedLayerNorms,  // LayerNorms written out in fp32 operations (Cohere)
  Experts,
  SharedExperts,
};
inline constexpr int kSavedCases = 27;
/// Bits by SavedCase.
using SavedCases = std::uint32_t;

/// A rule that replaces the profile's own where the scenario is all of `cases` (bits by SavedCase).
struct SavedOverride {
  SavedCases cases = 0;
  Saved tensor = Saved::NormInput;
  SavedRule rule;
  friend bool operator==(const SavedOverride&, const SavedOverride&) = default;
};

/// Memory-bound steps of a layer, by what they do. `kTraffic` (program/steps.cpp) says which
/// one's elements.
enum class Elementwise : std::uint8_t {
  Norm,            // per norm, tokens·h
  ResidualAdd,     // bias, dropout and residual; per residual add, tokens·h
  Rope,            // tokens·(a+g)d
  QkNorm,          // tokens·(a+g)d
  BiasAdd,         // separate bias kernels, tokens·outputs
  RepeatKeyValue,  // tokens·a·(d+d_v)
  Softmax,         // scale, mask, softmax, dropout over scores; not flash
  Activation,      // SwiGLU, GELU; elements of its inputs and outputs together
  Router,          // softmax, top-k; tokens·E
  Permute,         // gather and scatter of tokens; tokens'·h
  Cast,       // quantisation for fp8/fp4 GEMMs; elements of their inputs, backward of their output gradients
  Embedding,  // tokens·h
  CrossEntropy,       // unfused loss; elements of the logits
  FusedCrossEntropy,  // in-place kernel; elements of the logits
  UnfusedNorm,        // a norm written out in tensor operations; tokens·h
  ScoreDropout,       // dropout over scores, a kernel of its own; tokens·a·s, not flash
  ExpertBias,         // of the experts' first matrices; tokens'·outputs
  ExpertOutputBias,   // of their last ones, times the router's probability; tokens'·h
  WeightCast,         // autocast: of fp32 weights, and of their gradients back; elements of the weights
  AdapterInput,       // what LoRA's first matrix reads, beside its products; tokens·inputs per adapted layer
  AdapterOutput,      // what LoRA adds, beside the sum; tokens·outputs per adapted layer
  DoraOutput,         // beside them, what DoRA scales; tokens·outputs per adapted layer
  DoraWeight,         // lengths of rows beside the product B·A; elements of the adapted weights
};
inline constexpr int kElementwiseCount = 23;

/// Traffic and kernels of one memory-bound step. Traffic is in passes: reads + writes of the step's elements,
/// in the activation dtype.
struct ElementwiseRule {
  double forward_passes = 0;
  double backward_passes = 0;
  double forward_kernels = 0;
  double backward_kernels = 0;
  friend bool operator==(const ElementwiseRule&, const ElementwiseRule&) = default;
};

/// The same for traffic: a rule that replaces the profile's own where the scenario is all of `cases`.
struct ElementwiseOverride {
  SavedCases cases = 0;
  Elementwise step = Elementwise::Norm;
  ElementwiseRule rule;
  friend bool operator==(const ElementwiseOverride&, const ElementwiseOverride&) = default;
};

/// Where gradients are reduced: of the last micro-batch, and from ZeRO-2 on of each, since a rank keeps no
/// more than its shard.
enum class GradientOverlap : std::uint8_t {
  None,       // behind the backward
  Backward,   // beside it, bucket by bucket
  WhileWhole  // the same, but where gradients are cut every reduction is waited for
};

/// What a framework can run: where a search looks when it is not told otherwise. A layout beyond it can
/// still be estimated.  presets/frameworks: the group "abilities".
struct FrameworkAbilities {
  bool tensor = true;                  // tensor parallelism
  bool sequence = true;                // … with Megatron sequence parallelism
  bool experts = true;                 // expert parallelism
  bool mtp = true;                     // multi-token-prediction modules; others train the main model alone
  std::uint8_t recurrent = 0b1111111;  // kinds of recurrent layers: bits by RecurrentKind
  std::uint16_t schedules =
      bit_of(ScheduleKind::OneFOneB) | bit_of(ScheduleKind::Interleaved);  // 0: no pipelines
  std::uint8_t contexts = 0b111;    // bits by ContextKind; 0: no context parallelism
  std::uint8_t zero_stages = 0b11;  // bits by ZeRO stage
  std::uint8_t offload = 0;         // OffloadTarget bits; of parameters: with the optimizer's states
  /// ZeRO stages under which a share of the optimizer's states can be offloaded: bits by stage.
  std::uint8_t partial_offload = 0b1111;
  /// Adapters can learn magnitudes (Recipe::dora).
  bool dora = false;
  /// Optimizers that project gradients (GaLore, APOLLO).
  bool low_rank = false;
  /// Optimizers that precondition gradients of whole matrices (Shampoo, SOAP).
  bool preconditioned = false;
  /// Biases and whole modules of the frozen model can train beside adapters (Recipe::lora_bias,
  /// Recipe::saved_modules).
  bool saved_modules = false;
  /// Adapters can stand beside matrices in 8 bits (FineTune::Lora8bit).
  bool integer_base = false;
  /// Replicas can train apart between outer steps (Recipe::outer).
  bool outer_steps = false;
  /// Adafactor takes a step on a rank's shard.
  bool factored_shards = true;
  /// Parameters and gradients of 16 bits can be of another type than the computation.
  bool mixed_half_types = false;
  bool layerwise_replicas = false;  // GaLore and APOLLO in backward, between replicas
  bool fp32_flash = false;          // attention in fp32 without stored scores
  /// The recipe can say what overlaps, is captured in graphs or compiled (Execution).
  bool asked_execution = true;
  /// The recipe can say the sizes by which ZeRO moves and holds parameters (ZeroSizes).
  bool zero_sizes = false;
  /// Types in which AdamW's moments can be kept where the recipe says so: bits by DType.
  std::uint16_t moments = 0;
  /// Types in which gradients can be accumulated: bits by DType.
  std::uint16_t gradients = bit_of(DType::Fp32) | bit_of(DType::Bf16) | bit_of(DType::Fp16);
  /// Where stages run several chunks each, chunks may differ in layers.
  bool unequal_stages = true;
  /// Every stage can recompute a number of layers of its own; otherwise one number is that of all stages.
  bool recompute_per_stage = true;
  /// Bits by RecomputeMode; without the modules of `recompute_modules`.
  std::uint8_t recompute = bit_of(RecomputeMode::None) | bit_of(RecomputeMode::Selective) |
                           bit_of(RecomputeMode::Layers) | bit_of(RecomputeMode::Full);
  /// Sets of modules worth trying, each as RecomputeModule bits; a model that lacks a module goes without the
  /// set.
  std::vector<std::uint16_t> recompute_modules;
  friend bool operator==(const FrameworkAbilities&, const FrameworkAbilities&) = default;
};

/// What a framework makes of a layout: dtypes, saved tensors, buffers, overlap, overheads. Data, read from
/// presets/frameworks/; each number's source stands there.
struct FrameworkProfile {
  std::string name;
  /// What the profile lacks, because nobody measured or described it; empty: nothing in particular. Every
  /// answer says it.
  std::string not_modelled;
  /// What cuts its layers over ranks that the profile does not describe, so that searches leave it out unless
  /// they are asked for it; empty: nothing.
  std::string undescribed_tensor;
  FrameworkAbilities abilities;

  // --- model states ---
  DType parameter_dtype = DType::Bf16;  // the persistent copy used for compute
  DType gradient_dtype = DType::Fp32;   // accumulation (main) gradients
  /// A further gradient copy in the parameter dtype beside main gradients of another dtype, as long as
  /// parameters are not sharded (DeepSpeed's bf16 optimizer keeps the autograd gradient). 0 = none.
  double extra_gradient_copies = 0;
  /// They are the buckets of PyTorch's DDP: only between replicas that shard nothing.
  bool gradient_copies_are_buckets = false;
  /// Gradients live in a buffer for the whole run; otherwise they appear during the last backward (or, with
  /// gradient accumulation, stay from the first) and are freed after the step.
  bool persistent_gradients = true;
  bool master_parameters = true;  // fp32 copy when parameter_dtype is 16 bit
  DType moment_dtype = DType::Fp32;
  bool shard_gradients_from_stage_2 = true;  // false: accumulated gradients stay whole until ZeRO-3
  StageSplit even_split = StageSplit::Even;  // what this framework does with StageSplit::Even
  std::int64_t vocab_multiple = 1;           // padded to a multiple of vocab_multiple·tp

  // --- activations ---
  std::array<SavedRule, kSavedCount> saved{};
  std::vector<SavedOverride> saved_when;  // the last one that applies wins
  /// fp32 parameters are cast to 16 bits operation by operation (torch.autocast), and the casts kept; false:
  /// gathered in 16 bits, or never cast.
  bool autocasts = false;
  double quantized_input_bytes = 1;  // fp8/fp4: bytes per element of a saved GEMM input
  /// fp8/fp4: of what something else keeps or recomputes, no narrow copy is kept: backward casts it again.
  bool keeps_original_inputs = false;
  bool gather_saved_inputs = false;  // with SP, linear inputs are kept gathered over TP
  /// Backward finds what it reads and nothing else, and the loss holds what its operations hold: the step
  /// program says it. False: `saved` and the copies of logits do.
  bool keeps_what_backward_reads = false;
  /// Queries, keys and values, gate and up are matrices of their own; false: one product makes them.
  bool separate_projections = true;
  /// Multi-token prediction reads the hidden states before the final norm, which is a unit of its own.
  bool mtp_norm_apart = false;
  /// ZeRO-3: a unit is one flat parameter, whose gradient has room for all of it as soon as one of its
  /// parameters is trained: frozen weights' gradients are made and reduced, too.
  bool flat_units_mix_frozen = false;
  std::int64_t adapter_rank = 8;  // of LoRA and QLoRA where the recipe names none
  /// One adapter stands beside queries, keys and values, and one beside gate and up: the framework's own
  /// linear layers make them together (Megatron-Core's linear_qkv and linear_fc1).
  bool packs_projections = false;
  /// … where the model's code on the hub does (AttentionSpec::packed, MlpSpec::packed), which the framework
  /// runs.
  bool runs_models_code = false;
  /// Routed experts and router are parameters rather than linear layers: nothing quantises or adapts them.
  bool experts_are_parameters = false;
  /// Products with frozen 4-bit weights keep their input, which no gradient reads: bitsandbytes' MatMul4Bit
  /// before 0.43.2 (July 2024).
  bool four_bit_keeps_inputs = false;
  /// Of modules that train as a whole beside adapters the frozen ones stay beside them; false: they are
  /// trained themselves.
  bool copies_saved_modules = false;
  /// The step program has adapters' matrices, products and gradients one by one, where it knows their order
  /// (adapters_are_operations); false: they are counted beside the frozen matrices.
  bool adapters_by_operation = false;
  /// Scales of scales (double quantisation) are read as the 4-bit weights are; false: by a kernel before.
  bool reads_scales_in_place = false;
  /// Adapters that are kept in fp32 are multiplied in fp32; false: in the computation's type.
  bool adapter_products_as_kept = false;
  /// DoRA: bytes per element of an adapted weight that are there at once while its rows are measured, beside
  /// the weight itself.
  double dora_weight_bytes = 0;
  /// … where B·A is what both matrices make of the identity: bytes of an element of it. 0: it is a product.
  double dora_identity_bytes = 0;

  // --- loss: copies of the local logits ---
  double logit_copies_compute = 1;  // kept until the loss's backward
  double logit_copies_fp32 = 1;
  double logit_transient_fp32 = 0;     // extra at the peak instant (softmax, gradient)
  double fused_logit_copies_fp32 = 0;  // with fused cross-entropy: fp32 copies beside the compute one
  bool fused_cross_entropy = false;
  double chunked_cross_entropy_fraction = 0;  // > 0: always chunked, this share of the logits is alive
  /// A recipe that asks for a chunked loss: chunks, 0 = so many that a chunk has about tokens·h logits
  /// (linkedin/Liger-Kernel src/liger_kernel/ops/fused_linear_cross_entropy.py).
  double loss_chunks = 0;
  std::int64_t loss_reductions = 3;      // of a vocabulary-parallel loss, over tensor-parallel ranks
  bool chunked_logits_complete = false;  // all chunks' logits stay until the loss's backward (torchtune)

  // --- buffers ---
  double gradient_bucket_elements = 0;     // per data-parallel bucket, fixed part
  double gradient_bucket_per_rank = 0;     // … plus this × dp (Megatron: max(40e6, 1e6·dp))
  bool contiguous_gradient_buffer = true;  // buckets are views: no further memory
  /// Between replicas that shard nothing, buckets for all gradients stay for the whole run (PyTorch's DDP).
  bool replicas_keep_buckets = false;
  bool gradients_view_buckets = false;  // … and gradients are views of them (gradient_as_bucket_view)
  double gather_prefetch_layers = 1;    // ZeRO-3/FSDP: unsharded layers alive beside the current one
  /// Every module gathers its own parameters when it runs and frees those that no module needs soon
  /// (DeepSpeed); false: a layer at a time. The sizes stand in the profile in place of a number of layers.
  bool gathers_by_module = false;
  double gather_prefetch_elements = 0;    // … fetched ahead (stage3_prefetch_bucket_size)
  double gather_live_elements = 0;        // … until so many are gathered (stage3_max_live_parameters)
  double gather_reuse_elements = 0;       // … kept when needed within so many (stage3_max_reuse_distance)
  double gather_persistent_elements = 0;  // … never freed where smaller (stage3_param_persistence_threshold)
  /// ZeRO-3: elements of a rank's shard that are updated at a time (sub_group_size); 0: all.
  double update_group_elements = 0;
  /// The bucket of the reduction is one tensor of its whole size: for good under ZeRO-3, in backward passes
  /// below, where it is doubled when reductions overlap.
  bool whole_gradient_bucket = false;
  double gather_bucket_elements = 0;  // DeepSpeed all-gather bucket
  DType gather_dtype = DType::Bf16;   // parameters travel in it
  DType reduce_dtype = DType::Fp32;   // gradients travel in it, unless the recipe says otherwise
  /// … whatever the recipe says of theirs: 16-bit gradients are widened for the reduction.
  bool reduces_in_fp32 = false;
  bool widens_fp16_gradients = false;  // fp16's are added up and travel in fp32, as bf16's
  /// Optimizers of whole matrices (Muon, LAMB, Adafactor) gather their unit, and every rank makes the update
  /// of the whole; false: ranks share matrices, or take their shard as it is.
  bool updates_whole_matrices = false;
  bool secondary_partition_on_device = false;  // ZeRO++'s, also where parameters are offloaded
  /// False: ZeRO-3 keeps gathered parameters until backward (ZeRO-2 traffic).
  bool reshard_after_forward = true;
  bool gather_ends_for_whole_step = false;  // embedding and head form the root group and stay gathered
  /// Embedding and head are units of their own, of which the head stays gathered until its backward.
  bool head_unit_stays_gathered = false;
  /// Tensor parallelism: the gradient of the embedding's rows is made over the whole vocabulary before it is
  /// cut (DTensor).
  bool whole_embedding_gradient = false;
  /// Bytes per local parameter, alive during the step, where gradients have 16 bits: their fp32 copy for the
  /// master parameters, and what else the step makes of them.
  double optimizer_transient_bytes = 0;
  /// The step's temporaries are flat buffers of a whole shard: no hole that freed activations leave in the
  /// caching allocator takes them, so the reserved peak holds both.
  bool flat_optimizer_buffers = false;
  /// ZeRO-1/2: flat copies of all the stage's parameters, in the gather dtype, while the updated ones are
  /// gathered; beside them stands the flat local shard.
  double flat_gather_copies = 0;
  double sp_gather_buffers = 1;      // gathered SP inputs alive during passes, tokens·h each
  double sp_persistent_buffers = 0;  // gather buffers kept for the whole run, tokens·h each
  /// Bytes per element of a weight gradient before it is added to the main gradient; 0 = accumulated inside
  /// the GEMM.
  double weight_gradient_temporary_bytes = 0;
  /// Transformer Engine hands autograd a placeholder gradient, one per distinct weight shape, in the
  /// parameter dtype, kept for the whole run (transformer_engine/pytorch/module/base.py get_dummy_wgrad).
  bool placeholder_weight_gradients = false;
  double head_streams = 2;  // tokens·h tensors alive around the output layer's backward

  bool caching_allocator = true;  // PyTorch's own, CUDACachingAllocator

  // --- compute ---
  std::array<ElementwiseRule, kElementwiseCount> elementwise{};
  std::vector<ElementwiseOverride> elementwise_when;  // the last one that applies wins
  AttentionLibrary attention_library = AttentionLibrary::Vendor;
  /// Full recompute ends once every saved tensor is back: the last matrix of a dense layer does not run again
  /// (PyTorch's non-reentrant checkpoint, set_checkpoint_early_stop).
  bool recompute_stops_early = false;
  /// Per MoE layer, pass and micro-batch: the host waits for the token counts of the experts and the device
  /// for the launches that follow.
  Seconds expert_layer_overhead;
  Seconds expert_overhead;  // … and for each expert of the rank: its casts and GEMMs are launched one by one
  double gemm_kernels_forward = 1;  // launches per linear layer
  Seconds kernel_launch;            // host time per kernel when the queue runs dry
  /// Host time of one layer's forward and backward beside its launches: modules, autograd, bookkeeping. The
  /// device waits where it is faster.
  Seconds layer_host_forward, layer_host_backward;
  /// Share of the host's time per layer and operation that is left where modules are captured as CUDA graphs,
  /// and where layers are compiled.
  double partial_graph_host = 0.3, compiled_host = 0.5;
  bool compiles_layers = false;  // unless the recipe says otherwise
  /// Host time of a collective per member of its group, in runs whose pipeline crosses nodes.
  Seconds pipeline_collective_host;
  Seconds step_overhead;        // fixed host time per optimizer step (data, logging, grad norm sync)
  Seconds microbatch_overhead;  // host time per micro-batch and stage
  /// Bytes read and written per local parameter of the optimizer step.  [docs/formulas.md#T7]
  double optimizer_passes_bytes = 34;
  /// … where parameters, gradients and states have 16 bits and nothing has 32; 0: the same.
  double narrow_optimizer_passes_bytes = 0;
  /// SGD with momentum is three kernels, each of which reads and writes its tensors (torch.optim.SGD's
  /// foreach); false: one.
  bool foreach_sgd = false;
  /// … per parameter before ZeRO's cut: norm, clipping, clearing of all gradients.
  double whole_gradient_passes_bytes = 0;

  // --- communication ---
  GradientOverlap gradient_overlap = GradientOverlap::Backward;
  bool parameter_gather_overlap = true;  // all-gather of updated parameters hides behind the next forward
  /// ZeRO-2 keeps parameters sharded between steps and gathers them layer by layer in every forward (FSDP
  /// SHARD_GRAD_OP); false: whole after the optimizer step (DeepSpeed).
  bool zero2_gathers_layers = false;
  /// The framework can leave gradients of all micro-batches but the last unreduced (PyTorch's no_sync,
  /// set_requires_gradient_sync).
  bool reduction_can_wait = false;
  /// … and adds them up in the type of the reduction (FSDP2); false: in that of the computation (FSDP1).
  bool waiting_gradients_as_reduced = false;
  /// ZeRO-3/FSDP: the next layer's parameters are gathered while this one's backward computes (PyTorch's
  /// BACKWARD_PRE); false: after it, so that the gather waits on the critical path (BACKWARD_POST).
  bool backward_gather_overlap = true;
  /// ZeRO-3/FSDP: bytes read and written per parameter of the layer, beside the collectives: copies out of
  /// the gather buffer per gather (ZeRO-1: of the updated parameters, once per step); copies and casts of the
  /// gradient into the reduce buffer.
  double gather_copy_bytes = 0;
  double reduce_copy_bytes = 0;
  bool gather_by_broadcasts = false;   // ZeRO-1/2: every rank broadcasts its updated parameters in turn
  bool sharding_ends_overlap = false;  // ZeRO-1 reduces gradients in one call after the last backward
  /// ZeRO-1: host time per tensor and data-parallel rank to cut and copy its slices.
  Seconds gather_slice_host;
  bool reduce_scatter_gradients = true;  // ZeRO-1 reduces by reduce-scatter; false: all-reduce, then cut
  /// Share of every tensor-parallel collective that may hide behind the product it feeds or drains, unless
  /// the recipe says otherwise; 0: it runs alone.
  double tensor_overlap = 0;
  double tensor_overlap_asked = 0;  // … where the recipe asks for it; 0: the framework cannot
  /// With SP, the input of a column-parallel layer is gathered again beside the gradient of the data, and
  /// that gradient is scattered beside the one of the weight (arXiv:2205.05198 §4.2.2).
  bool tensor_backward_overlap = false;
  double context_overlap = 1;   // share of ring CP sends that can hide behind attention
  Seconds pipeline_wait;        // host time lost to each neighbouring stage per micro-batch, there and back
  double pipeline_overlap = 0;  // share of p2p hidden
  double pipeline_overlap_interleaved = 0;  // … under interleaved schedules
  /// Linear layers that stand side by side and bring the same input into the tensor-parallel region by
  /// themselves: its gather under SP, and the reduction of its gradient, are made as often. 1: one matrix, or
  /// one gather for all; queries, keys and values 3, gate and up 2.
  std::int64_t attention_entries = 1, mlp_entries = 1;
  /// Every tensor-parallel rank gathers the logits and takes the loss over the whole vocabulary.
  bool whole_logits = false;
  /// Without SP, tensor-parallel ranks send a slice each between stages and gather it there (arXiv:2104.04473
  /// §4.1); false: each sends the whole tensor.
  bool pipeline_scatter_gather = false;
  double expert_overlap = 0;        // share of the experts' exchanges hidden behind compute
  double expert_overlap_asked = 0;  // … where the recipe asks for it
  /// A token goes once to each rank, and over the network once to each node, however many experts it has
  /// there (DeepEP, HybridEP); false: once per expert (all-to-all).
  bool expert_dispatch_merges_copies = false;
  /// Ranks that share sequences add up the router's choices for the balance loss, ranks that exchange tokens
  /// say how many each expert gets; false: with messages that cost nothing.
  bool counts_choices = false;
  double overlap_slowdown = 1.15;  // compute stretches by this while a collective runs beside it

  /// Parameters, gradients and states are flat buffers, one per unit (a layer, the embedding, the head), that
  /// are gathered, reduced and updated unit by unit: their life and messages are known in order (Hexaplan's
  /// own executor), and memory is the replay's. False: the profile's rules say what is there and what
  /// travels.
  bool replays_parameters = false;

  // --- device overhead ---
  Bytes context;            // CUDA context, handles, loaded modules
  Bytes communicator;       // per communicator, where the transport model gives nothing
  Bytes library_workspace;  // taken from the framework's allocator for good: cuBLAS, per host thread
  /// Streams (tokens·h and the shards on either side) per layer of each forward pass that the host runs
  /// ahead: collectives on a stream of their own hold them until they have run, so that the caching allocator
  /// takes new memory instead (PyTorch's record_stream).
  double unreclaimed_streams = 0;
  /// Share of the gradients that each backward pass makes in the parameter dtype for which the caching
  /// allocator finds no room among freed activations. None where they are written into DDP's buckets.
  double fresh_gradient_share = 0;
  double reserved_ratio = 1.05;  // allocator: reserved over allocated activations and transients
  /// Share of what the allocator holds beside live tensors that it cannot give back when memory runs short:
  /// free parts of segments in which something lives (PyTorch frees whole segments alone, then tries again).
  double unreleasable_share = 1;
  /// Both where the length of batches varies (BatchPadding::Longest), so that freed blocks fit no later
  /// batch; ratio 0: nobody measured it.
  double varying_reserved_ratio = 0, varying_unreleasable_share = 1;

  // --- what the model does not explain ---
  /// One standard deviation of log(measured/predicted) over measured runs, beyond what the calibration's
  /// kernels leave: what no description of a framework says.
  double time_residual = 0.095;
  double memory_residual = 0.12;  // … of memory
};

}  // namespace hexaplan::costmodel
