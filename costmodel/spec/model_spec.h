#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/spec/rotary_spec.h"

namespace hexaplan::costmodel {

enum class AttentionKind : std::uint8_t {
  Grouped,  // MHA (kv_heads == heads), GQA and MQA (kv_heads == 1)
  Latent,   // MLA, arXiv:2405.04434 §2.1
};
enum class NormKind : std::uint8_t { Rms, Layer };
/// Sinusoidal: a fixed table beside the word embedding (arXiv:1706.03762 §3.5), no parameter.
enum class PositionKind : std::uint8_t { Rotary, Learned, Alibi, Sinusoidal, None };
/// Xielu has two parameters a layer (arXiv:2411.13010).
enum class Activation : std::uint8_t { Silu, Gelu, Relu, ReluSquared, Xielu };
/// Which function GELU is: x·Φ(x), its approximation by tanh (both arXiv:1606.08415), or x·σ(1.702x).
enum class GeluForm : std::uint8_t { Exact, Tanh, Quick };
/// What a router makes of its logits before it chooses.
enum class RouterScore : std::uint8_t { Softmax, Sigmoid };
/// What norms of queries and keys work on.
enum class QkNormScope : std::uint8_t {
  Head,      // every head by itself, one weight as wide as a head (Qwen3)
  EachHead,  // every head by itself, with weights of its own (Cohere)
  Row,       // all heads of a token together (OLMo-2)
};

// Fields marked (identity) say which function a model computes. No byte and no second depends on them: they
// are what exports write and what the executor follows or refuses.

struct AttentionSpec {
  AttentionKind kind = AttentionKind::Grouped;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;    // Latent: == heads
  std::int64_t head_dim = 0;    // of q and k per head; Latent: qk_nope_dim + qk_rope_dim
  std::int64_t v_head_dim = 0;  // Grouped: == head_dim
  bool qkv_bias = false;
  bool output_bias = false;
  bool qk_norm = false;  // a norm each on q and k
  QkNormScope qk_norm_scope = QkNormScope::Head;
  NormKind qk_norm_kind = NormKind::Rms;
  bool qk_norm_bias = false;  // of a LayerNorm
  bool sinks = false;         // one learned logit per head that attends to nothing (gpt-oss)
  double score_width = 0;     // scores are divided by its square root; 0 = head_dim (identity)
  double softcap = 0;         // scores are c·tanh(score/c); 0 = not (Gemma-2)
  double value_clip = 0;      // projections are cut to ±this; 0 = not (clip_qkv; identity)

  std::int64_t q_lora_rank = 0;  // Latent only; 0 = q is projected directly
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_dim = 0;
  std::int64_t qk_rope_dim = 0;

  /// Sliding window in tokens; 0 = full causal attention in every layer.
  std::int64_t window = 0;
  /// With a window: every `global_period`-th layer attends globally (Gemma-2: 2, Gemma-3: 6); 0 = none does.
  std::int64_t global_period = 0;
  std::vector<int> global_layers;  // further layers that attend globally (Qwen2 max_window_layers)
  /// Windows begin anew every `window` tokens instead of sliding (Llama-4's attention_chunk_size).
  bool chunked = false;

  /// Of rotary positions: layers that have none, every `unrotated_period`-th (0: none) and those listed.
  std::int64_t unrotated_period = 0;
  std::vector<int> unrotated_layers;
  /// The family's code has one linear layer for queries, keys and values, beside which one adapter stands.
  bool packed = false;
  /// What attention makes is multiplied by the sigmoid of as many columns, which the queries' matrix makes
  /// beside the queries (Qwen3-Next).
  bool output_gate = false;

