#include "costmodel/memory/saved_tensors.h"

#include <cstddef>

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
std::int64_t gated_inner(const Ctx& c) {
  return c.model.mlp.gated ? dense(c, c.dims.mlp_act) : 0;
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
    {Saved::ActivationInner, "mlp.activation_inner", gated_inner, kMlpAct, 0, false},
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
}};

}  // namespace

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
