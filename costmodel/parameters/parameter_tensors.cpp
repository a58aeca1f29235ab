#include "costmodel/parameters/parameter_tensors.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "costmodel/parameters/parameter_names.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/units/ceil_div.h"

namespace hexaplan::costmodel {
namespace {

ParameterTensor& add_matrix(std::vector<ParameterTensor>& out, Parameter name, std::int64_t rows,
                            std::int64_t cols, Cut cut, std::int64_t count = 1) {
  return out.emplace_back(ParameterTensor{
      .name = name_of(name), .rows = rows, .cols = cols, .count = count, .cut = cut, .matrix = true});
}
/// Gate and up in one, or up alone.
void add_up_projection(std::vector<ParameterTensor>& out, const ModelSpec& m, Parameter name,
                       std::int64_t rows, Cut cut, std::int64_t count = 1) {
  add_matrix(out, name, rows, m.hidden, cut, count).parts = m.mlp.gated ? 2 : 1;
}
void add_down_projection(std::vector<ParameterTensor>& out, const ModelSpec& m, Parameter name,
                         std::int64_t cols, Cut cut, std::int64_t count = 1) {
  add_matrix(out, name, m.hidden, cols, cut, count).ia3 = Ia3Scale::Inputs;
}
ParameterTensor& add_vector(std::vector<ParameterTensor>& out, Parameter name, std::int64_t elements, Cut cut,
                            std::int64_t count = 1) {
  return out.emplace_back(
      ParameterTensor{.name = name_of(name), .rows = elements, .count = count, .cut = cut, .matrix = false});
}
void add_table(std::vector<ParameterTensor>& out, Parameter name, std::int64_t rows, std::int64_t cols,
               Cut cut) {
  out.push_back({.name = name_of(name), .rows = rows, .cols = cols, .cut = cut, .matrix = false});
}

void append_norm(const ModelSpec& m, Parameter weight, Parameter bias, std::vector<ParameterTensor>& out) {
  if (!m.norm_weight) return;
  add_vector(out, weight, m.hidden, Cut::Replicated);
  if (m.norm == NormKind::Layer && m.norm_bias) {
    add_vector(out, bias, m.hidden, Cut::Replicated);
  }
}

/// Neighbours in this order: what a kernel applies to queries and keys side by side lies side by side.
void append_query_key_norms(const AttentionSpec& a, std::vector<ParameterTensor>& out) {
  const bool shared = a.qk_norm_scope == QkNormScope::Head;
  const auto add = [&](Parameter name, std::int64_t heads, Cut cut) {
    add_vector(out, name, shared ? a.head_dim : heads * a.head_dim, shared ? Cut::Replicated : cut)
        .inside_region = shared;
  };
  add(Parameter::AttentionQueryNormWeight, a.heads, Cut::Column);
  add(Parameter::AttentionKeyNormWeight, a.kv_heads, Cut::KeyValue);
  if (a.qk_norm_kind != NormKind::Layer || !a.qk_norm_bias) return;
  add(Parameter::AttentionQueryNormBias, a.heads, Cut::Column);
  add(Parameter::AttentionKeyNormBias, a.kv_heads, Cut::KeyValue);
}

void append_grouped_attention(const ModelSpec& m, std::vector<ParameterTensor>& out) {
  const AttentionSpec& a = m.attention;
  const std::int64_t query = (a.output_gate ? 2 : 1) * a.heads * a.head_dim;
  const std::int64_t key_value = a.kv_heads * (a.head_dim + a.v_head_dim);
  add_matrix(out, Parameter::AttentionQueryWeight, query, m.hidden, Cut::Column);
  ParameterTensor& both =
      add_matrix(out, Parameter::AttentionKeyValueWeight, key_value, m.hidden, Cut::KeyValue);
  both.parts = 2;
  both.ia3 = Ia3Scale::Outputs;
  if (a.qkv_bias) {
    add_vector(out, Parameter::AttentionQueryBias, query, Cut::Column);
    add_vector(out, Parameter::AttentionKeyValueBias, key_value, Cut::KeyValue).parts = 2;
  }
  if (a.qk_norm) append_query_key_norms(a, out);
}

/// Down-projections carry the bias in `attention_bias` models; up-projections never have one
/// (DeepSeek-V2/V3).
void append_latent_attention(const ModelSpec& m, std::vector<ParameterTensor>& out) {
  const AttentionSpec& a = m.attention;
  const std::int64_t query = a.heads * a.head_dim;
  const std::int64_t latent = a.kv_lora_rank + a.qk_rope_dim;
  if (a.q_lora_rank > 0) {
    add_matrix(out, Parameter::AttentionQueryDownWeight, a.q_lora_rank, m.hidden, Cut::Replicated)
        .inside_region = true;
    if (a.qkv_bias) {
      add_vector(out, Parameter::AttentionQueryDownBias, a.q_lora_rank, Cut::Replicated).inside_region = true;
    }
    add_vector(out, Parameter::AttentionQueryDownNormWeight, a.q_lora_rank, Cut::Replicated).inside_region =
        true;
    add_matrix(out, Parameter::AttentionQueryUpWeight, query, a.q_lora_rank, Cut::Column);
  } else {
    add_matrix(out, Parameter::AttentionQueryWeight, query, m.hidden, Cut::Column);
  }
  add_matrix(out, Parameter::AttentionKeyValueDownWeight, latent, m.hidden, Cut::Replicated).inside_region =
      true;
  if (a.qkv_bias) {
    add_vector(out, Parameter::AttentionKeyValueDownBias, latent, Cut::Replicated).inside_region = true;
  }
  add_vector(out, Parameter::AttentionKeyValueDownNormWeight, a.kv_lora_rank, Cut::Replicated).inside_region =
      true;
  add_matrix(out, Parameter::AttentionKeyValueUpWeight, a.heads * (a.qk_nope_dim + a.v_head_dim),
             a.kv_lora_rank, Cut::Column)
      .ia3 = Ia3Scale::Outputs;
}

void append_attention(const ModelSpec& m, std::vector<ParameterTensor>& out) {
  const AttentionSpec& a = m.attention;
  if (a.kind == AttentionKind::Latent) {
    append_latent_attention(m, out);
  } else {
    append_grouped_attention(m, out);
  }
  add_matrix(out, Parameter::AttentionOutputWeight, m.hidden, a.heads * a.v_head_dim, Cut::Row);
  if (a.output_bias) {
    add_vector(out, Parameter::AttentionOutputBias, m.hidden, Cut::Replicated);
  }
  if (a.sinks) {
    add_vector(out, Parameter::AttentionSinks, a.heads, Cut::Column);
  }
}

/// What the numbers of each head or channel come from, beside the projection: a matrix of its own for both of
/// a gated delta net's; of KDA the strengths and what decays and gates are made from; lightning attention's
/// gate.
std::int64_t gate_columns(const RecurrentSpec& r) {
  switch (r.kind) {
    case RecurrentKind::GatedDeltaNet:
      return 2 * r.heads;
    case RecurrentKind::KimiDelta:
      return r.heads + 2 * r.rank;
    case RecurrentKind::Lightning:
      return r.values();
    default:
      return 0;
  }
}

/// Steps, B and C of Mamba-1, decays and gates of KDA: matrices between the projection and the scan.
void append_state_operands(const RecurrentSpec& r, std::vector<ParameterTensor>& out) {
  const bool mamba = r.kind == RecurrentKind::Mamba1;
  if (!mamba && r.kind != RecurrentKind::KimiDelta) return;
  const std::int64_t selected = r.rank + 2 * r.keys();
  if (mamba) add_matrix(out, Parameter::StateOperandsWeight, selected, r.values(), Cut::Replicated);
  if (r.operand_norms == OperandNorms::Trained)
    add_vector(out, Parameter::StateOperandsNormWeight, selected, Cut::Replicated);
  add_matrix(out, Parameter::StateStepWeight, mamba ? r.values() : r.heads * r.state, r.rank, Cut::Column);
  if (!mamba) add_matrix(out, Parameter::StateGateWeight, r.values(), r.rank, Cut::Column);
}

/// Decays and the biases of steps: one for a head, or for every row of its state; Mamba-1's decays are a
/// table of channels and rows.
void append_decays(const RecurrentSpec& r, std::vector<ParameterTensor>& out) {
  if (r.kind == RecurrentKind::ShortConvolution || r.kind == RecurrentKind::Lightning) return;
  if (r.kind == RecurrentKind::Mamba1) {
    add_table(out, Parameter::StateDecay, r.heads, r.state, Cut::Column);
  } else {
    add_vector(out, Parameter::StateDecay, r.heads, Cut::Column);
  }
  const std::int64_t rows = r.kind == RecurrentKind::KimiDelta ? r.state : 1;
  add_vector(out, Parameter::StateStepBias, r.heads * rows, Cut::Column);
  if (r.kind == RecurrentKind::Mamba2 || r.kind == RecurrentKind::Mamba1)
    add_vector(out, Parameter::StateSkip, r.heads, Cut::Column);
}

/// A gated delta net and KDA have one norm for all heads; Mamba-2 norms each group with weights of its own,
/// lightning attention all heads together.
void append_recurrence(const ModelSpec& m, std::vector<ParameterTensor>& out) {
  const RecurrentSpec& r = m.recurrent;
  const std::int64_t projected = projected_columns(r, r.heads, r.groups), gates = gate_columns(r);
  const std::int64_t mixed = mixed_columns(r, r.heads, r.groups);
  add_matrix(out, Parameter::StateProjectionWeight, projected - gates, m.hidden, Cut::Column);
  if (gates > 0) add_matrix(out, Parameter::StateGatesWeight, gates, m.hidden, Cut::Column);
  if (r.bias) add_vector(out, Parameter::StateProjectionBias, projected, Cut::Column);
  if (r.kind != RecurrentKind::Lightning)
    add_table(out, Parameter::StateConvolutionWeight, mixed, r.kernel, Cut::Column);
  if (r.convolution_bias) add_vector(out, Parameter::StateConvolutionBias, mixed, Cut::Column);
  append_state_operands(r, out);
  append_decays(r, out);
  const bool of_head = r.kind == RecurrentKind::GatedDeltaNet || r.kind == RecurrentKind::KimiDelta;
  if (r.norm && r.kind != RecurrentKind::ShortConvolution && r.kind != RecurrentKind::Mamba1) {
    add_vector(out, Parameter::StateNormWeight, of_head ? r.head_dim : r.values(),
               of_head ? Cut::Replicated : Cut::Column)
        .inside_region = of_head;
  }
  add_matrix(out, Parameter::StateOutputWeight, m.hidden, r.values(), Cut::Row);
  if (r.output_bias) add_vector(out, Parameter::StateOutputBias, m.hidden, Cut::Replicated);
}

void append_mlp(const ModelSpec& m, std::vector<ParameterTensor>& out) {
  const std::int64_t widened = (m.mlp.gated ? 2 : 1) * m.mlp.ffn;
  const bool gated = m.mlp.gated;
  add_up_projection(out, m, gated ? Parameter::MlpGateUpWeight : Parameter::MlpUpWeight, widened,
                    Cut::Column);
  if (m.mlp.bias) {
    add_vector(out, gated ? Parameter::MlpGateUpBias : Parameter::MlpUpBias, widened, Cut::Column).parts =
        gated ? 2 : 1;
  }
  add_down_projection(out, m, Parameter::MlpDownWeight, m.mlp.ffn, Cut::Row);
  if (m.mlp.bias) {
    add_vector(out, Parameter::MlpDownBias, m.hidden, Cut::Replicated);
  }
  if (m.mlp.activation == Activation::Xielu) {
    add_vector(out, Parameter::MlpActivationWeight, 2, Cut::Replicated).inside_region = true;
  }
}

void append_router(const ModelSpec& m, std::vector<ParameterTensor>& out) {
  add_matrix(out, Parameter::MoeRouterWeight, m.moe.experts, m.hidden, Cut::Replicated);
  if (m.moe.router_bias) {
    add_vector(out, Parameter::MoeRouterBias, m.moe.experts, Cut::Replicated);
  }
  if (m.moe.router_correction) {
    add_vector(out, Parameter::MoeRouterCorrectionBias, m.moe.experts, Cut::Replicated);
  }
}

void append_experts(const ModelSpec& m, std::vector<ParameterTensor>& out) {
  const MoeSpec& moe = m.moe;
  const std::int64_t widened = (m.mlp.gated ? 2 : 1) * moe.expert_ffn;
  const bool gated = m.mlp.gated;
  add_up_projection(out, m, gated ? Parameter::MoeExpertsGateUpWeight : Parameter::MoeExpertsUpWeight,
                    widened, Cut::ExpertColumn, moe.experts);
  if (moe.expert_bias) {
    add_vector(out, gated ? Parameter::MoeExpertsGateUpBias : Parameter::MoeExpertsUpBias, widened,
               Cut::ExpertColumn, moe.experts)
        .parts = gated ? 2 : 1;
  }
  add_down_projection(out, m, Parameter::MoeExpertsDownWeight, moe.expert_ffn, Cut::ExpertRow, moe.experts);
  if (moe.expert_bias) {
    add_vector(out, Parameter::MoeExpertsDownBias, m.hidden, Cut::ExpertReplicated, moe.experts);
  }
}

/// Shared experts see every token, so they are cut like a dense MLP (Megatron SharedExpertMLP), not over ep.
void append_shared_experts(const ModelSpec& m, std::vector<ParameterTensor>& out) {
  if (m.moe.shared_ffn == 0) {
    return;
  }
  const bool gated = m.mlp.gated;
  add_up_projection(out, m, gated ? Parameter::MoeSharedGateUpWeight : Parameter::MoeSharedUpWeight,
                    (gated ? 2 : 1) * m.moe.shared_ffn, Cut::Column);
  add_down_projection(out, m, Parameter::MoeSharedDownWeight, m.moe.shared_ffn, Cut::Row);
  if (m.moe.shared_gate) {
    add_matrix(out, Parameter::MoeSharedGateWeight, 1, m.hidden, Cut::Replicated);
  }
}

/// Elements of `rows` after they are cut into `parts`, the last part padded up to the others.
std::int64_t cut_rows(const ParameterTensor& t, std::int64_t parts) {
  return ceil_div(t.rows, parts) * t.cols * t.count;
}
std::int64_t cut_cols(const ParameterTensor& t, std::int64_t parts) {
  return t.rows * ceil_div(t.cols, parts) * t.count;
}

std::int64_t sum_elements(const std::vector<ParameterTensor>& tensors) {
  std::int64_t sum = 0;
  for (const ParameterTensor& t : tensors) {
    sum += t.elements();
  }
  return sum;
}

/// Elements that one token uses: top_k of the experts, everything else whole.
std::int64_t sum_active(const std::vector<ParameterTensor>& tensors, const MoeSpec& moe) {
  std::int64_t sum = 0;
  for (const ParameterTensor& t : tensors) {
    sum += is_expert(t) ? t.rows * t.cols * moe.top_k : t.elements();
  }
  return sum;
}

}  // namespace

void append_layer_parameters(const ModelSpec& model, LayerClass kind, std::vector<ParameterTensor>& out) {
  if (kind.mtp) append_mtp_parameters(model, out);
  const bool behind = norms_follow(model, kind), before = !behind;
  const bool sandwiched = model.norms_per_layer >= 4 || behind;
  if (kind.branches != Branches::Mlp) {
    if (before) append_norm(model, Parameter::Norm1Weight, Parameter::Norm1Bias, out);
    if (class_attends(model, kind)) append_attention(model, out);
    if (kind.recurrent) append_recurrence(model, out);
    if (sandwiched)
      append_norm(model, Parameter::AttentionPostNormWeight, Parameter::AttentionPostNormBias, out);
  }
  if (!class_has_mlp(kind)) return;
  if (model.norms_per_layer >= 2 && before) {
    append_norm(model, Parameter::Norm2Weight, Parameter::Norm2Bias, out);
  }
  if (kind.moe) {
    append_router(model, out);
    append_experts(model, out);
    append_shared_experts(model, out);
  } else {
    append_mlp(model, out);
  }
  if (sandwiched) {
    append_norm(model, Parameter::MlpPostNormWeight, Parameter::MlpPostNormBias, out);
  }
}

void append_embedding_parameters(const ModelSpec& model, std::vector<ParameterTensor>& out) {
  add_table(out, Parameter::EmbeddingWordWeight, model.vocab, model.hidden, Cut::Vocabulary);
  if (model.positions == PositionKind::Learned) {
    add_table(out, Parameter::EmbeddingPositionWeight, model.max_positions, model.hidden, Cut::Replicated);
  }
  if (model.embedding_norm) {
    append_norm(model, Parameter::EmbeddingNormWeight, Parameter::EmbeddingNormBias, out);
  }
}

void append_head_parameters(const ModelSpec& model, bool first_stage_elsewhere,
                            std::vector<ParameterTensor>& out) {
  const std::int64_t outputs = model.outputs > 0 ? model.outputs : model.vocab;
  const Cut cut = model.outputs > 0 ? Cut::Replicated : Cut::Vocabulary;
  if (model.final_norm) {
    append_norm(model, Parameter::FinalNormWeight, Parameter::FinalNormBias, out);
  }
  if (!model.tied_embeddings || first_stage_elsewhere) {
    add_matrix(out, Parameter::HeadWeight, outputs, model.hidden, cut);
  }
  if (model.head_bias) {
    add_vector(out, Parameter::HeadBias, outputs, cut);
  }
}

void append_last_stage_parameters(const Scenario& sc, std::vector<ParameterTensor>& out) {
  append_head_parameters(sc.model, separates_ends(sc.layout), out);
  const bool looks_up = mtp_modules(sc) > 0 && separates_ends(sc.layout);
  if (looks_up && !sc.model.tied_embeddings)
    add_table(out, Parameter::EmbeddingWordWeight, sc.model.vocab, sc.model.hidden, Cut::Vocabulary);
}

void append_mtp_parameters(const ModelSpec& model, std::vector<ParameterTensor>& out) {
  append_norm(model, Parameter::MtpEmbeddingNormWeight, Parameter::MtpEmbeddingNormBias, out);
  append_norm(model, Parameter::MtpHiddenNormWeight, Parameter::MtpHiddenNormBias, out);
  add_matrix(out, Parameter::MtpProjectionWeight, model.hidden, 2 * model.hidden, Cut::Column);
  append_norm(model, Parameter::MtpFinalNormWeight, Parameter::MtpFinalNormBias, out);
}

std::int64_t elements_on_rank(const ParameterTensor& tensor, const ModelSpec& model, const Layout& layout,
                              std::int64_t vocab_multiple) {
  const std::int64_t experts = ceil_div(tensor.count, layout.ep);
  switch (tensor.cut) {
    case Cut::Replicated:
      return tensor.elements();
    case Cut::Column:
      return cut_rows(tensor, layout.tp);
    case Cut::Row:
      return cut_cols(tensor, layout.tp);
    case Cut::KeyValue: {
      const std::int64_t heads = ceil_div(model.attention.kv_heads, layout.tp);
      return tensor.rows / model.attention.kv_heads * heads * tensor.cols;
    }
    case Cut::Vocabulary:
      return padded_vocab(tensor.rows, vocab_multiple, layout.tp) / layout.tp * tensor.cols;
    case Cut::ExpertColumn:
      return experts * ceil_div(tensor.rows, layout.expert_tensor()) * tensor.cols;
    case Cut::ExpertRow:
      return experts * tensor.rows * ceil_div(tensor.cols, layout.expert_tensor());
    case Cut::ExpertReplicated:
      return experts * tensor.rows * tensor.cols;
  }
  return 0;
}

ParameterCount count_parameters(const ModelSpec& model) {
  const auto layers = layers_by_class(model, 0, model.layers);
  ParameterCount count;
  std::vector<ParameterTensor> tensors;
  tensors.reserve(kMaxLayerTensors);
  const auto add = [&](std::int64_t times) {
    count.total += times * sum_elements(tensors);
    count.active += times * sum_active(tensors, model.moe);
    tensors.clear();
  };
  for (int i = 0; i < kMtpClass; ++i) {
    const int times = layers[static_cast<std::size_t>(i)];
    if (times == 0) continue;
    append_layer_parameters(model, layer_class_at(model, i), tensors);
    add(times);
  }
  append_embedding_parameters(model, tensors);
  count.embedding = sum_elements(tensors);
  add(1);
  append_head_parameters(model, false, tensors);
  for (const ParameterTensor& t : tensors) {
    count.head += t.cut == Cut::Vocabulary ? t.elements() : 0;
  }
  add(1);
  if (model.mtp_layers > 0) {
    append_layer_parameters(model, layer_class_at(model, kMtpClass), tensors);
    count.mtp = model.mtp_layers * sum_elements(tensors);
  }
  return count;
}

}  // namespace hexaplan::costmodel