  friend bool operator==(const AttentionSpec&, const AttentionSpec&) = default;
};

/// What mixes tokens in the place of attention and keeps a state of fixed size for a sequence of any length.
enum class RecurrentKind : std::uint8_t {
  None,
  GatedDeltaNet,     // arXiv:2412.06464
  Mamba2,            // state-space duality, arXiv:2405.21060
  ShortConvolution,  // between two gates (LFM2): the last tokens are its state
  Mamba1,            // selective scan, arXiv:2312.00752
  Lightning,         // lightning attention, arXiv:2401.04658: decays that no token chooses
  KimiDelta,         // the delta rule with a decay for every row of the state, arXiv:2510.26692
};
inline constexpr int kRecurrentKinds = 7;

/// Norms of what a token gives Mamba-1's scan: its step, B and C.
enum class OperandNorms : std::uint8_t {
  None,
  Fixed,    // without weights, of whole steps, in the fused kernel (Falcon-Mamba)
  Trained,  // with weights, of what steps are made from, between kernels (Jamba)
};

/// A head's state has `state` rows of `head_dim` columns. Keys and queries, which Mamba calls B and C, have
/// `state` elements in each of `groups`, which heads / groups heads share.
struct RecurrentSpec {
  RecurrentKind kind = RecurrentKind::None;
  std::int64_t heads = 0;     // of values; ShortConvolution, Mamba1: its channels, each by itself
  std::int64_t head_dim = 0;  // of a value; ShortConvolution, Mamba1: 1
  std::int64_t groups = 0;
  std::int64_t state = 0;
  std::int64_t rank = 0;  // what Mamba-1's steps, and KimiDelta's decays and gates, are made from
  OperandNorms operand_norms = OperandNorms::None;
  std::int64_t kernel = 4;  // tokens that the causal convolution before the scan sees
  std::int64_t chunk = 64;  // tokens that are products of matrices; between chunks the state is handed on
  bool convolution_bias = false;
  bool bias = false;                  // of the projection before it …
  bool output_bias = false;           // … and of the one behind
  bool norm = true;                   // before the output projection
  std::int64_t attention_period = 0;  // every so many layers attend instead; 0: …
  std::vector<int> attention_layers;  // … those that are listed
  bool beside_attention = false;      // layers attend as well, and add both (Falcon-H1)
  friend bool operator==(const RecurrentSpec&, const RecurrentSpec&) = default;

  [[nodiscard]] std::int64_t values() const { return heads * head_dim; }
  [[nodiscard]] std::int64_t keys() const { return groups * state; }
};

struct MlpSpec {
  std::int64_t ffn = 0;
  bool gated = true;  // three matrices (SwiGLU, GeGLU) instead of two
  bool bias = false;
  Activation activation = Activation::Silu;
  GeluForm gelu = GeluForm::Exact;
  /// 0 = not; else gate·σ(1.702·gate)·(up + 1) with both cut at this (gpt-oss's swiglu_limit; identity).
  double clamp = 0;
  bool packed = false;  // the family's code has one linear layer for gate and up
  friend bool operator==(const MlpSpec&, const MlpSpec&) = default;
};

struct MoeSpec {
  std::int64_t experts = 0;  // 0 = dense model
  std::int64_t top_k = 0;
  std::int64_t expert_ffn = 0;
  std::int64_t shared_ffn = 0;     // total ffn of the shared experts; 0 = none
  bool shared_gate = false;        // sigmoid gate on the shared expert: h -> 1 (Qwen2-MoE)
  bool router_correction = false;  // one bias per expert for aux-loss-free balancing (DeepSeek-V3)
  bool router_bias = false;        // linear bias on the router (gpt-oss)
  bool expert_bias = false;
  std::int64_t first_k_dense = 0;  // leading dense layers
  std::int64_t period = 1;         // layer i is MoE when (i + 1) % period == 0 and i >= first_k_dense
  std::vector<int> dense_layers;   // further layers that are dense (mlp_only_layers)

