#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "costmodel/spec/dtype.h"
#include "costmodel/spec/reliability.h"

namespace hexaplan::costmodel {

enum class Optimizer : std::uint8_t {
  AdamW,
  AdamW8bit,
  Adafactor,
  Lion,
  Sgd,
  Muon,
  Lamb,
  Galore,      // AdamW in a subspace of every matrix's gradient
  Galore8bit,  // … with moments in 8 bits
  Apollo,      // gradients, each channel scaled as AdamW in a random subspace would
  ApolloMini,  // … each matrix
  Soap,        // AdamW in the eigenbases of second moments of every matrix's rows and columns
  Shampoo,     // gradients times inverse roots of those moments, as long as AdamW's steps
};

enum class RecomputeMode : std::uint8_t {
  None,
  Selective,           // core attention (scores, softmax, dropout): arXiv:2205.05198 §5
  SelectiveModules,    // the modules in Recompute::modules (Megatron --recompute-modules)
  SelectiveOperators,  // torchtitan's per-operator policy: matmul and attention outputs are kept
  Layers,  // full recompute of the first `layers` layers of every model chunk (Megatron-Core's block)
  Full,
};
enum RecomputeModule : std::uint16_t {
  kRecomputeCoreAttention = 1 << 0,
  kRecomputeNorm = 1 << 1,
  kRecomputeMlaUpProjection = 1 << 2,
  kRecomputeMlp = 1 << 3,
  kRecomputeMoe = 1 << 4,
  kRecomputeMoeActivation = 1 << 5,
  kRecomputeSharedExperts = 1 << 6,
  kRecomputeActivation = 1 << 7,  // SwiGLU / GELU output
};
struct Recompute {
  RecomputeMode mode = RecomputeMode::None;
  int layers = 0;                 // RecomputeMode::Layers
  std::vector<int> stage_layers;  // … where stages differ: for each chunk of a stage, not `layers`
  std::uint16_t modules = 0;      // RecomputeMode::SelectiveModules
  /// True where whole layers run again, all of them or some.
  [[nodiscard]] constexpr bool of_layers() const {
    return mode == RecomputeMode::Full || mode == RecomputeMode::Layers;
  }
  friend bool operator==(const Recompute&, const Recompute&) = default;
};

enum class AttentionKernel : std::uint8_t {
  Flash,            // scores never stored; log-sum-exp kept; by the framework's library
  FlashAttention2,  // the same by FlashAttention-2, whatever the framework runs by itself
  FusedSoftmax,     // scores stored, scale-mask-softmax in one kernel
  Unfused,          // scores stored, every step a kernel of its own
};
/// Scores are written to memory and read again.
[[nodiscard]] constexpr bool stores_scores(AttentionKernel kernel) {
  return kernel == AttentionKernel::FusedSoftmax || kernel == AttentionKernel::Unfused;
}
enum class CrossEntropy : std::uint8_t {
  Default,  // what the framework profile does
  Unfused,
  Fused,    // in place over the logits
  Chunked,  // logits never complete
};
enum class FineTune : std::uint8_t {
  Pretrain,
  Full,
  Lora,
  Qlora,  // LoRA beside matrices in 4 bits
  Ia3,
  Lora8bit,  // LoRA beside matrices in 8 bits, which are multiplied as such (LLM.int8(), arXiv:2208.07339)
};
/// Linear layers that LoRA and QLoRA adapt (huggingface/peft target_modules, NeMo LoRA target_modules).
enum class AdapterTargets : std::uint8_t {
  AllLinear,
  Attention,      // queries, keys, values and the output projection
  QueryKeyValue,  // without the output projection
  QueryValue,     // q_proj and v_proj: PEFT's default for Llama-like models
  Mlp,
};
/// Biases of the frozen model that train beside LoRA's matrices (huggingface/peft LoraConfig.bias).
enum class TrainedBiases : std::uint8_t {
  None,
  All,      // of linear layers, norms and convolutions
  Adapted,  // of the adapted layers ("lora_only")
};
/// Modules of the frozen model that train as a whole beside adapters (huggingface/peft modules_to_save).
enum class SavedModules : std::uint8_t { None, Embedding, Head, Both };
enum OffloadTarget : std::uint8_t { kOffloadOptimizer = 1, kOffloadParameters = 2, kOffloadActivations = 4 };
enum class OffloadDevice : std::uint8_t { Cpu, Nvme };

/// To which length the sequences of a batch are padded (transformers `padding`).
enum class BatchPadding : std::uint8_t {
  MaxLength,  // to `sequence`, or packed: all batches are alike
  Longest,    // to the longest of the batch, `sequence` at most: lengths vary from batch to batch
};

/// How evenly the router fills the experts.
struct MoeRouting {
  /// Tokens of the busiest rank over the mean, >= 1; 1 = forced balance.
  double imbalance = 1.0;
  /// Of the tokens that one rank routes in a micro-batch, an expert takes capacity_factor × the mean at most
  /// (expert_capacity): the least probable are dropped; 0 = dropless.
  double capacity_factor = 0.0;
  /// … and gets as many rows, whatever chose it: what is not filled is padding.
  bool pad_to_capacity = false;

