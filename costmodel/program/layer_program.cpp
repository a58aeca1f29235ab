#include "costmodel/program/layer_program.h"

#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel::program {
namespace {

constexpr Shape tokens(Width width) {
  return {Rows::Tokens, width};
}

/// Appends operations to a forward pass.
class ForwardBuilder {
 public:
  ForwardBuilder(const ModelSpec& model, Part part) : model_{model} { program_.part = part; }

  ValueId input(Tensor tensor, Shape shape) { return program_.add({.tensor = tensor, .shape = shape}); }
  ValueId emit(Site site, Kind kind, IdList<16> reads, Tensor tensor, Shape shape) {
    const ValueId out = program_.add({.tensor = tensor, .shape = shape});
    Op op{.site = site, .kind = kind, .reads = reads, .writes = {out}};
    op.in_place = row_of(kind).in_place;
    program_.ops.push_back(op);
    return out;
  }
  ValueId pointwise(Site site, Function function, IdList<16> reads, Tensor tensor, Shape shape) {
    const ValueId out = emit(site, Kind::Pointwise, reads, tensor, shape);
    program_.ops.back().function = function;
    return out;
  }
  /// A further result of the operation emitted last.
  ValueId also(Tensor tensor, Shape shape, Role role = Role::Itself) {
    const ValueId out = program_.add({.tensor = tensor, .shape = shape, .role = role});
    program_.ops.back().writes.push_back(out);
    return out;
  }
  /// The framework's function around the operation emitted last makes its results again.
  void make_again(bool so) { program_.ops.back().made_again = so; }
  /// So many of the value side by side.
  void copy(ValueId id, double copies) { program_.of(id).copies = copies; }
  void weigh(Weight weight) { program_.ops.back().weight = add_weight(weight); }
  void weigh_bias(Weight weight) { program_.ops.back().bias = add_weight(weight); }

  ValueId norm(Site site, ValueId x, Parameter weight, Parameter bias, Tensor output = Tensor::NormOutput) {
    const Shape shape = program_.of(x).shape;
    const ValueId out = emit(site, Kind::Norm, {x}, output, shape);
    // 1/sigma of every row; a LayerNorm keeps the mean as well.
    const Width statistics =
        model_.norm == NormKind::Layer || mutant("norm-statistics-doubled") ? Width::Two : Width::One;
    also(Tensor::NormStatistics, {shape.rows, statistics, Type::Fp32});
    if (!model_.norm_weight) return out;
    weigh({Width::One, shape.width, Split::Whole, weight});
    if (model_.norm == NormKind::Layer && model_.norm_bias)
      weigh_bias({Width::One, shape.width, Split::Whole, bias});
    return out;
  }
  /// Of a latent, an RMSNorm whatever the model's other norms are; it may look at the first columns alone.
  ValueId latent_norm(Site site, ValueId x, Width width, Parameter weight) {
    const Rows rows = program_.of(x).shape.rows;
    const ValueId out = emit(site, Kind::Norm, {x}, Tensor::LatentNormOutput, {rows, width});
    also(Tensor::NormStatistics, {rows, Width::One, Type::Fp32});
    weigh({Width::One, width, Split::Whole, weight});
    return out;
  }
  ValueId matmul(Site site, ValueId x, Tensor output, Shape shape, Weight weight) {
    const bool grouped = shape.rows == Rows::ExpertRows;
    const ValueId out = emit(site, grouped ? Kind::GroupedMatmul : Kind::Matmul, {x}, output, shape);
    weigh(weight);
    return out;
  }
  ValueId bias(Site site, bool present, ValueId x, Parameter first, Parameter last = Parameter::Count) {
    if (!present) return x;
    const Value of = program_.of(x);
    const bool grouped = of.shape.rows == Rows::ExpertRows;
    const Kind kind = grouped ? Kind::GroupedBiasAdd : Kind::BiasAdd;
    const ValueId out = emit(site, kind, {x}, of.tensor, of.shape);
    weigh({of.shape.width, Width::One, Split::Whole, first, last});
    return out;
  }
  /// The first matrix of a gated MLP holds gate and up.
  [[nodiscard]] Parameter up(Parameter gated, Parameter plain) const {
    return model_.mlp.gated ? gated : plain;
  }
  ValueId activation(Site site, ValueId x, Tensor output, Shape shape) {
    const Kind kind = model_.mlp.gated ? Kind::GatedActivation : Kind::PlainActivation;
    return emit(site, kind, {x}, output, shape);
  }
  /// A norm between a block and the residual stream (Gemma-2, OLMo-2).
  ValueId post_norm(Site site, LayerClass kind, ValueId x, Parameter weight, Parameter bias) {
    const bool behind = model_.norms_per_layer >= 4 || norms_follow(model_, kind);
    return behind ? norm(site, x, weight, bias) : x;
  }
  ValueId scale(Site site, double factor, ValueId x) {
    if (factor == 1) return x;
    const Value of = program_.of(x);
    return emit(site, Kind::Scale, {x}, of.tensor, of.shape);
  }

  [[nodiscard]] Program& program() { return program_; }
  [[nodiscard]] Program take(ValueId input, ValueId output) {
    program_.input = input;
    program_.output = output;
    return std::move(program_);
  }

