#pragma once
#include <cstdint>

#include "costmodel/spec/model_spec.h"
#include "validator/executor/device/dropout.h"
#include "validator/executor/device/view.h"

// What an operation of `Device` is told beside its operands.

namespace hexaplan::validator {

/// C = op(A)·op(B), or C += with `accumulate`. op transposes. Views may be strided and of different elements;
/// sums are made in at least fp32. Operands in E4m3: both are, C is Bf16 or F32, both lie along the sum
/// (`transpose_b` alone), every side is a multiple of kE4m3Multiple.
struct Gemm {
  View a, b, c;
  bool transpose_a = false, transpose_b = false;
  bool accumulate = false;
  /// E4m3 alone: sums need not be carried to fp32 on the way, which is faster where the tensor cores keep
  /// fewer bits.
  bool fast_accumulation = false;
};
/// 16 bytes of a row, as tensor cores and the checks of frameworks want it (cuBLAS documentation, "Tensor
/// Core Usage" and cublasLtMatmul's requirements for FP8).
inline constexpr std::int64_t kE4m3Multiple = 16;

/// How rows are normalised. x̂ = x·rstd (RMSNorm, arXiv:1910.07467 eq. 4) or (x − mean)·rstd (LayerNorm,
/// arXiv:1607.06450 eq. 4), with rstd = 1/√(mean square or variance + epsilon).
struct NormForm {
  costmodel::NormKind kind = costmodel::NormKind::Rms;
  double epsilon = 1e-5;
  /// x̂ is multiplied by 1 + weight (Gemma: huggingface/transformers models/gemma/modeling_gemma.py).
  bool zero_centered = false;
  /// Columns that are normalised together, each group by itself: a head's, for norms of queries and keys.
  /// 0: the whole row.
  std::int64_t width = 0;
  /// Of the backward: the gradient of x is added to what is there, else it replaces it.
  bool accumulate = true;

  [[nodiscard]] constexpr std::int64_t groups(std::int64_t cols) const {
    return width > 0 ? cols / width : 1;
  }
  /// Columns of the statistics: rstd per group, or mean and rstd per group.
  [[nodiscard]] constexpr std::int64_t statistics(std::int64_t cols) const {
    return kind == costmodel::NormKind::Layer ? 2 * groups(cols) : groups(cols);
  }
};

/// How a model normalises hidden states.
[[nodiscard]] NormForm norm_form(const costmodel::ModelSpec& model);

enum class ActivationKind : std::uint8_t {
  Silu,         // x·σ(x), arXiv:1702.03118
  GeluExact,    // x·Φ(x), arXiv:1606.08415
  GeluTanh,     // its approximation by tanh, ibid. §2
  GeluQuick,    // its approximation x·σ(1.702x), ibid. §2
  Relu,         // max(x, 0)
  ReluSquared,  // max(x, 0)², arXiv:2109.08668
};
/// act = f(x), or f(gate)·up where gated.
struct ActivationForm {
  ActivationKind kind = ActivationKind::Silu;
  bool gated = true;
  /// Gated alone: above 0, act = f(min(gate, clamp))·(min(max(up, −clamp), clamp) + 1) (gpt-oss:
  /// huggingface/transformers models/gpt_oss/modeling_gpt_oss.py, GptOssExperts).
  double clamp = 0;
};
/// What a model's feed-forward network computes.
[[nodiscard]] ActivationForm activation_form(const costmodel::MlpSpec& mlp);

/// Rows of queries against rows of keys, for `batch` sequences at once. Sequence b's queries are rows
/// [b·q_pitch, b·q_pitch + seq_q) of q, its keys rows [b·kv_pitch, b·kv_pitch + seq_kv) of k and v. Columns
/// are head after head. heads % kv_heads == 0: query head i reads key head i / (heads / kv_heads). `causal`
/// hides keys behind the query.
struct AttentionBlock {
  std::int64_t batch = 1, heads = 1, kv_heads = 1;
  std::int64_t seq_q = 0, seq_kv = 0;
  std::int64_t q_pitch = 0, kv_pitch = 0;
  std::int64_t head_dim = 0, v_head_dim = 0;
  std::int64_t window = 0;  // 0 = full; else a causal query sees the last `window` keys up to its own
  bool causal = true;
  double scale = 0;  // usually 1/√head_dim
  /// (query, key) pairs per head and sequence that the mask keeps, in the cost model's convention: s²/2 of a
  /// causal square, the diagonal's half dropped.
  double pairs = 0;