  [[nodiscard]] constexpr bool drops() const { return capacity_factor > 0; }
  [[nodiscard]] constexpr bool pads() const { return drops() && pad_to_capacity; }
  friend bool operator==(const MoeRouting&, const MoeRouting&) = default;
};

/// Which launches CUDA graphs replay, so that the host does not issue them one by one.
enum class CudaGraphs : std::uint8_t {
  Default,        // as the framework profile does
  None,           // every kernel is launched by the host
  Partial,        // modules or layers are captured; what lies between them is launched
  FullIteration,  // forward and backward of a step are one graph
};
/// Kernel that carries tokens to the ranks of their experts.
enum class ExpertDispatcher : std::uint8_t {
  Default,    // as the framework profile does
  AllToAll,   // a token travels once per expert
  AllGather,  // every rank receives every token
  DeepEp,     // a token travels once to each rank, and over the network once to each node
  HybridEp,   // the same, with fewer SMs and NVLink domains of any size
};
/// In which micro-batches gradients are reduced where parameters are gathered layer by layer (FSDP, ZeRO-3).
enum class GradientReduction : std::uint8_t {
  Default,       // as the framework profile does
  Every,         // in every one: each rank keeps its shard of the sum
  ReplicasOnce,  // in every one inside the shard group, between replicas of a hybrid layout in the last
  Once,          // in the last one: until then every rank keeps whole gradients (PyTorch's no_sync)
};
/// How the step is run: what hides behind what, and who launches the kernels. Unset: as the framework profile
/// does.
struct Execution {
  std::optional<bool> tensor_overlap;           // tensor-parallel collectives under the products beside them
  std::optional<bool> tensor_backward_overlap;  // … those of the backward only, as linear layers issue them
  std::optional<bool> pipeline_overlap;         // messages between stages under computation
  std::optional<bool> data_overlap;    // gradients are reduced and parameters gathered under computation
  std::optional<bool> expert_overlap;  // tokens travel to the experts under another micro-batch
  std::optional<bool> compiled;        // torch.compile or XLA: fewer operations for the host
  GradientReduction reduction = GradientReduction::Default;
  CudaGraphs graphs = CudaGraphs::Default;
  ExpertDispatcher dispatcher = ExpertDispatcher::Default;
  friend bool operator==(const Execution&, const Execution&) = default;
};

/// Sizes by which ZeRO moves and holds parameters and gradients, in elements. Unset: the framework profile's
/// (deepspeedai/DeepSpeed deepspeed/runtime/zero/config.py has a key for each).
struct ZeroSizes {
  std::optional<std::int64_t> reduce_bucket;  // gradients of one reduction
  std::optional<std::int64_t> prefetch;       // parameters gathered ahead of the module that runs
  std::optional<std::int64_t> live;           // gathered at a time, beyond which nothing is fetched ahead
  std::optional<std::int64_t> reuse;          // what runs again within so many parameters stays gathered
  std::optional<std::int64_t> persistent;     // smaller tensors stay whole on every rank
  std::optional<std::int64_t> update_group;   // of a rank's shard, updated at a time
  friend bool operator==(const ZeroSizes&, const ZeroSizes&) = default;
};

/// Where an outer step finds the parameters of the last one, and its momentum.
enum class OuterStates : std::uint8_t { Gpu, CopyOnHost, Host };
/// Outer steps of replicas that train apart (Layout::outer_replicas): the means of what their parameters have
/// moved by, taken as a gradient of SGD with Nesterov's momentum (DiLoCo, arXiv:2311.08105 algorithm 1).
struct OuterSteps {
  std::int64_t every = 0;     // steps of the optimizer from one to the next; 0: there are none
  DType dtype = DType::Fp32;  // in which outer gradients travel
  OuterStates states = OuterStates::Gpu;
  [[nodiscard]] constexpr bool taken() const { return every > 0; }
  friend bool operator==(const OuterSteps&, const OuterSteps&) = default;
};

/// Everything about a training step that is neither the model, nor the machines, nor the layout.
struct Recipe {
  std::int64_t sequence = 0;      // tokens
  std::int64_t micro_batch = 1;   // sequences per data-parallel rank and pass
  std::int64_t global_batch = 0;  // sequences per optimizer step
  BatchPadding padding = BatchPadding::MaxLength;
  Precision precision = Precision::Bf16;
  std::optional<DType> parameter_dtype;  // unset = the framework profile's
  std::optional<DType> gradient_dtype;   // accumulation and reduction
  std::optional<DType> moment_dtype;     // of AdamW
  Optimizer optimizer = Optimizer::AdamW;
  /// GaLore, APOLLO: dimensions of a matrix's subspace, and steps until it is chosen anew; 0: the optimizer's
  /// usual ones (projection_rank, projection_interval).
  std::int64_t projection_rank = 0, projection_interval = 0;
  /// Shampoo, SOAP: steps until bases or roots are made anew, and the longest side that has any; 0: the
  /// optimizer's usual ones (precondition_frequency, max_precondition_dim).
  std::int64_t precondition_frequency = 0, max_precondition_dim = 0;
  bool optimizer_in_backward = false;  // step fused into backward, gradients freed at once
  OuterSteps outer;
  Recompute recompute;
  AttentionKernel attention = AttentionKernel::Flash;
  bool fused_norm = true;  // false: the norm is written out in tensor operations, every one a kernel
  CrossEntropy cross_entropy = CrossEntropy::Default;
  double dropout = 0.0;  // > 0: masks are saved
  FineTune fine_tune = FineTune::Pretrain;
  std::int64_t lora_rank = 0;
  std::int64_t lora_alpha = 0;  // by it, over the rank, is scaled what adapters add; 0: twice the rank
  AdapterTargets lora_targets = AdapterTargets::AllLinear;
  TrainedBiases lora_bias = TrainedBiases::None;
  SavedModules saved_modules = SavedModules::None;
  bool dora = false;                      // LoRA and QLoRA: learns_magnitudes
  bool double_quantization = false;       // QLoRA: the scales of 4-bit weights have 8 bits
  std::int64_t trainable_parameters = 0;  // adapters: 0 = derived from lora_rank and lora_targets
  std::uint8_t offload = 0;               // OffloadTarget bits
  OffloadDevice offload_device = OffloadDevice::Cpu;
  /// Share of the optimizer's states that are offloaded; the GPU updates the rest (DeepSpeed's Twin-Flow
  /// `ratio`, Megatron-LM --optimizer-offload-fraction).
  double offload_fraction = 1;
  /// Layers per stage whose activations are offloaded (Megatron-LM --cpu-offloading-num-layers); 0 = all.
  int offload_layers = 0;
  ZeroSizes sizes;
  MoeRouting routing;
  Execution execution;
  std::int64_t tokens = 0;  // training budget, for hours and cost; 0 = not asked
  Checkpointing checkpoints;
  Reliability reliability;  // where the question says another one than the cluster's file
  friend bool operator==(const Recipe&, const Recipe&) = default;
};

/// Tokens of one optimizer step over all data-parallel ranks.
[[nodiscard]] constexpr std::int64_t tokens_per_step(const Recipe& recipe) {
  return recipe.global_batch * recipe.sequence;
}

/// Share of the optimizer's states, and of their update, that the host has.
[[nodiscard]] constexpr double offloaded_update(const Recipe& recipe) {
  return (recipe.offload & kOffloadOptimizer) != 0 ? recipe.offload_fraction : 0;
}

/// Share of a stage's `layers` whose activations are offloaded.
[[nodiscard]] constexpr double offloaded_layers(const Recipe& recipe, double layers) {
  if ((recipe.offload & kOffloadActivations) == 0) return 0;
  return recipe.offload_layers == 0 || recipe.offload_layers >= layers ? 1 : recipe.offload_layers / layers;
}

/// True when the base model is frozen and only adapters have gradients and optimizer states.
[[nodiscard]] constexpr bool trains_adapters(const Recipe& recipe) {
  return recipe.fine_tune >= FineTune::Lora;
}
/// True when these are LoRA's two matrices, whatever the base is kept in.
[[nodiscard]] constexpr bool trains_low_rank(const Recipe& recipe) {
  return recipe.fine_tune == FineTune::Lora || recipe.fine_tune == FineTune::Qlora ||
         recipe.fine_tune == FineTune::Lora8bit;
}
/// True when the word table, or the output layer, has a gradient.
[[nodiscard]] constexpr bool trains_embedding(const Recipe& recipe) {
  return !trains_adapters(recipe) || recipe.saved_modules == SavedModules::Embedding ||
         recipe.saved_modules == SavedModules::Both;
}
[[nodiscard]] constexpr bool trains_head(const Recipe& recipe) {
  return !trains_adapters(recipe) || recipe.saved_modules == SavedModules::Head ||
         recipe.saved_modules == SavedModules::Both;
}
/// True when frozen matrices of layers are kept in fewer bits than they are trained in.
[[nodiscard]] constexpr bool quantises_base(const Recipe& recipe) {
  return recipe.fine_tune == FineTune::Qlora || recipe.fine_tune == FineTune::Lora8bit;
}
/// DoRA: rows of W + scale·B·A are divided by their lengths and multiplied by learned magnitudes, one per
/// output of an adapted layer (arXiv:2402.09353 equation 5).
[[nodiscard]] constexpr bool learns_magnitudes(const Recipe& recipe) {
  return recipe.dora && trains_low_rank(recipe);
}

}  // namespace hexaplan::costmodel