 private:
  std::int16_t add_weight(Weight weight) {
    program_.weights.push_back(weight);
    return static_cast<std::int16_t>(program_.weights.size() - 1);
  }

  const ModelSpec& model_;
  Program program_;
};

/// What one matrix makes of a block's input, and its bias: queries, keys and values, and the gate beside them
/// where there is one.
ValueId packed_projections(ForwardBuilder& b, const ModelSpec& m, ValueId x) {
  const bool gated = m.attention.output_gate;
  const Width width = gated ? Width::QueryGateKeyValue : Width::QueryKeyValue;
  const ValueId made =
      b.matmul(Site::Qkv, x, gated ? Tensor::QueryGate : Tensor::QueryKeyValue, tokens(width),
               {width, Width::Hidden, Split::Column, Parameter::AttentionQueryWeight,
                Parameter::AttentionKeyValueWeight});
  return b.bias(Site::QkvBias, m.attention.qkv_bias, made, Parameter::AttentionQueryBias,
                Parameter::AttentionKeyValueBias);
}

struct Projected {
  ValueId qkv, gate = kNone;
};
/// Queries, keys and values side by side, rotated and normalised in place of each other.
Projected grouped_projections(ForwardBuilder& b, const ModelSpec& m, LayerClass kind, ValueId x) {
  Projected made{packed_projections(b, m, x)};
  ValueId& qkv = made.qkv;
  if (m.attention.output_gate) {
    qkv = b.emit(Site::Qkv, Kind::Separate, {qkv}, Tensor::QueryKeyValue, tokens(Width::QueryKeyValue));
    made.gate = b.also(Tensor::AttentionGate, tokens(Width::Attended));
  }
  if (m.attention.value_clip > 0)
    qkv = b.emit(Site::QkvClip, Kind::Clip, {qkv}, Tensor::QueryKeyValue, tokens(Width::QueryKeyValue));
  if (m.attention.qk_norm) {
    qkv = b.emit(Site::QkNorm, Kind::QkNorm, {qkv}, Tensor::QueryKeyValue, tokens(Width::QueryKeyValue));
    const bool rows = m.attention.qk_norm_scope == QkNormScope::Row;
    b.also(Tensor::QueryKeyStatistics, {Rows::Tokens, rows ? Width::Two : Width::NormedHeads, Type::Fp32});
    b.weigh({Width::One, Width::QueryKey, Split::Whole, Parameter::AttentionQueryNormWeight,
             Parameter::AttentionKeyNormWeight});
    if (m.attention.qk_norm_bias)
      b.weigh_bias({Width::One, Width::QueryKey, Split::Whole, Parameter::AttentionQueryNormBias,
                    Parameter::AttentionKeyNormBias});
  }
  if (m.positions != PositionKind::Rotary || kind.unrotated) return made;
  qkv = b.emit(Site::Rope, Kind::Rope, {qkv}, Tensor::QueryKeyValue, tokens(Width::QueryKeyValue));
  return made;
}

struct Latent {
  ValueId query, key_value;
};
/// Multi-head latent attention (arXiv:2405.04434 §2.1): queries, keys and values through low ranks; the
/// key's rotary part is shared by all heads.
Latent latent_projections(ForwardBuilder& b, const ModelSpec& m, ValueId x) {
  ValueId query = kNone;
  if (m.attention.q_lora_rank > 0) {
    ValueId down =
        b.matmul(Site::QueryDown, x, Tensor::QueryLatent, tokens(Width::QueryLatent),
                 {Width::QueryLatent, Width::Hidden, Split::Region, Parameter::AttentionQueryDownWeight});
    down = b.bias(Site::QueryDownBias, m.attention.qkv_bias, down, Parameter::AttentionQueryDownBias);
    const ValueId normed =
        b.latent_norm(Site::QueryNorm, down, Width::QueryLatent, Parameter::AttentionQueryDownNormWeight);
    query = b.matmul(Site::QueryUp, normed, Tensor::Query, tokens(Width::Query),
                     {Width::Query, Width::QueryLatent, Split::Column, Parameter::AttentionQueryUpWeight});
  } else {
    query = b.matmul(Site::Query, x, Tensor::Query, tokens(Width::Query),
                     {Width::Query, Width::Hidden, Split::Column, Parameter::AttentionQueryWeight});
  }
  ValueId latent =
      b.matmul(Site::KeyValueDown, x, Tensor::KeyValueLatent, tokens(Width::KeyValueLatent),
               {Width::KeyValueLatent, Width::Hidden, Split::Region, Parameter::AttentionKeyValueDownWeight});
  latent = b.bias(Site::KeyValueDownBias, m.attention.qkv_bias, latent, Parameter::AttentionKeyValueDownBias);
  const ValueId normed = b.latent_norm(Site::KeyValueNorm, latent, Width::KeyValueNormed,
                                       Parameter::AttentionKeyValueDownNormWeight);
  const ValueId up = b.matmul(
      Site::KeyValueUp, normed, Tensor::KeyValueUp, tokens(Width::KeyValueUp),
      {Width::KeyValueUp, Width::KeyValueNormed, Split::Column, Parameter::AttentionKeyValueUpWeight});
  const bool rotates = m.positions == PositionKind::Rotary;
  const ValueId rotated =
      rotates ? b.emit(Site::LatentRope, Kind::Rope, {query}, Tensor::Query, tokens(Width::Query)) : query;
  const ValueId key_value =
      b.emit(Site::LatentRope, Kind::ExpandKeys, {up, latent}, Tensor::KeyValue, tokens(Width::KeyValue));
  return {rotated, key_value};
}

ValueId attention(ForwardBuilder& b, const ModelSpec& m, LayerClass kind, ValueId x) {
  IdList<16> operands;
  ValueId gate = kNone;
  if (m.attention.kind == AttentionKind::Latent) {
    const Latent latent = latent_projections(b, m, x);
    operands = {latent.query, latent.key_value};
  } else {
    const Projected made = grouped_projections(b, m, kind, x);
    operands = {made.qkv};
    gate = made.gate;
  }
  ValueId out = b.emit(Site::Core, Kind::Attend, operands, Tensor::AttentionOutput, tokens(Width::Attended));
  b.also(Tensor::LogSumExp, {Rows::Tokens, Width::Heads,
                             mutant("log-sum-exp-in-the-activations-type") ? Type::Activation : Type::Fp32});
  if (m.attention.sinks) b.weigh({Width::Heads, Width::One, Split::Whole, Parameter::AttentionSinks});
  if (gate != kNone)
    out = b.pointwise(Site::AttentionGate, Function::SigmoidGate, {out, gate}, Tensor::GatedAttention,
                      tokens(Width::Attended));
  const ValueId projected =
      b.matmul(Site::AttentionOutput, out, Tensor::AttentionProjection, kHiddenStates,
               {Width::Hidden, Width::Attended, Split::Row, Parameter::AttentionOutputWeight});
  return b.bias(Site::AttentionOutputBias, m.attention.output_bias, projected,
                Parameter::AttentionOutputBias);
}

// Recurrences: what stands where attention would, as the fused kernels have it.

constexpr Shape kStateValues = tokens(Width::StateValues);
constexpr Shape kOfStateHeads{Rows::Tokens, Width::StateHeads, Type::Fp32};
/// Of a kernel: at the beginning of every chunk.
constexpr Shape kStates{Rows::Chunks, Width::StateSize, Type::Fp32};

void workspace(ForwardBuilder& b, Tensor tensor, Shape shape) {
  b.also(tensor, shape, Role::Workspace);
}

ValueId convolve(ForwardBuilder& b, const RecurrentSpec& r, ValueId x) {
  const ValueId out =
      b.emit(Site::StateConvolution, Kind::Convolve, {x}, Tensor::StateMixed, tokens(Width::StateMixed));
  b.weigh({Width::StateMixed, Width::StateKernel, Split::Whole, Parameter::StateConvolutionWeight,
           r.convolution_bias ? Parameter::StateConvolutionBias : Parameter::Count});
  return out;
}

/// An RMSNorm over each head's values, or over those of each group.
ValueId norm_states(ForwardBuilder& b, ValueId x, Tensor output, Width statistics) {
  const ValueId out = b.emit(Site::StateNorm, Kind::Norm, {x}, output, kStateValues);
  b.also(Tensor::NormStatistics, {Rows::Tokens, statistics, Type::Fp32});
  b.weigh({Width::One, Width::StateValues, Split::Whole, Parameter::StateNormWeight});
  return out;
}

/// Queries and keys are divided by their lengths, repeated for all heads, and meet values in the delta rule
/// (NVIDIA/Megatron-LM megatron/core/ssm/gated_delta_net). Its kernels keep the inverse of every chunk's
/// triangular matrix and make the states again (fla-org/flash-linear-attention
/// fla/ops/gated_delta_rule/chunk.py, ChunkGatedDeltaRuleFunction).
ValueId gated_delta_net(ForwardBuilder& b, const RecurrentSpec& r, ValueId projected) {
  const ValueId mixed = b.emit(Site::StateProjection, Kind::Separate, {projected}, Tensor::StateMixed,
                               tokens(Width::StateMixed));
  const ValueId gate = b.also(Tensor::StateGate, kStateValues);
  const ValueId scalars = b.also(Tensor::StateScalars, tokens(Width::StateHeads2));
  const ValueId convolved = convolve(b, r, mixed);
  const ValueId operands = b.emit(Site::StateOperands, Kind::StateOperands, {convolved, scalars},
                                  Tensor::StateOperands, tokens(Width::StateOperands));
  const ValueId decays = b.also(Tensor::StateDecay, kOfStateHeads);
  const ValueId strengths = b.also(Tensor::StateStrength, tokens(Width::StateHeads));
  b.also(Tensor::StateKeys, tokens(Width::StateKeys2));
  b.also(Tensor::StateKeyLengths, {Rows::Tokens, Width::StateGroups2, Type::Fp32});
  b.weigh({Width::StateHeads, Width::One, Split::Whole, Parameter::StateDecay, Parameter::StateStepBias});
  ValueId values = b.emit(Site::StateScan, Kind::DeltaRule, {operands, decays, strengths},
                          Tensor::StateValues, kStateValues);
  b.also(Tensor::StateDecay, kOfStateHeads);
  b.also(Tensor::StateInverse, tokens(Width::StateIntra));
  workspace(b, Tensor::StateStates, {Rows::Chunks, Width::StateSize});
  workspace(b, Tensor::StateChunk, tokens(Width::StateDeltaWorkspace));
  if (r.norm) values = norm_states(b, values, Tensor::StateNormed, Width::StateHeads);
  return b.pointwise(Site::StateGate, Function::SiluGate, {values, gate}, Tensor::StateOutput, kStateValues);
}

/// Convolution, scan and gate are one kernel call, which keeps what it reads and what it read of the states
/// (state-spaces/mamba mamba_ssm/ops/triton/ssd_combined.py, MambaSplitConv1dScanCombinedFn).
ValueId mamba2(ForwardBuilder& b, const RecurrentSpec& r, ValueId projected) {
  const ValueId gated =
      b.emit(Site::StateScan, Kind::StateSpace, {projected}, Tensor::StateOutput, kStateValues);
  b.also(Tensor::StateValues, kStateValues);
  b.weigh({Width::StateMixed, Width::StateKernel, Split::Whole, Parameter::StateConvolutionWeight,
           Parameter::StateSkip});
  workspace(b, Tensor::StateMixed, tokens(Width::StateMixed));
  workspace(b, Tensor::StateStates, kStates);
  workspace(b, Tensor::StateChunk, {Rows::Tokens, Width::StateGroupIntra, Type::Fp32});
  workspace(b, Tensor::StateDecay, {Rows::Tokens, Width::StateHeads2, Type::Fp32});
  return r.norm ? norm_states(b, gated, Tensor::StateNormed, Width::StateGroups) : gated;
}

/// Between two gates (huggingface/transformers src/transformers/models/lfm2/modeling_lfm2.py, Lfm2ShortConv).
ValueId short_convolution(ForwardBuilder& b, const RecurrentSpec& r, ValueId projected) {
  const ValueId before =
      b.emit(Site::StateProjection, Kind::Separate, {projected}, Tensor::StateGate, kStateValues);
  const ValueId after = b.also(Tensor::StateGate, kStateValues);
  const ValueId mixed = b.also(Tensor::StateValues, kStateValues);
  const ValueId gated = b.pointwise(Site::StateGateIn, Function::Product, {mixed, before}, Tensor::StateMixed,
                                    tokens(Width::StateMixed));
  return b.pointwise(Site::StateGate, Function::Product, {convolve(b, r, gated), after}, Tensor::StateOutput,
                     kStateValues);
}

/// Without trained norms all from the convolution to the output's product is one autograd function, which
/// makes again what its scan reads and what leaves the gate (state-spaces/mamba
/// mamba_ssm/ops/selective_scan_interface.py, MambaInnerFn). Jamba calls the kernels one by one, whose
/// operands are laid anew: a channel's tokens lie side by side.
ValueId mamba1(ForwardBuilder& b, const RecurrentSpec& r, ValueId projected) {
  const bool fused = r.operand_norms != OperandNorms::Trained;
  const auto laid = [&](ValueId x) {
    const Value of = b.program().of(x);
    return b.emit(Site::StateOperands, Kind::Transpose, {x}, of.tensor, of.shape);
  };
  if (fused) projected = laid(projected);
  const ValueId mixed = b.emit(Site::StateProjection, Kind::Separate, {projected}, Tensor::StateMixed,
                               tokens(Width::StateMixed));
  ValueId gate = b.also(Tensor::StateGate, kStateValues);
  ValueId values = convolve(b, r, mixed);
  b.make_again(fused);
  ValueId latent =
      b.matmul(Site::StateOperands, values, Tensor::StateLatent, tokens(Width::StateSelected),
               {Width::StateSelected, Width::StateValues, Split::Whole, Parameter::StateOperandsWeight});
  if (!fused) {
    latent = b.emit(Site::StateOperandsNorm, Kind::Norm, {latent}, Tensor::StateLatent,
                    tokens(Width::StateSelected));
    b.also(Tensor::NormStatistics, {Rows::Tokens, Width::StateThree, Type::Fp32});
    b.weigh({Width::One, Width::StateSelected, Split::Whole, Parameter::StateOperandsNormWeight});
  }
  const ValueId steps =
      b.matmul(Site::StateStep, latent, Tensor::StateSteps, kStateValues,
               {Width::StateValues, Width::StateRank, Split::Whole, Parameter::StateStepWeight});
  b.make_again(fused);
  if (fused) {
    latent =
        b.emit(Site::StateOperands, Kind::Separate, {latent}, Tensor::StateKeys, tokens(Width::StateKeys2));
  } else {
    values = laid(values);
    gate = laid(gate);
  }
  const ValueId gated = b.emit(Site::StateScan, Kind::SelectiveScan, {values, steps, latent, gate},
                               Tensor::StateOutput, kStateValues);
  b.make_again(fused);
  b.also(Tensor::StateValues, kStateValues);
  b.copy(b.also(Tensor::StateStates, kStates), 2);  // with the products of its decays
  b.weigh({Width::StateSize, Width::One, Split::Whole, Parameter::StateDecay, Parameter::StateSkip});
  // Steps are normed and laid anew, again in backward; nobody gives these norms a gradient.
  if (r.operand_norms == OperandNorms::Fixed)
    b.copy(b.also(Tensor::StateSteps, kStateValues, Role::Workspace), 2);
  return gated;
}

/// Eager, block by block (huggingface/transformers src/transformers/models/minimax/modeling_minimax.py,
/// MiniMaxLightningAttention): queries and keys times their decays, scores, and states are kept.
ValueId lightning(ForwardBuilder& b, const RecurrentSpec& r, ValueId projected) {
  const ValueId raw = b.emit(Site::StateProjection, Kind::Separate, {projected}, Tensor::StateMixed,
                             tokens(Width::StateMixed));
  const ValueId gate = b.also(Tensor::StateGate, kStateValues);
  const ValueId active = b.emit(Site::StateOperands, Kind::PlainActivation, {raw}, Tensor::StateOperands,
                                tokens(Width::StateMixed));
  ValueId values = b.emit(Site::StateScan, Kind::Lightning, {active}, Tensor::StateValues, kStateValues);
  b.also(Tensor::StateKeys, tokens(Width::StateKeys2));
  b.also(Tensor::StateChunk, tokens(Width::StateIntra));
  b.also(Tensor::StateStates, {Rows::Chunks, Width::StateSize});
  if (r.norm) values = norm_states(b, values, Tensor::StateNormed, Width::One);
  return b.pointwise(Site::StateGate, Function::SigmoidGate, {values, gate}, Tensor::StateOutput,
                     kStateValues);
}

/// Keys' rows have decays of their own, which transformers makes one operation at a time in fp32 before
/// fla's kernels: an exponential, that plus one, its logarithm and where it holds are kept
/// (huggingface/transformers src/transformers/models/kimi_linear/modeling_kimi_linear.py,
/// KimiLinearForgetGate). The kernels keep decays and their sums, scores and inverses of chunks
/// (fla-org/flash-linear-attention fla/ops/kda/chunk.py, ChunkKDAFunction).
ValueId kimi_delta(ForwardBuilder& b, const RecurrentSpec& r, ValueId projected) {
  constexpr Shape kOfRows{Rows::Tokens, Width::StateRows, Type::Fp32};
  const ValueId mixed = b.emit(Site::StateProjection, Kind::Separate, {projected}, Tensor::StateMixed,
                               tokens(Width::StateMixed));
  const ValueId scalars = b.also(Tensor::StateScalars, tokens(Width::StateHeads));
  const ValueId of_decays = b.also(Tensor::StateLatent, tokens(Width::StateRank));
  const ValueId of_gates = b.also(Tensor::StateLatent, tokens(Width::StateRank));
  const ValueId convolved = convolve(b, r, mixed);
  const ValueId steps =
      b.matmul(Site::StateStep, of_decays, Tensor::StateSteps, tokens(Width::StateRows),
               {Width::StateRows, Width::StateRank, Split::Whole, Parameter::StateStepWeight});
  const ValueId gate =
      b.matmul(Site::StateGateIn, of_gates, Tensor::StateGate, kStateValues,
               {Width::StateValues, Width::StateRank, Split::Whole, Parameter::StateGateWeight});
  const ValueId operands = b.emit(Site::StateOperands, Kind::ChannelOperands, {convolved, scalars, steps},
                                  Tensor::StateOperands, tokens(Width::StateMixed));
  const ValueId decays = b.also(Tensor::StateDecay, kOfRows);
  const ValueId strengths = b.also(Tensor::StateStrength, tokens(Width::StateHeads));
  b.also(Tensor::StateKeyLengths, {Rows::Tokens, Width::StateGroups2, Type::Fp32});
  b.copy(b.also(Tensor::StateSteps, kOfRows), 3);
  b.also(Tensor::StateSteps, {Rows::Tokens, Width::StateRows, Type::Byte});
  b.weigh({Width::StateHeads, Width::One, Split::Whole, Parameter::StateDecay, Parameter::StateStepBias});
  ValueId values = b.emit(Site::StateScan, Kind::ChannelDeltaRule, {operands, decays, strengths},
                          Tensor::StateValues, kStateValues);
  b.also(Tensor::StateDecay, kOfRows);
  b.also(Tensor::StateInverse, tokens(Width::StateIntra));
  b.also(Tensor::StateChunk, tokens(Width::StateIntra));
  workspace(b, Tensor::StateStates, {Rows::Chunks, Width::StateSize});
  workspace(b, Tensor::StateChunk, tokens(Width::StateDeltaWorkspace));
  if (r.norm) values = norm_states(b, values, Tensor::StateNormed, Width::StateHeads);
  return b.pointwise(Site::StateGate, Function::SigmoidGate, {values, gate}, Tensor::StateOutput,
                     kStateValues);
}

ValueId between_projections(ForwardBuilder& b, const RecurrentSpec& r, ValueId projected) {
  switch (r.kind) {
    case RecurrentKind::GatedDeltaNet:
      return gated_delta_net(b, r, projected);
    case RecurrentKind::Mamba2:
      return mamba2(b, r, projected);
    case RecurrentKind::ShortConvolution:
      return short_convolution(b, r, projected);
    case RecurrentKind::Mamba1:
      return mamba1(b, r, projected);
    case RecurrentKind::Lightning:
      return lightning(b, r, projected);
    case RecurrentKind::KimiDelta:
      return kimi_delta(b, r, projected);
    case RecurrentKind::None:
      break;
  }
  return projected;
}

ValueId recurrence(ForwardBuilder& b, const ModelSpec& m, ValueId x) {
  const RecurrentSpec& r = m.recurrent;
  const bool gates = r.kind == RecurrentKind::GatedDeltaNet || r.kind == RecurrentKind::Lightning ||
                     r.kind == RecurrentKind::KimiDelta;
  ValueId made =
      b.matmul(Site::StateProjection, x, Tensor::StateProjection, tokens(Width::StateProjected),
               {Width::StateProjected, Width::Hidden, Split::Column, Parameter::StateProjectionWeight,
                gates ? Parameter::StateGatesWeight : Parameter::Count});
  made = b.bias(Site::StateProjectionBias, r.bias, made, Parameter::StateProjectionBias);
  made = between_projections(b, r, made);
  made = b.matmul(Site::StateOutput, made, Tensor::AttentionProjection, kHiddenStates,
                  {Width::Hidden, Width::StateValues, Split::Row, Parameter::StateOutputWeight});
  return b.bias(Site::StateOutputBias, r.output_bias, made, Parameter::StateOutputBias);
}

/// Attention, what stands in its place, or both beside each other.
ValueId mixer(ForwardBuilder& b, const ModelSpec& m, LayerClass kind, ValueId x) {
  if (!kind.recurrent) return attention(b, m, kind, x);
  const ValueId recurred = recurrence(b, m, x);
  if (!class_attends(m, kind)) return recurred;
  return b.emit(Site::MixerSum, Kind::Add, {attention(b, m, kind, x), recurred}, Tensor::AttentionProjection,
                kHiddenStates);
}

ValueId dense_mlp(ForwardBuilder& b, const ModelSpec& m, ValueId x) {
  ValueId up = b.matmul(Site::Up, x, Tensor::GateUp, tokens(Width::GateUp),
                        {Width::GateUp, Width::Hidden, Split::Column,
                         b.up(Parameter::MlpGateUpWeight, Parameter::MlpUpWeight)});
  up = b.bias(Site::UpBias, m.mlp.bias, up, b.up(Parameter::MlpGateUpBias, Parameter::MlpUpBias));
  const ValueId active = b.activation(Site::Activation, up, Tensor::Activation, tokens(Width::Activation));
  const ValueId down = b.matmul(Site::Down, active, Tensor::MlpProjection, kHiddenStates,
                                {Width::Hidden, Width::Activation, Split::Row, Parameter::MlpDownWeight});
  return b.bias(Site::DownBias, m.mlp.bias, down, Parameter::MlpDownBias);
}

ValueId shared_experts(ForwardBuilder& b, const ModelSpec& m, ValueId x) {
  const ValueId up = b.matmul(Site::SharedUp, x, Tensor::SharedGateUp, tokens(Width::SharedGateUp),
                              {Width::SharedGateUp, Width::Hidden, Split::Column,
                               b.up(Parameter::MoeSharedGateUpWeight, Parameter::MoeSharedUpWeight)});
  const ValueId active =
      b.activation(Site::SharedActivation, up, Tensor::SharedActivation, tokens(Width::SharedActivation));
  const ValueId down =
      b.matmul(Site::SharedDown, active, Tensor::MlpProjection, kHiddenStates,
               {Width::Hidden, Width::SharedActivation, Split::Row, Parameter::MoeSharedDownWeight});
  if (!m.moe.shared_gate) return down;
  const ValueId gate = b.matmul(Site::SharedGate, x, Tensor::SharedGate, {Rows::Hidden, Width::One},
                                {Width::One, Width::Hidden, Split::Whole, Parameter::MoeSharedGateWeight});
  return b.emit(Site::SharedGated, Kind::GateRows, {down, gate}, Tensor::MlpProjection, kHiddenStates);
}

/// Router, copies of every token for its experts, the experts, and their weighted sum on top of what the
/// shared experts made.
ValueId experts(ForwardBuilder& b, const ModelSpec& m, ValueId x) {
  constexpr Shape kOfCopies{Rows::Copies, Width::One, Type::Fp32};
  constexpr Shape kChoices{Rows::Copies, Width::One, Type::Int32};
  constexpr Shape kSentIndices{Rows::Sent, Width::One, Type::Int32};
  b.emit(Site::Router, Kind::Route, {x}, Tensor::RouterProbabilities,
         {Rows::Hidden, Width::Experts, Type::Fp32});
  const ValueId chosen = b.also(Tensor::ChosenExperts, kChoices);
  const ValueId weights = b.also(Tensor::ExpertWeights, kOfCopies);
  b.weigh({Width::Experts, Width::Hidden, Split::Whole, Parameter::MoeRouterWeight});
  if (m.moe.router_bias) b.weigh_bias({Width::Experts, Width::One, Split::Whole, Parameter::MoeRouterBias});
  const ValueId copies =
      b.emit(Site::Permute, Kind::Permute, {x, chosen}, Tensor::TokenCopies, {Rows::Sent, Width::Hidden});
  b.also(Tensor::TokenOrder, kSentIndices);
  ValueId up = b.matmul(Site::ExpertUp, copies, Tensor::ExpertGateUp, {Rows::ExpertRows, Width::ExpertGateUp},
                        {Width::ExpertGateUp, Width::Hidden, Split::Whole,
                         b.up(Parameter::MoeExpertsGateUpWeight, Parameter::MoeExpertsUpWeight)});
  up = b.bias(Site::ExpertUpBias, m.moe.expert_bias, up,
              b.up(Parameter::MoeExpertsGateUpBias, Parameter::MoeExpertsUpBias));
  const ValueId active = b.activation(Site::ExpertActivation, up, Tensor::ExpertActivation,
                                      {Rows::ExpertRows, Width::ExpertActivation});
  ValueId down =
      b.matmul(Site::ExpertDown, active, Tensor::ExpertProjection, {Rows::ExpertRows, Width::Hidden},
               {Width::Hidden, Width::ExpertActivation, Split::Whole, Parameter::MoeExpertsDownWeight});
  down = b.bias(Site::ExpertDownBias, m.moe.expert_bias, down, Parameter::MoeExpertsDownBias);
  const bool shares = m.moe.shared_ffn > 0;
  IdList<16> summed{down, weights, chosen};
  if (shares) summed.push_front(shared_experts(b, m, x));
  const ValueId out = b.emit(Site::Unpermute, Kind::Unpermute, summed, Tensor::MlpProjection, kHiddenStates);
  for (int i = 0; i < 2; ++i) b.also(Tensor::TokenOrder, kSentIndices, Role::Workspace);
  b.also(Tensor::ExpertWeights, {Rows::Sent, Width::One, Type::Fp32}, Role::Workspace);
  Program& p = b.program();
  if (shares && !mutant("experts-output-takes-a-buffer")) p.ops.back().in_place = 1;
  return out;
}

/// A mixer or an MLP alone, behind its norm and beside the residual stream (Nemotron-H, Mamba-2).
Program forward_branch(const ModelSpec& m, LayerClass kind) {
  ForwardBuilder b{m, Part::Layer};
  const ValueId x = b.input(Tensor::LayerInput, kHiddenStates);
  const bool mixes = kind.branches == Branches::Mixer;
  const ValueId normed = mixes ? b.norm(Site::Norm1, x, Parameter::Norm1Weight, Parameter::Norm1Bias)
                               : b.norm(Site::Norm2, x, Parameter::Norm2Weight, Parameter::Norm2Bias);
  ValueId made = mixes      ? mixer(b, m, kind, normed)
                 : kind.moe ? experts(b, m, normed)
                            : dense_mlp(b, m, normed);
  made = b.scale(mixes ? Site::AttentionScale : Site::MlpScale, m.residual_multiplier, made);
  return b.take(x, b.emit(mixes ? Site::AttentionResidual : Site::MlpResidual, Kind::Add, {made, x},
                          Tensor::LayerOutput, kHiddenStates));
}

}  // namespace