  RouterScore score = RouterScore::Softmax;
  bool renormalise = false;  // weights of a token's experts add up to 1 (identity)
  double weight_factor = 1;  // of those weights (routed_scaling_factor; identity)
  /// Experts stand in `groups`; a token's are of its best `top_groups` (arXiv:2405.04434 §2.2.2; identity).
  std::int64_t groups = 1, top_groups = 1;
  /// Of the balance loss beside the model's own (identity). Default: arXiv:2101.03961 §2.2.
  double balance_coefficient = 0.01;
  friend bool operator==(const MoeSpec&, const MoeSpec&) = default;
};

/// A decoder-only transformer by its features, whatever family it comes from.
struct ModelSpec {
  std::string name;
  std::string family;  // model_type of config.json, for display only: no formula looks at it
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t vocab = 0;    // not padded
  std::int64_t outputs = 0;  // rows of the output layer; 0: the vocabulary. Critics and reward models have 1
  AttentionSpec attention;
  MlpSpec mlp;  // of the dense layers
  MoeSpec moe;
  RecurrentSpec recurrent;
  /// A layer is a mixer or an MLP, dense or of experts, and never both (Nemotron-H, Mamba-2): those listed
  /// are MLPs.
  bool single_branches = false;
  std::vector<int> mlp_layers;
  NormKind norm = NormKind::Rms;
  bool norm_bias = false;           // LayerNorm with bias
  bool norm_weight = true;          // OLMo's LayerNorms have neither weight nor bias
  double norm_epsilon = 1e-5;       // added to the mean square or variance (identity)
  bool zero_centered_norm = false;  // norms multiply by 1 + weight (Gemma)
  bool composed_norm = false;       // the family's code writes LayerNorms out in fp32 operations (Cohere)
  int norms_per_layer =
      2;  // 4: additional norms after attention and MLP (Gemma-2/3); 1: one shared (parallel)
  bool final_norm = true;
  bool embedding_norm = false;     // LayerNorm after the word embedding (BLOOM)
  bool parallel_residual = false;  // attention and MLP read the same input (GPT-NeoX, GPT-J)
  PositionKind positions = PositionKind::Rotary;
  RotarySpec rotary;                 // where positions are rotary (identity)
  std::int64_t max_positions = 0;    // rows of the learned position table; context length otherwise
  std::int64_t position_offset = 0;  // row of the table that the first position has (OPT: 2; identity)
  bool tied_embeddings = false;
  bool head_bias = false;
  double embedding_multiplier = 1;  // of the word embedding's output (Gemma: √hidden; identity)
  double logit_softcap = 0;         // logits are c·tanh(logit/c); 0 = not (Gemma-2; identity)
  double residual_multiplier = 1;   // of what attention and MLP add to the residual stream (Granite)
  double logit_multiplier = 1;      // of the logits (Cohere, Granite)
  bool norms_after = false;  // norms follow attention and MLP instead of preceding them (OPT-350m; identity)
  /// Norms follow attention and MLP before their results are added, and none precedes (OLMo-2); those of
  /// recurrent layers precede (OLMo Hybrid).
  bool norms_behind_branches = false;
  int mtp_layers = 0;  // multi-token-prediction modules (DeepSeek-V3), trained beside the main model
  /// A rule of the family that no field above has, in words; empty: none. No byte and no second depends on
  /// it, and the executor refuses the model (identity).
  std::string own_rule;
  /// Parts of the file's model that are not counted, in words: a vision tower; empty: none.
  std::string not_counted;
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;