  /// Position of the last query less that of the last key: 0 where they are one token. For the mask, the
  /// window and distances.
  std::int64_t distance = 0;
  /// Above 0: scaled scores are softcap·tanh(score/softcap) (arXiv:2408.00118 §2).
  double softcap = 0;
  /// 1 × heads, fp32 or wider, or empty. Adds −slope·(position of the query − that of the key) to the scores
  /// (arXiv:2108.12409 §3).
  View slopes;
  /// 1 × heads, or empty: one more score per head in the softmax's sum, of a key without a value (gpt-oss).
  /// Of several blocks that are merged one has them. Backward needs them in `sink_gradient` alone.
  View sinks;
  /// Probabilities are left out before values are summed: of queries in order of position and all keys.
  DropoutForm dropout;
  /// Backward writes the block's rows of dq, dk and dv instead of adding to them: the first of several
  /// blocks.
  bool overwrites = false;
  /// With `overwrites`: room like dq's in fp32 or wider, in which kernels may add up dq over blocks of keys;
  /// dq may then be as narrow as q. Empty: they add up in dq.
  View query_sum;
};
/// Calls clear(rows) for what a block that overwrites finds in dq, dk and dv.
template <class Clear>
void clear_overwritten(const AttentionBlock& block, const View& dq, const View& dk, const View& dv,
                       const Clear& clear) {
  if (!block.overwrites) return;
  for (std::int64_t b = 0; b < block.batch; ++b) {
    clear(dq.row_range(b * block.q_pitch, block.seq_q));
    for (const View& d : {dk, dv}) clear(d.row_range(b * block.kv_pitch, block.seq_kv));
  }
}

/// Where kernels that add up dq over blocks of keys do so.
[[nodiscard]] inline const View& query_sum_of(const AttentionBlock& block, const View& dq) {
  return block.query_sum.data == nullptr ? dq : block.query_sum;
}
/// Calls copy(to, from) for what they have added up apart from dq.
template <class Copy>
void deliver_query_sum(const AttentionBlock& block, const View& dq, const Copy& copy) {
  if (block.query_sum.data == nullptr) return;
  for (std::int64_t b = 0; b < block.batch; ++b) {
    copy(dq.row_range(b * block.q_pitch, block.seq_q),
         block.query_sum.row_range(b * block.q_pitch, block.seq_q));
  }
}

/// How a router turns logits into the experts and weights of a token.
struct RouterForm {
  costmodel::RouterScore score = costmodel::RouterScore::Softmax;
  /// Experts stand in `chosen` already; else the largest are chosen.
  bool given = false;
  /// Weights are divided by their sum + epsilon.
  bool renormalise = false;
  double epsilon = 0;
  double factor = 1;  // of the weights
  /// Experts stand in `groups` equally large ones, neighbours together; only those of the `top_groups` best
  /// groups are chosen (arXiv:2405.04434 §2.2.2). At most kMostGroups. A group is as good as the sum of its
  /// `best_of_group` best experts, 1 or 2 (arXiv:2405.04434: 1; deepseek-ai/DeepSeek-V3 inference/model.py: 2
  /// where experts have a correction).
  std::int64_t groups = 1, top_groups = 1;
  int best_of_group = 1;
  static constexpr std::int64_t kMostGroups = 32;
};
/// What a model's router computes. `given`: experts are not the router's choice.
[[nodiscard]] RouterForm router_form(const costmodel::MoeSpec& moe, bool given);

/// What a call does with a run of parameters. w: master, g: gradient·gradient_factor, d: direction.
enum class UpdateRule : std::uint8_t {
  /// m = β₁m + (1−β₁)g, v = β₂v + (1−β₂)g²; w −= lr·(m̂/(√v̂ + ε) + λw) (arXiv:1711.05101 algorithm 2).
  AdamW,
  /// The same with m and v in 8 bits (arXiv:2110.02861): updates w alone.
  AdamW8bit,
  /// The moments of AdamW8bit, quantised block by block anew; whole blocks.
  AdamW8bitMoments,
  /// m = μm + g + λw; w −= lr·m (torch.optim.SGD, whose decay is part of the gradient).
  Sgd,
  /// w −= lr·(sign(β₁m + (1−β₁)g) + λw), then m = β₂m + (1−β₂)g (arXiv:2302.06675 algorithm 2).
  Lion,
  /// m and v as AdamW's; d = m̂/(√v̂ + ε) + λw (arXiv:1904.00962 algorithm 2).
  LambDirection,
  /// m = μm + (1−μ)g; d = μm + (1−μ)g, Nesterov's (torch.optim.Muon; arXiv:2502.16982 section 2.1).
  MuonDirection,
  /// w −= lr·(direction_factor·d + λw).
  Descend,
  /// v = β₂v + (1−β₂)(g + ε), where g are sums of squares already; d = direction_factor/√v, which may take
  /// their place (Adafactor's moments of rows and columns: arXiv:1804.04235 algorithm 4).
  FactoredMoment,
};

/// A run of parameters with its gradient and states, all contiguous and equally long, but for states in 8
/// bits: those are of the whole shard, of which `first` is where the run begins.
struct OptimizerUpdate {
  UpdateRule rule = UpdateRule::AdamW;
  View parameter;  // compute copy, written from the master
  View master, first_moment, second_moment;
  View first_scale, second_scale;  // of 8-bit moments: the largest of every costmodel::kMomentBlock
  std::int64_t first = 0;
  View gradient;
  View direction;
  double learning_rate = 0, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, momentum = 0.95;
  double weight_decay = 0;     // 0 for vectors
  double gradient_factor = 1;  // clipping and averaging
  double direction_factor = 1;
  std::int64_t step = 1;  // counts from 1, for the bias correction
};

}  // namespace hexaplan::validator