Program forward_layer(const ModelSpec& m, LayerClass kind) {
  if (kind.branches != Branches::MixerAndMlp) return forward_branch(m, kind);
  ForwardBuilder b{m, Part::Layer};
  const ValueId x = b.input(Tensor::LayerInput, kHiddenStates);
  // Norms stand before the branches, behind the residual streams (OPT-350m, which has no experts), or where
  // the branches end.
  const bool after = m.norms_after && !kind.moe;
  const bool ends = norms_follow(m, kind);
  const auto before = [&](Site site, ValueId read, Parameter weight, Parameter bias) {
    return after || ends ? read : b.norm(site, read, weight, bias);
  };
  const auto behind = [&](Site site, ValueId sum, Parameter weight, Parameter bias) {
    return after ? b.norm(site, sum, weight, bias) : sum;
  };
  const ValueId first_normed = before(Site::Norm1, x, Parameter::Norm1Weight, Parameter::Norm1Bias);
  ValueId attended = b.post_norm(Site::PostNorm1, kind, mixer(b, m, kind, first_normed),
                                 Parameter::AttentionPostNormWeight, Parameter::AttentionPostNormBias);
  attended = b.scale(Site::AttentionScale, m.residual_multiplier, attended);
  const ValueId sum =
      b.emit(Site::AttentionResidual, Kind::Add, {attended, x}, Tensor::LayerMiddle, kHiddenStates);
  const ValueId y = behind(Site::Norm1, sum, Parameter::Norm1Weight, Parameter::Norm1Bias);
  // Of parallel branches the MLP reads what attention read, after the same norm or one of its own.
  const ValueId read = m.parallel_residual ? x : y;
  const ValueId normed = m.norms_per_layer >= 2
                             ? before(Site::Norm2, read, Parameter::Norm2Weight, Parameter::Norm2Bias)
                             : (m.parallel_residual ? first_normed : y);
  const ValueId made = kind.moe ? experts(b, m, normed) : dense_mlp(b, m, normed);
  ValueId normed_again =
      b.post_norm(Site::PostNorm2, kind, made, Parameter::MlpPostNormWeight, Parameter::MlpPostNormBias);
  normed_again = b.scale(Site::MlpScale, m.residual_multiplier, normed_again);
  const ValueId out = b.emit(Site::MlpResidual, Kind::Add,
                             {normed_again, mutant("mlp-residual-adds-the-layers-input") ? x : y},
                             Tensor::LayerOutput, kHiddenStates);
  return b.take(x, behind(Site::Norm2, out, Parameter::Norm2Weight, Parameter::Norm2Bias));
}

