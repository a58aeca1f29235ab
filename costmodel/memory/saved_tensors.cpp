#include "costmodel/memory/saved_tensors.h"

#include <algorithm>
#include <cstddef>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/parameters/trained_elements.h"

namespace hexaplan::costmodel {
namespace {

using Ctx = SavedContext;

bool latent(const Ctx& c) {
  return c.model.attention.kind == AttentionKind::Latent;
}
bool stores_scores(const Ctx& c) {
  return c.recipe.attention != AttentionKernel::Flash;
}
bool drops_out(const Ctx& c) {
  return c.recipe.dropout > 0;
}
std::int64_t norms(const Ctx& c) {
  return c.model.norms_per_layer;
}
/// Norms whose output feeds linear layers: sandwich norms (Gemma) end on the residual stream instead.
std::int64_t feeding_norms(const Ctx& c) {
  return c.model.norms_per_layer >= 2 ? 2 : 1;
}
std::int64_t input_tokens(const Ctx& c) {
  return c.framework.gather_saved_inputs ? c.dims.tokens : c.dims.sp_tokens;
}
std::int64_t scores(const Ctx& c) {
  return c.dims.micro_batch * c.dims.heads * c.dims.local_sequence * c.dims.sequence;
}
std::int64_t rotated(const Ctx& c) {
  if (c.model.positions != PositionKind::Rotary || c.kind.unrotated) return 0;
  if (latent(c)) return c.dims.tokens * (c.dims.heads + 1) * c.model.attention.qk_rope_dim;
  return c.dims.tokens * (c.dims.q + c.dims.k);
}
std::int64_t dense(const Ctx& c, std::int64_t width) {
  return c.kind.moe ? 0 : c.dims.tokens * width;
}
std::int64_t routed(const Ctx& c, std::int64_t width) {
  return c.kind.moe ? c.dims.router_tokens * width : 0;
}
std::int64_t expert(const Ctx& c, std::int64_t width) {
  return c.kind.moe ? c.dims.expert_tokens * width : 0;
}
std::int64_t shared(const Ctx& c, std::int64_t width) {
  return c.kind.moe ? c.dims.tokens * width : 0;
}
std::int64_t gated(const Ctx& c, std::int64_t elements) {
  return c.model.mlp.gated ? elements : 0;
}
/// Elements per token that adapted linear layers read, q, k, v, gate and up each for itself, and how many
/// such layers there are. Experts have no adapters.
struct Adapted {
  std::int64_t inputs = 0, layers = 0;
};
Adapted adapted(const Ctx& c) {
  Adapted sum;
  if (c.recipe.fine_tune == FineTune::Ia3) return {.inputs = dense(c, c.dims.mlp_act), .layers = 0};
  if (!trains_adapters(c.recipe)) return sum;
  std::vector<ParameterTensor> tensors;
  tensors.reserve(kMaxLayerTensors);
  append_layer_parameters(c.model, c.kind, tensors);
  for (const ParameterTensor& t : tensors) {
    if (!t.matrix || is_expert(t)) continue;
    const std::int64_t parts = adapted_parts(c.recipe, t.name, t.parts);
    sum.inputs += c.dims.tokens * t.cols * parts;
    sum.layers += parts;
  }
  return sum;
}
std::int64_t adapter_hidden(const Ctx& c) {
  return c.recipe.fine_tune == FineTune::Ia3 ? 0 : c.dims.tokens * adapted(c).layers * c.adapter_rank;
}
std::int64_t scaled_outputs(const Ctx& c) {
  return c.recipe.fine_tune == FineTune::Ia3 ? c.dims.tokens * (c.dims.k + c.dims.v) : 0;
}
/// MLA expands k for every head, so its key is as wide as the query.
std::int64_t key_width(const Ctx& c) {
  return latent(c) ? c.dims.q : c.dims.k;
}
std::int64_t value_width(const Ctx& c) {
  return latent(c) ? c.dims.o : c.dims.v;
}

constexpr std::uint16_t kNo = 0;
constexpr std::uint16_t kCore = kRecomputeCoreAttention;
constexpr std::uint16_t kMlp = kRecomputeMlp;
constexpr std::uint16_t kMlpAct = kRecomputeMlp | kRecomputeActivation;
constexpr std::uint16_t kMoe = kRecomputeMoe;
constexpr std::uint16_t kMoeAct = kRecomputeMoe | kRecomputeMoeActivation;
constexpr std::uint16_t kShared = kRecomputeMoe | kRecomputeSharedExperts;

// torchtitan's per-operator policy keeps the layer's input, attention's output and every second matmul output
// (pytorch/torchtitan torchtitan/distributed/activation_checkpoint.py): of q, k, v, o, gate, up, down the
// first, third, fifth and seventh. The output of down is as large as the norm input that is recomputed, and
// counted there.
constexpr std::array<SavedTensor, kSavedCount> kTable{{
    {Saved::NormInput, "norm.input", [](const Ctx& c) { return norms(c) * c.dims.sp_tokens * c.dims.hidden; },
     kNo, 1, false},
    {Saved::NormOutput, "norm.output",
     [](const Ctx& c) { return feeding_norms(c) * input_tokens(c) * c.dims.hidden; }, kRecomputeNorm, 0,
     true},
    {Saved::NormStats, "norm.stats", [](const Ctx& c) { return norms(c) * c.dims.sp_tokens; }, kNo, 0, false},
    {Saved::QkNormInput, "attention.qk_norm.input",
     [](const Ctx& c) { return c.model.attention.qk_norm ? c.dims.tokens * (c.dims.q + c.dims.k) : 0; }, kNo,
     0, false},
    {Saved::RopeInput, "attention.rope.input", rotated, kNo, 0, false},
    {Saved::Query, "attention.query", [](const Ctx& c) { return c.dims.tokens * c.dims.q; },
     kRecomputeMlaUpProjection, 1, false},
    {Saved::Key, "attention.key", [](const Ctx& c) { return c.dims.tokens * key_width(c); },
     kRecomputeMlaUpProjection, 0, false},
    {Saved::Value, "attention.value", [](const Ctx& c) { return c.dims.tokens * value_width(c); },
     kRecomputeMlaUpProjection, 1, false},
    {Saved::RepeatedKeyValue, "attention.repeated_kv",
     [](const Ctx& c) { return latent(c) ? 0 : c.dims.tokens * (c.dims.q + c.dims.o); }, kCore, 0, false},
    {Saved::LogSumExp, "attention.log_sum_exp",
     [](const Ctx& c) { return stores_scores(c) ? 0 : c.dims.tokens * c.dims.heads; }, kCore, 1, false},
    {Saved::Scores, "attention.scores", [](const Ctx& c) { return stores_scores(c) ? scores(c) : 0; }, kCore,
     0, false},
    {Saved::ScoresDropout, "attention.scores_dropout",
     [](const Ctx& c) { return stores_scores(c) && drops_out(c) ? scores(c) : 0; }, kCore, 0, false},
    {Saved::AttentionOutput, "attention.output", [](const Ctx& c) { return c.dims.tokens * c.dims.o; }, kNo,
     1, true},
    {Saved::ResidualDropout, "residual.dropout_mask",
     [](const Ctx& c) { return drops_out(c) ? 2 * c.dims.sp_tokens * c.dims.hidden : 0; }, kNo, 0, false},
    {Saved::LatentQuery, "attention.latent_query",
     [](const Ctx& c) { return c.dims.tokens * c.dims.q_latent; }, kNo, 0.5, false},
    {Saved::LatentKeyValue, "attention.latent_kv",
     [](const Ctx& c) { return c.dims.tokens * c.dims.kv_latent; }, kNo, 0.5, false},
    {Saved::LatentNormOutput, "attention.latent_norm_output",
     [](const Ctx& c) { return latent(c) ? c.dims.tokens * (c.dims.q_latent + c.dims.kv_latent_normed) : 0; },
     kNo, 0, true},
    {Saved::GateUp, "mlp.gate_up", [](const Ctx& c) { return dense(c, c.dims.mlp_up); }, kMlp, 0.5, false},
    {Saved::ActivationOutput, "mlp.activation", [](const Ctx& c) { return dense(c, c.dims.mlp_act); },
     kMlpAct, 0, true},
    {Saved::ActivationInner, "mlp.activation_inner", [](const Ctx& c) { return dense(c, c.dims.mlp_act); },
     kMlpAct, 0, false},
    {Saved::RouterLogits, "moe.router.logits", [](const Ctx& c) { return routed(c, c.dims.experts); }, kMoe,
     0, false},
    {Saved::RoutingMap, "moe.routing_map", [](const Ctx& c) { return routed(c, c.dims.top_k); }, kMoe, 0,
     false},
    {Saved::ExpertInput, "moe.expert.input", [](const Ctx& c) { return expert(c, c.dims.hidden); }, kMoe, 0.5,
     true},
    {Saved::ExpertGateUp, "moe.expert.gate_up", [](const Ctx& c) { return expert(c, c.dims.expert_up); },
     kMoe, 0.5, false},
    {Saved::ExpertActivation, "moe.expert.activation",
     [](const Ctx& c) { return expert(c, c.dims.expert_act); }, kMoeAct, 0, true},
    {Saved::ExpertOutput, "moe.expert.output",
     [](const Ctx& c) { return routed(c, c.dims.top_k * c.dims.hidden); }, kMoe, 0.5, false},
    {Saved::SharedGateUp, "moe.shared.gate_up", [](const Ctx& c) { return shared(c, c.dims.shared_up); },
     kShared, 0.5, false},
    {Saved::SharedActivation, "moe.shared.activation",
     [](const Ctx& c) { return shared(c, c.dims.shared_act); }, kShared, 0, true},
    {Saved::LayerOutput, "layer.output", [](const Ctx& c) { return c.dims.sp_tokens * c.dims.hidden; }, kNo,
     0, false},
    {Saved::KeyValueUp, "attention.key_value_up",
     [](const Ctx& c) {
       const AttentionSpec& a = c.model.attention;
       return latent(c) ? c.dims.tokens * c.dims.heads * (a.qk_nope_dim + a.v_head_dim) : 0;
     },
     kRecomputeMlaUpProjection, 1, false},
    {Saved::RouterInput, "moe.router.input", [](const Ctx& c) { return routed(c, c.dims.hidden); }, kMoe, 0,
     false},
    {Saved::ExpertInner, "moe.expert.activation_inner",
     [](const Ctx& c) { return gated(c, expert(c, c.dims.expert_act)); }, kMoeAct, 0, false},
    {Saved::SharedInner, "moe.shared.activation_inner",
     [](const Ctx& c) { return gated(c, shared(c, c.dims.shared_act)); }, kShared, 0, false},
    {Saved::AdapterInput, "adapter.input", [](const Ctx& c) { return adapted(c).inputs; }, kNo, 0, false},
    {Saved::AdapterHidden, "adapter.hidden", adapter_hidden, kNo, 0, false},
    {Saved::ScaledOutput, "adapter.scaled_output", scaled_outputs, kNo, 0, false},
}};

/// By SavedCase.
constexpr std::array<bool (*)(const Scenario&), kSavedCases> kCases{
    [](const Scenario& s) { return casts_automatically(s); },
    [](const Scenario& s) { return s.recipe.execution.compiled == false; },
    [](const Scenario& s) { return s.recipe.attention != AttentionKernel::Flash; },
    [](const Scenario& s) {
      return s.recipe.attention != AttentionKernel::Flash && s.model.attention.softcap > 0;
    },
    [](const Scenario& s) { return trains_adapters(s.recipe); },
    [](const Scenario& s) { return s.recipe.fine_tune == FineTune::Ia3; },
    [](const Scenario& s) { return s.model.norm == NormKind::Rms && s.model.zero_centered_norm; },
    [](const Scenario& s) { return s.model.norm == NormKind::Rms && s.model.norms_behind_branches; },
    [](const Scenario& s) { return s.model.attention.kind == AttentionKind::Latent; },
    [](const Scenario& s) { return s.model.is_moe() && s.model.moe.score == RouterScore::Sigmoid; },
    [](const Scenario& s) { return !s.model.mlp.gated; },
    [](const Scenario& s) {
      const MlpSpec& m = s.model.mlp;
      return !m.gated && m.activation == Activation::Gelu && m.gelu == GeluForm::Tanh;
    },
};

bool applies(const SavedOverride& rule, const Scenario& sc) {
  for (std::size_t i = 0; i < kCases.size(); ++i) {
    if ((rule.cases >> i & 1U) != 0 && !kCases[i](sc)) return false;
  }
  return true;
}

/// Norms that are several operations are an affair of RMSNorm: PyTorch's own layer_norm is one kernel, which
/// keeps its input once.
SavedRule of_norm(const Scenario& sc, Saved tensor, const SavedRule& rule) {
  const bool norm = tensor == Saved::NormInput || tensor == Saved::NormOutput;
  if (!norm || sc.model.norm != NormKind::Layer) return rule;
  if (casts_automatically(sc) && tensor == Saved::NormInput) return {.fp32 = 1};
  if (casts_automatically(sc)) return {.compute = 1};  // cast for the matrix that reads it
  return {.compute = std::min(1.0, rule.compute + rule.fp32)};
}

}  // namespace

SavedRule saved_rule(const Scenario& sc, Saved tensor) {
  const auto& when = sc.framework.saved_when;
  const auto last = std::find_if(when.rbegin(), when.rend(), [&](const SavedOverride& o) {
    return o.tensor == tensor && applies(o, sc);
  });
  return of_norm(sc, tensor,
                 last != when.rend() ? last->rule : sc.framework.saved[static_cast<std::size_t>(tensor)]);
}

const std::array<SavedTensor, kSavedCount>& saved_tensors() {
  return kTable;
}

double kept_share(const SavedTensor& tensor, const Recipe& recipe) {
  switch (recipe.recompute.mode) {
    case RecomputeMode::Selective:
      return (tensor.dropped_by & kRecomputeCoreAttention) != 0 ? 0 : 1;
    case RecomputeMode::SelectiveModules:
      return (tensor.dropped_by & recipe.recompute.modules) != 0 ? 0 : 1;
    case RecomputeMode::SelectiveOperators:
      return tensor.operator_policy_share;
    default:
      return 1;
  }
}

}  // namespace hexaplan::costmodel
