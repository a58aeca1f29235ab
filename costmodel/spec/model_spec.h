#pragma once
#include <array>
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

  friend bool operator==(const AttentionSpec&, const AttentionSpec&) = default;
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
  NormKind norm = NormKind::Rms;
  bool norm_bias = false;           // LayerNorm with bias
  bool norm_weight = true;          // OLMo's LayerNorms have neither weight nor bias
  double norm_epsilon = 1e-5;       // added to the mean square or variance (identity)
  bool zero_centered_norm = false;  // norms multiply by 1 + weight (Gemma)
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
  /// Norms follow attention and MLP before their results are added, and none precedes (OLMo-2).
  bool norms_behind_branches = false;
  int mtp_layers = 0;  // multi-token-prediction modules (DeepSeek-V3), trained beside the main model
  /// A rule of the family that no field above has, in words; empty: none. No byte and no second depends on
  /// it, and the executor refuses the model (identity).
  std::string own_rule;
  /// Parts of the file's model that are not counted, in words: a vision tower; empty: none.
  std::string not_counted;
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;

  [[nodiscard]] bool is_moe() const { return moe.experts > 0; }
};

/// Layers that have the same tensors and operations share one class, so that a 126-layer model costs at most
/// eight times the work of one layer.
struct LayerClass {
  bool moe = false;
  bool windowed = false;
  bool unrotated = false;  // rotary positions of the model, but not of this layer
  bool mtp = false;        // a multi-token-prediction module: what precedes a layer like the last, and a loss
  friend bool operator==(const LayerClass&, const LayerClass&) = default;
};
inline constexpr int kMtpClass = 8;  // whatever its layer is
inline constexpr int kLayerClasses = kMtpClass + 1;
[[nodiscard]] constexpr int index_of(LayerClass c) {
  return c.mtp ? kMtpClass : (c.moe ? 1 : 0) + (c.windowed ? 2 : 0) + (c.unrotated ? 4 : 0);
}
/// Classes of the model's own layers. Precondition: index < kMtpClass.
[[nodiscard]] constexpr LayerClass own_class_at(int index) {
  return {(index & 1) != 0, (index & 2) != 0, (index & 4) != 0};
}
/// The class at `index`; a multi-token-prediction module has a layer of the class of `model`'s last one.
[[nodiscard]] LayerClass layer_class_at(const ModelSpec& model, int index);

/// Class of layer `layer`, counted from 0; behind the model's own layers stand its multi-token-prediction
/// modules.
[[nodiscard]] LayerClass class_of_layer(const ModelSpec& model, std::int64_t layer);

using LayersByClass = std::array<int, kLayerClasses>;  // by index_of(LayerClass)
/// How many of the `count` layers from `first` on are of each class.
[[nodiscard]] LayersByClass layers_by_class(const ModelSpec& model, std::int64_t first, std::int64_t count);

/// The model with one number per token in place of the logits: a critic, or a reward model
/// (transformers AutoModelForTokenClassification with num_labels=1, which shares no embedding).
[[nodiscard]] ModelSpec with_value_head(ModelSpec model);

/// Vocabulary padded to a multiple of `multiple`·tp (Megatron: 128).
[[nodiscard]] std::int64_t padded_vocab(std::int64_t vocab, std::int64_t multiple, int tp);

}  // namespace hexaplan::costmodel