namespace {

ValueId embed(ForwardBuilder& b, const ModelSpec& m) {
  ValueId out = b.emit(Site::EmbeddingLookup, Kind::Lookup, {}, Tensor::LayerOutput, kHiddenStates);
  b.weigh({Width::Vocab, Width::Hidden, Split::Row, Parameter::EmbeddingWordWeight});
  out = b.scale(Site::EmbeddingScale, m.embedding_multiplier, out);
  if (m.positions == PositionKind::Learned) {
    const ValueId places =
        b.emit(Site::PositionLookup, Kind::Lookup, {}, Tensor::PositionEmbedding, kHiddenStates);
    b.weigh({Width::Positions, Width::Hidden, Split::Whole, Parameter::EmbeddingPositionWeight});
    out = b.emit(Site::PositionAdd, Kind::Add, {out, places}, Tensor::LayerOutput, kHiddenStates);
  }
  if (m.embedding_norm)
    out = b.norm(Site::EmbeddingNorm, out, Parameter::EmbeddingNormWeight, Parameter::EmbeddingNormBias,
                 Tensor::LayerOutput);
  return out;
}

}  // namespace

Program forward_embedding(const ModelSpec& m) {
  ForwardBuilder b{m, Part::Embedding};
  const ValueId out = embed(b, m);
  return b.take(kNone, out);
}

