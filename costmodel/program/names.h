#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "costmodel/spec/recipe.h"
#include "costmodel/units/enum_table.h"

namespace hexaplan::costmodel::program {

/// Parts of a layer, the embedding or the head that tensor parallelism enters and leaves as one, or that run
/// one after the other in backward.
enum class Block : std::uint8_t { Embedding, Attention, Mlp, Router, Experts, Shared, Head, Mtp, Count };

/// Where in the model an operation stands: what reports, timings and `--recompute modules=` name.
enum class Site : std::uint8_t {
  EmbeddingLookup,
  PositionLookup,
  PositionAdd,
  EmbeddingScale,
  EmbeddingLeave,
  EmbeddingNorm,
  Norm1,
  AttentionEnter,
  Qkv,
  QkvBias,
  QkvClip,
  QkNorm,
  QueryDown,
  QueryDownBias,
  QueryNorm,
  QueryUp,
  Query,
  KeyValueDown,
  KeyValueDownBias,
  KeyValueNorm,
  KeyValueUp,
  Rope,
  LatentRope,
  Ring,
  GatherKeys,
  ContextExchange,
  Core,
  ScoreProducts,  // what core attention that stores its scores consists of: no operation stands there
  ValueProducts,
  Merge,
  AttentionOutput,
  AttentionOutputBias,
  AttentionGate,
  StateProjection,
  StateProjectionBias,
  StateExchange,
  StateConvolution,
  StateGateIn,
  StateOperands,
  StateOperandsNorm,
  StateStep,
  StateScan,
  StateNorm,
  StateGate,
  StateOutput,
  StateOutputBias,
  MixerSum,
  AttentionLeave,
  PostNorm1,
  AttentionScale,
  AttentionResidual,
  Norm2,
  MlpEnter,
  Up,
  UpBias,
  Activation,
  Down,
  MlpLeave,
  DownBias,
  Router,
  Balance,
  TokenCounts,
  Permute,
  Dispatch,
  GatherRows,
  ExpertUp,
  ExpertUpBias,
  ExpertActivation,
  ExpertDown,
  ExpertDownBias,
  ScatterRows,
  Combine,
  SharedEnter,
  SharedUp,
  SharedActivation,
  SharedDown,
  SharedLeave,
  SharedGate,
  SharedGated,
  Unpermute,
  PostNorm2,
  MlpScale,
  MlpResidual,
  HeadNorm,
  HeadEnter,
  Logits,
  HeadBias,
  LogitScale,
  LogitCap,
  Loss,
  LossReduce,
  MtpEmbeddingNorm,
  MtpHiddenNorm,
  MtpEnter,
  MtpEmbeddingProjection,
  MtpHiddenProjection,
  MtpSum,
  MtpLeave,
  Gradients,  // sums of the gradients of a value that several operations read
  Count
};
struct SiteRow {
  Site id;
  std::string_view name;
  Block block;
  std::uint16_t modules = 0;  // RecomputeModule bits that run it again
};
/// By Site. Two sites may share a name where reports add them up.
inline constexpr std::array<SiteRow, position(Site::Count)> kSites{{
    {Site::EmbeddingLookup, "embedding.lookup", Block::Embedding},
    {Site::PositionLookup, "embedding.position", Block::Embedding},
    {Site::PositionAdd, "embedding.position", Block::Embedding},
    {Site::EmbeddingScale, "embedding.scale", Block::Embedding},
    {Site::EmbeddingLeave, "embedding.leave_tp", Block::Embedding},
    {Site::EmbeddingNorm, "embedding.norm", Block::Embedding},
    {Site::Norm1, "norm1", Block::Attention, kRecomputeNorm},
    {Site::AttentionEnter, "attention.enter_tp", Block::Attention},
    {Site::Qkv, "attention.qkv", Block::Attention},
    {Site::QkvBias, "attention.qkv_bias", Block::Attention},
    {Site::QkvClip, "attention.qkv_clip", Block::Attention},
    {Site::QkNorm, "attention.qk_norm", Block::Attention},
    {Site::QueryDown, "attention.q_down", Block::Attention},
    {Site::QueryDownBias, "attention.q_down_bias", Block::Attention},
    {Site::QueryNorm, "attention.latent_norm", Block::Attention},
    {Site::QueryUp, "attention.q_up", Block::Attention, kRecomputeMlaUpProjection},
    // Megatron-LM multi_latent_attention.py, qkv_up_proj_and_rope_apply: whole queries are made inside it,
    // too.
    {Site::Query, "attention.q", Block::Attention, kRecomputeMlaUpProjection},
    {Site::KeyValueDown, "attention.kv_down", Block::Attention},
    {Site::KeyValueDownBias, "attention.kv_down_bias", Block::Attention},
    {Site::KeyValueNorm, "attention.latent_norm", Block::Attention},
    {Site::KeyValueUp, "attention.kv_up", Block::Attention, kRecomputeMlaUpProjection},
    {Site::Rope, "attention.rope", Block::Attention},
    {Site::LatentRope, "attention.rope", Block::Attention, kRecomputeMlaUpProjection},
    {Site::Ring, "attention.ring", Block::Attention, kRecomputeCoreAttention},
    {Site::GatherKeys, "attention.gather_kv", Block::Attention, kRecomputeCoreAttention},
    {Site::ContextExchange, "attention.all_to_all", Block::Attention, kRecomputeCoreAttention},
    {Site::Core, "attention.core", Block::Attention, kRecomputeCoreAttention},
    {Site::ScoreProducts, "attention.scores", Block::Attention},
    {Site::ValueProducts, "attention.values", Block::Attention},
    {Site::Merge, "attention.merge", Block::Attention, kRecomputeCoreAttention},
    {Site::AttentionOutput, "attention.output", Block::Attention},
    {Site::AttentionOutputBias, "attention.output_bias", Block::Attention},
    {Site::AttentionGate, "attention.gate", Block::Attention},
    {Site::StateProjection, "state.projection", Block::Attention},
    {Site::StateProjectionBias, "state.projection_bias", Block::Attention},
    {Site::StateExchange, "state.all_to_all", Block::Attention},
    {Site::StateConvolution, "state.convolution", Block::Attention},
    {Site::StateGateIn, "state.gate", Block::Attention},
    {Site::StateOperands, "state.operands", Block::Attention},
    {Site::StateOperandsNorm, "state.operands_norm", Block::Attention},
    {Site::StateStep, "state.step", Block::Attention},
    {Site::StateScan, "state.scan", Block::Attention},
    {Site::StateNorm, "state.norm", Block::Attention},
    {Site::StateGate, "state.gate", Block::Attention},
    {Site::StateOutput, "state.output", Block::Attention},
    {Site::StateOutputBias, "state.output_bias", Block::Attention},
    {Site::MixerSum, "mixer.sum", Block::Attention},
    {Site::AttentionLeave, "attention.leave_tp", Block::Attention},
    {Site::PostNorm1, "post_norm", Block::Attention},
    {Site::AttentionScale, "attention.residual_scale", Block::Attention},
    {Site::AttentionResidual, "attention.residual", Block::Attention},
    {Site::Norm2, "norm2", Block::Mlp, kRecomputeNorm},
    {Site::MlpEnter, "mlp.enter_tp", Block::Mlp, kRecomputeMlp},
    {Site::Up, "mlp.up", Block::Mlp, kRecomputeMlp},
    {Site::UpBias, "mlp.up_bias", Block::Mlp, kRecomputeMlp},
    {Site::Activation, "mlp.activation", Block::Mlp, kRecomputeMlp | kRecomputeActivation},
    {Site::Down, "mlp.down", Block::Mlp, kRecomputeMlp},
    {Site::MlpLeave, "mlp.leave_tp", Block::Mlp, kRecomputeMlp},
    {Site::DownBias, "mlp.down_bias", Block::Mlp, kRecomputeMlp},
    {Site::Router, "moe.router", Block::Router, kRecomputeMoe},
    {Site::Balance, "moe.balance", Block::Router, kRecomputeMoe},
    {Site::TokenCounts, "moe.counts", Block::Router, kRecomputeMoe},
    {Site::Permute, "moe.permute", Block::Experts, kRecomputeMoe},
    {Site::Dispatch, "moe.dispatch", Block::Experts, kRecomputeMoe},
    {Site::GatherRows, "moe.gather_tp", Block::Experts, kRecomputeMoe},
    {Site::ExpertUp, "moe.expert.up", Block::Experts, kRecomputeMoe},
    {Site::ExpertUpBias, "moe.expert.up_bias", Block::Experts, kRecomputeMoe},
    {Site::ExpertActivation, "moe.expert.activation", Block::Experts,
     kRecomputeMoe | kRecomputeMoeActivation},
    {Site::ExpertDown, "moe.expert.down", Block::Experts, kRecomputeMoe},
    {Site::ExpertDownBias, "moe.expert.down_bias", Block::Experts, kRecomputeMoe},
    {Site::ScatterRows, "moe.scatter_tp", Block::Experts, kRecomputeMoe},
    {Site::Combine, "moe.combine", Block::Experts, kRecomputeMoe},
    {Site::SharedEnter, "moe.shared.enter_tp", Block::Shared, kRecomputeMoe | kRecomputeSharedExperts},
    {Site::SharedUp, "moe.shared.up", Block::Shared, kRecomputeMoe | kRecomputeSharedExperts},
    {Site::SharedActivation, "moe.shared.activation", Block::Shared, kRecomputeMoe | kRecomputeSharedExperts},
    {Site::SharedDown, "moe.shared.down", Block::Shared, kRecomputeMoe | kRecomputeSharedExperts},
    {Site::SharedLeave, "moe.shared.leave_tp", Block::Shared, kRecomputeMoe | kRecomputeSharedExperts},
    {Site::SharedGate, "moe.shared.gate", Block::Shared, kRecomputeMoe | kRecomputeSharedExperts},
    {Site::SharedGated, "moe.shared.gate", Block::Shared, kRecomputeMoe | kRecomputeSharedExperts},
    {Site::Unpermute, "moe.unpermute", Block::Experts, kRecomputeMoe},
    {Site::PostNorm2, "post_norm", Block::Mlp},
    {Site::MlpScale, "mlp.residual_scale", Block::Mlp},
    {Site::MlpResidual, "mlp.residual", Block::Mlp},
    {Site::HeadNorm, "head.norm", Block::Head},
    {Site::HeadEnter, "head.enter_tp", Block::Head},
    {Site::Logits, "head.logits", Block::Head},
    {Site::HeadBias, "head.bias", Block::Head},
    {Site::LogitScale, "head.logit_scale", Block::Head},
    {Site::LogitCap, "head.logit_cap", Block::Head},
    {Site::Loss, "loss.cross_entropy", Block::Head},
    {Site::LossReduce, "loss.reduce", Block::Head},
    {Site::MtpEmbeddingNorm, "mtp.norm", Block::Mtp},
    {Site::MtpHiddenNorm, "mtp.norm", Block::Mtp},
    {Site::MtpEnter, "mtp.enter_tp", Block::Mtp},
    {Site::MtpEmbeddingProjection, "mtp.projection", Block::Mtp},
    {Site::MtpHiddenProjection, "mtp.projection", Block::Mtp},
    {Site::MtpSum, "mtp.projection", Block::Mtp},
    {Site::MtpLeave, "mtp.leave_tp", Block::Mtp},
    {Site::Gradients, "gradients", Block::Mlp},
}};
static_assert(lists_in_order(kSites, position(Site::Count)));
[[nodiscard]] constexpr const SiteRow& row_of(Site site) {
  return kSites[position(site)];
}
[[nodiscard]] constexpr Block block_of(Site site) {
  return row_of(site).block;
}

/// What a value is; its gradient and its copies carry the same name and another Role.
enum class Tensor : std::uint8_t {
  LayerInput,
  LayerMiddle,  // the hidden states between attention and MLP
  LayerOutput,
  PositionEmbedding,
  NormInput,  // copies of what norms read
  NormOutput,
  NormStatistics,
  QueryKeyValue,
  QueryKeyStatistics,
  Query,
  KeyValue,
  QueryLatent,
  KeyValueLatent,
  LatentNormOutput,
  KeyValueUp,
  AttentionOutput,
  LogSumExp,
  AttentionMask,   // of a window
  Scores,          // after the softmax, of attention that stores them
  CappedScores,    // … before it, behind a soft cap
  ScoresDropout,   // … after dropout, and its mask
  AttentionDelta,  // rows of dO·O
  QuerySum,        // fp32 sum of the gradient of the queries
  AttentionProjection,
  QueryGate,        // queries, keys and values with the gate of attention's output beside them
  AttentionGate,    // the gate alone
  GatedAttention,   // attention's output times its sigmoid
  StateProjection,  // what a recurrence is made from, side by side
  StateMixed,       // what its convolution reads and makes
  StateGate,        // what multiplies its values
  StateScalars,     // the numbers that each head has of a token
  StateLatent,      // what steps, decays or gates are made from, and keys beside it
  StateSteps,       // of every channel
  StateKeys,        // queries and keys divided by their lengths, …
  StateKeyLengths,  // … which these are one over
  StateOperands,    // queries, keys and values of every head
  StateDecay,       // sums of the logarithms of decays within a chunk
  StateStrength,    // of what is written into the state
  StateInverse,     // of a chunk's triangular matrix, which the delta rule solves
  StateStates,      // at the beginning of every chunk
  StateChunk,       // further operands of a chunk's products
  StateValues,      // what is read of the states
  StateNormed,
  StateOutput,  // what the last projection reads
  GateUp,
  Activation,
  MlpProjection,
  ResidualDropout,  // masks of the dropout before the residual stream
  SharedGateUp,
  SharedActivation,
  SharedGate,
  RouterInput,  // copies of it
  RouterProbabilities,
  ChosenExperts,
  ExpertWeights,  // of the chosen experts
  ChoiceCounts,
  TokenOrder,  // where each copy of a token goes
  TokenCopies,
  ExpertInput,
  ExpertGateUp,
  ExpertActivation,
  ExpertProjection,
  ExpertOutput,
  AdapterInput,    // of the matrices beside a frozen one
  AdapterHidden,   // what LoRA's first matrices make
  ScaledOutput,    // what IA³ scales, and DoRA
  AdaptedWeight,   // of DoRA: W + scale·B·A, whose rows are measured
  RowNorms,        // … one over their lengths
  IntegerProduct,  // operand and result of a product in 8 bits, and its weight in backward
  RouterBalance,   // the balance loss and its gradient
  Logits,
  LossMaxima,
  LossSums,
  WeightGradient,
  WideWeight,  // of one that is kept in 4 bits
  Count
};
struct TensorRow {
  Tensor id;
  std::string_view name;
};
/// By Tensor.
inline constexpr std::array<TensorRow, position(Tensor::Count)> kTensors{{
    {Tensor::LayerInput, "layer.input"},
    {Tensor::LayerMiddle, "layer.middle"},
    {Tensor::LayerOutput, "layer.output"},
    {Tensor::PositionEmbedding, "embedding.position"},
    {Tensor::NormInput, "norm.input"},
    {Tensor::NormOutput, "norm.output"},
    {Tensor::NormStatistics, "norm.stats"},
    {Tensor::QueryKeyValue, "attention.query_key_value"},
    {Tensor::QueryKeyStatistics, "attention.qk_norm.stats"},
    {Tensor::Query, "attention.query"},
    {Tensor::KeyValue, "attention.key_value"},
    {Tensor::QueryLatent, "attention.latent_query"},
    {Tensor::KeyValueLatent, "attention.latent_kv"},
    {Tensor::LatentNormOutput, "attention.latent_norm_output"},
    {Tensor::KeyValueUp, "attention.key_value_up"},
    {Tensor::AttentionOutput, "attention.output"},
    {Tensor::LogSumExp, "attention.log_sum_exp"},
    {Tensor::AttentionMask, "attention.mask"},
    {Tensor::Scores, "attention.scores"},
    {Tensor::CappedScores, "attention.capped_scores"},
    {Tensor::ScoresDropout, "attention.scores_dropout"},
    {Tensor::AttentionDelta, "attention.delta"},
    {Tensor::QuerySum, "attention.query_sum"},
    {Tensor::AttentionProjection, "attention.projected"},
    {Tensor::QueryGate, "attention.query_gate_key_value"},
    {Tensor::AttentionGate, "attention.gate"},
    {Tensor::GatedAttention, "attention.gated"},
    {Tensor::StateProjection, "state.projected"},
    {Tensor::StateMixed, "state.mixed"},
    {Tensor::StateGate, "state.gate"},
    {Tensor::StateScalars, "state.scalars"},
    {Tensor::StateLatent, "state.latent"},
    {Tensor::StateSteps, "state.steps"},
    {Tensor::StateKeys, "state.keys"},
    {Tensor::StateKeyLengths, "state.keys.stats"},
    {Tensor::StateOperands, "state.operands"},
    {Tensor::StateDecay, "state.decay"},
    {Tensor::StateStrength, "state.strength"},
    {Tensor::StateInverse, "state.inverse"},
    {Tensor::StateStates, "state.states"},
    {Tensor::StateChunk, "state.chunk"},
    {Tensor::StateValues, "state.values"},
    {Tensor::StateNormed, "state.normed"},
    {Tensor::StateOutput, "state.output"},
    {Tensor::GateUp, "mlp.gate_up"},
    {Tensor::Activation, "mlp.activation"},
    {Tensor::MlpProjection, "mlp.projected"},
    {Tensor::ResidualDropout, "residual.dropout_mask"},
    {Tensor::SharedGateUp, "moe.shared.gate_up"},
    {Tensor::SharedActivation, "moe.shared.activation"},
    {Tensor::SharedGate, "moe.shared.gate"},
    {Tensor::RouterInput, "moe.router.input"},
    {Tensor::RouterProbabilities, "moe.router.probabilities"},
    {Tensor::ChosenExperts, "moe.routing_map"},
    {Tensor::ExpertWeights, "moe.expert_weights"},
    {Tensor::ChoiceCounts, "moe.choice_counts"},
    {Tensor::TokenOrder, "moe.token_order"},
    {Tensor::TokenCopies, "moe.token_copies"},
    {Tensor::ExpertInput, "moe.expert.input"},
    {Tensor::ExpertGateUp, "moe.expert.gate_up"},
    {Tensor::ExpertActivation, "moe.expert.activation"},
    {Tensor::ExpertProjection, "moe.expert.projected"},
    {Tensor::ExpertOutput, "moe.expert.output"},
    {Tensor::AdapterInput, "adapter.input"},
    {Tensor::AdapterHidden, "adapter.hidden"},
    {Tensor::ScaledOutput, "adapter.scaled_output"},
    {Tensor::AdaptedWeight, "adapter.weight"},
    {Tensor::RowNorms, "adapter.row_norms"},
    {Tensor::IntegerProduct, "adapter.integer_product"},
    {Tensor::RouterBalance, "moe.balance"},
    {Tensor::Logits, "logits"},
    {Tensor::LossMaxima, "loss.maxima"},
    {Tensor::LossSums, "loss.sums"},
    {Tensor::WeightGradient, "weight.gradient"},
    {Tensor::WideWeight, "weight.dequantised"},
}};
static_assert(lists_in_order(kTensors, position(Tensor::Count)));
[[nodiscard]] constexpr std::string_view name_of(Tensor tensor) {
  return kTensors[position(tensor)].name;
}

/// What a value is of its tensor.
enum class Role : std::uint8_t {
  Itself,
  Gradient,
  Whole,      // gathered over ranks, or on its way to or from other ranks
  Partial,    // a further block's share before it is added
  Copy,       // kept beside a buffer that is overwritten
  Workspace,  // of one kernel
  Count
};
struct RoleRow {
  Role id;
  std::string_view name;
};
inline constexpr std::array<RoleRow, position(Role::Count)> kRoles{{
    {Role::Itself, "value"},
    {Role::Gradient, "gradient"},
    {Role::Whole, "gathered"},
    {Role::Partial, "partial"},
    {Role::Copy, "copy"},
    {Role::Workspace, "workspace"},
}};
static_assert(lists_in_order(kRoles, position(Role::Count)));

/// What Kind::Pointwise computes, element by element. One row here, and its value and slopes in
/// validator/executor/device/element_functions.h: nothing else lists them.
enum class Function : std::uint8_t {
  Product,      // a·b
  SigmoidGate,  // a·σ(b)
  SiluGate,     // a·b·σ(b)
  Count
};
struct FunctionRow {
  Function id;
  std::string_view name;
};
/// By Function.
inline constexpr std::array<FunctionRow, position(Function::Count)> kFunctions{{
    {Function::Product, "product"},
    {Function::SigmoidGate, "sigmoid_gate"},
    {Function::SiluGate, "silu_gate"},
}};
static_assert(lists_in_order(kFunctions, position(Function::Count)));

}  // namespace hexaplan::costmodel::program