  [[nodiscard]] bool is_moe() const { return moe.experts > 0; }
  [[nodiscard]] bool is_recurrent() const { return recurrent.kind != RecurrentKind::None; }
};

/// What a layer is made of.
enum class Branches : std::uint8_t { MixerAndMlp, Mixer, Mlp };

/// Layers that have the same tensors and operations share one class, so that a 126-layer model costs at most
/// as many times the work of one layer as there are classes.
struct LayerClass {
  bool moe = false;
  bool windowed = false;
  bool unrotated = false;  // rotary positions of the model, but not of this layer
  bool mtp = false;        // a multi-token-prediction module: what precedes a layer like the last, and a loss
  bool recurrent = false;  // mixes by the model's recurrence
  Branches branches = Branches::MixerAndMlp;
  friend bool operator==(const LayerClass&, const LayerClass&) = default;
};
/// Classes of the model's own layers, by their index. What attention alone can be (windowed, without
/// positions) is told apart where an MLP follows it.
inline constexpr std::array kOwnClasses{
    LayerClass{},
    LayerClass{.moe = true},
    LayerClass{.windowed = true},
    LayerClass{.moe = true, .windowed = true},
    LayerClass{.unrotated = true},
    LayerClass{.moe = true, .unrotated = true},
    LayerClass{.windowed = true, .unrotated = true},
    LayerClass{.moe = true, .windowed = true, .unrotated = true},
    LayerClass{.recurrent = true},
    LayerClass{.moe = true, .recurrent = true},
    LayerClass{.branches = Branches::Mixer},
    LayerClass{.recurrent = true, .branches = Branches::Mixer},
    LayerClass{.branches = Branches::Mlp},
    LayerClass{.moe = true, .branches = Branches::Mlp},
};
inline constexpr int kMtpClass = static_cast<int>(kOwnClasses.size());  // whatever its layer is
inline constexpr int kLayerClasses = kMtpClass + 1;
[[nodiscard]] constexpr int index_of(LayerClass c) {
  constexpr int kRecurrent = 8, kMixer = 10, kMlp = 12;
  if (c.mtp) return kMtpClass;
  if (c.branches == Branches::Mlp) return kMlp + (c.moe ? 1 : 0);
  if (c.branches == Branches::Mixer) return kMixer + (c.recurrent ? 1 : 0);
  if (c.recurrent) return kRecurrent + (c.moe ? 1 : 0);
  return (c.moe ? 1 : 0) + (c.windowed ? 2 : 0) + (c.unrotated ? 4 : 0);
}
/// Classes of the model's own layers. Precondition: index < kMtpClass.
[[nodiscard]] constexpr LayerClass own_class_at(int index) {
  return kOwnClasses[static_cast<std::size_t>(index)];
}
static_assert([] {
  for (int i = 0; i < kMtpClass; ++i) {
    if (index_of(own_class_at(i)) != i) return false;
  }
  return true;
}());

/// What layers of a class consist of.
[[nodiscard]] constexpr bool class_attends(const ModelSpec& model, LayerClass c) {
  return c.branches != Branches::Mlp && (!c.recurrent || model.recurrent.beside_attention);
}
[[nodiscard]] constexpr bool class_has_mlp(LayerClass c) {
  return c.branches != Branches::Mixer;
}
/// Where norms follow branches, those of a recurrence precede it and its MLP (OLMo Hybrid).
[[nodiscard]] constexpr bool norms_follow(const ModelSpec& model, LayerClass c) {
  return model.norms_behind_branches && !c.recurrent;
}
/// The class at `index`; a multi-token-prediction module has a layer of the class of `model`'s last one, or,
/// where branches stand alone, two: attention, and experts or an MLP.
[[nodiscard]] LayerClass layer_class_at(const ModelSpec& model, int index);

/// Class of layer `layer`, counted from 0; behind the model's own layers stand its multi-token-prediction
/// modules.
[[nodiscard]] LayerClass class_of_layer(const ModelSpec& model, std::int64_t layer);

using LayersByClass = std::array<int, kLayerClasses>;  // by index_of(LayerClass)
/// True when some layer of the model attends.
[[nodiscard]] bool has_attention(const ModelSpec& model);
/// How many of the `count` layers from `first` on are of each class.
[[nodiscard]] LayersByClass layers_by_class(const ModelSpec& model, std::int64_t first, std::int64_t count);

/// The model with one number per token in place of the logits: a critic, or a reward model
/// (transformers AutoModelForTokenClassification with num_labels=1, which shares no embedding).
[[nodiscard]] ModelSpec with_value_head(ModelSpec model);

/// Vocabulary padded to a multiple of `multiple`·tp (Megatron: 128).
[[nodiscard]] std::int64_t padded_vocab(std::int64_t vocab, std::int64_t multiple, int tp);

}  // namespace hexaplan::costmodel