Program forward_mtp(const ModelSpec& m) {
  ForwardBuilder b{m, Part::Mtp};
  const ValueId x = b.input(Tensor::LayerOutput, kHiddenStates);
  const ValueId next = b.norm(Site::MtpEmbeddingNorm, embed(b, m), Parameter::MtpEmbeddingNormWeight,
                              Parameter::MtpEmbeddingNormBias);
  const ValueId here =
      b.norm(Site::MtpHiddenNorm, x, Parameter::MtpHiddenNormWeight, Parameter::MtpHiddenNormBias);
  // Checkpoints have the embedding's half first (eh_proj of deepseek-ai/DeepSeek-V3; Megatron-LM
  // multi_token_prediction.py _concat_embeddings).
  const auto half = [](Columns columns) {
    return Weight{.out = Width::HiddenShare,
                  .in = Width::Hidden,
                  .split = Split::Column,
                  .first = Parameter::MtpProjectionWeight,
                  .columns = columns};
  };
  const Shape columns = tokens(Width::HiddenShare);
  const ValueId of_next =
      b.matmul(Site::MtpEmbeddingProjection, next, Tensor::LayerInput, columns, half(Columns::First));
  const ValueId of_here =
      b.matmul(Site::MtpHiddenProjection, here, Tensor::LayerInput, columns, half(Columns::Second));
  return b.take(x, b.emit(Site::MtpSum, Kind::Add, {of_next, of_here}, Tensor::LayerInput, columns));
}

Program forward_final_norm(const ModelSpec& m, Parameter weight, Parameter bias) {
  ForwardBuilder b{m, Part::FinalNorm};
  const ValueId x = b.input(Tensor::LayerOutput, kHiddenStates);
  return b.take(x, b.norm(Site::HeadNorm, x, weight, bias));
}

Program forward_head(const ModelSpec& m, bool fused_loss, bool norm_apart) {
  ForwardBuilder b{m, Part::Head};
  const ValueId x = b.input(Tensor::LayerOutput, kHiddenStates);
  const ValueId normed = m.final_norm && !norm_apart
                             ? b.norm(Site::HeadNorm, x, Parameter::FinalNormWeight, Parameter::FinalNormBias)
                             : x;
  ValueId logits = b.matmul(Site::Logits, normed, Tensor::Logits, tokens(Width::Vocab),
                            {Width::Vocab, Width::Hidden, Split::Column, Parameter::HeadWeight});
  logits = b.bias(Site::HeadBias, m.head_bias, logits, Parameter::HeadBias);
  logits = b.scale(Site::LogitScale, m.logit_multiplier, logits);
  const bool capped = m.logit_softcap > 0;
  if (capped) logits = b.emit(Site::LogitCap, Kind::SoftCap, {logits}, Tensor::Logits, tokens(Width::Vocab));
  const ValueId maxima = b.emit(Site::Loss, Kind::LossMaxima, {logits}, Tensor::LossMaxima,
                                {Rows::Tokens, Width::One, Type::Fp32});
  const ValueId sums = b.emit(Site::Loss, Kind::LossSums, {logits, maxima}, Tensor::LossSums,
                              {Rows::Tokens, Width::Two, Type::Fp32});
  b.emit(Site::Loss, Kind::LossGradient, {logits, maxima, sums}, Tensor::Logits, tokens(Width::Vocab));
  Program& p = b.program();
  // The derivative of the cap reads what it made.
  p.ops.back().in_place = fused_loss && !capped ? 1 : 0;
  p.of(p.ops.back().writes[0]).role = Role::Gradient;
  p.of(x).kind = TensorKind::Transient;
  for (const ValueId statistics : {maxima, sums}) p.of(statistics).kind = TensorKind::Logits;
  p.hands_input_on = norm_apart;
  return b.take(x, kNone);
}

}  // namespace hexaplan::costmodel::program
