#include "tests/costmodel/program/hand_written_saved.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/saved_rule.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/parameters/trained_elements.h"

namespace hexaplan::costmodel {
namespace {

/// What a saved tensor's size depends on.
struct SavedContext {
  const Scenario& scenario;
  const ModelSpec& model;
  const Recipe& recipe;
  const FrameworkProfile& framework;
  const LocalDims& dims;
  LayerClass kind;
  std::int64_t adapter_rank = 0;
};

/// One row per tensor that a layer may keep for backward.  [docs/formulas.md#M2]
struct SavedTensor {
  Saved id;
  std::string_view name;
  /// Elements on one rank for one micro-batch and layer; 0 when the layer has no such tensor.
  std::int64_t (*elements)(const SavedContext&);
  std::uint16_t dropped_by;      // RecomputeModule bits that recompute it instead
  double operator_policy_share;  // share kept by RecomputeMode::SelectiveOperators
  bool gemm_input;               // kept in the GEMM's own format under fp8/fp4
};

using Ctx = SavedContext;

bool latent(const Ctx& c) {
  return c.model.attention.kind == AttentionKind::Latent;
}
bool stores_scores(const Ctx& c) {
  return stores_scores(c.recipe.attention);
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
/// Elements per token that adapters read, q, k, v, gate and up each for itself where they are not packed, and
/// how many adapters there are. Experts have no adapters.
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
    const std::int64_t adapters = adapters_beside(c.scenario, t.name, t.parts);
    sum.inputs += c.dims.tokens * t.cols * adapters;
    sum.layers += adapters;
  }
  return sum;
}
std::int64_t adapter_hidden(const Ctx& c) {
  return c.recipe.fine_tune == FineTune::Ia3 ? 0 : c.dims.tokens * adapted(c).layers * c.adapter_rank;
}
/// Of the layers that have them.
std::int64_t adapted_outputs(const Ctx& c) {
  std::int64_t sum = 0;
  if (!learns_magnitudes(c.recipe)) return sum;
  std::vector<ParameterTensor> tensors;
  append_layer_parameters(c.model, c.kind, tensors);
  for (const ParameterTensor& t : tensors) {
    if (t.matrix && !is_expert(t)) sum += t.rows / t.parts * adapted_parts(c.scenario, t.name, t.parts);
  }
  return sum;
}
std::int64_t scaled_outputs(const Ctx& c) {
  return c.recipe.fine_tune == FineTune::Ia3 ? c.dims.tokens * (c.dims.k + c.dims.v)
                                             : c.dims.tokens * adapted_outputs(c);
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
     [](const Ctx& c) { return c.kind.moe ? c.dims.sent_copies * c.dims.hidden : 0; }, kMoe, 0.5, false},
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
    {Saved::RowNorms, "adapter.row_norms", adapted_outputs, kNo, 0, false},
    {Saved::AttentionMask, "attention.mask",
     [](const Ctx& c) { return c.kind.windowed ? c.dims.tokens * c.dims.sequence : 0; }, kNo, 0, false},
}};

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

void add_copies(std::string_view name, DType dtype, double elements, double copies, const TensorEntry& like,
                TensorLedger& out) {
  if (copies <= 0 || elements <= 0) return;
  TensorEntry entry = like;
  entry.name = name;
  entry.dtype = dtype;
  entry.elements = elements;
  entry.count = like.count * copies;
  out.push_back(entry);
}

/// Copies in the compute dtype of a GEMM input under fp8/fp4: the quantised copy replaces it, except where
/// another operation keeps it anyway (attention reads its own output in backward).
bool replaced_by_quantized(const SavedTensor& tensor, const Recipe& recipe) {
  return tensor.gemm_input && is_quantized(recipe.precision) && tensor.id != Saved::AttentionOutput;
}

/// Share of a saved tensor that a layer with frozen weights keeps: the input of a linear layer is there for
/// its weight gradient, which only layers with an adapter have. Of the norms' outputs one feeds the
/// attention and one the MLP; the attention's output is kept by the attention itself. Products with 4-bit
/// weights of bitsandbytes before 0.43.2 keep their input all the same.
double trained_share(const SavedTensor& tensor, const Scenario& sc) {
  const bool keeps_all = sc.recipe.fine_tune == FineTune::Qlora && sc.framework.four_bit_keeps_inputs;
  const bool frozen = sc.recipe.fine_tune >= FineTune::Lora && !keeps_all;
  const bool everywhere = sc.recipe.lora_targets == AdapterTargets::AllLinear;
  if (!frozen || everywhere || !tensor.gemm_input || tensor.id == Saved::AttentionOutput) return 1;
  if (tensor.id == Saved::NormOutput) return 0.5;
  const bool of_attention = tensor.id == Saved::LatentNormOutput;
  const bool adapts_attention = sc.recipe.lora_targets != AdapterTargets::Mlp;
  return of_attention == adapts_attention ? 1 : 0;
}

}  // namespace

void append_hand_written_saved(const Scenario& sc, const LocalDims& dims, LayerClass kind, double count,
                               TensorLedger& out) {
  const SavedContext context{sc, sc.model, sc.recipe, sc.framework, dims, kind, adapter_rank(sc)};
  const DType compute = activation_dtype(sc.recipe.precision);
  const TensorEntry like{.name = {},
                         .formula = "M2",
                         .kind = TensorKind::Activation,
                         .alive = kInPasses,
                         .layer_class = static_cast<std::int8_t>(index_of(kind)),
                         .count = count};
  const auto rules = saved_rules(sc);
  for (const SavedTensor& tensor : kTable) {
    const SavedRule& rule = rules[static_cast<std::size_t>(tensor.id)];
    const double kept = kept_share(tensor, sc.recipe) * trained_share(tensor, sc);
    if (kept <= 0 || (rule.compute <= 0 && rule.fp32 <= 0 && rule.byte <= 0)) continue;
    const double elements = static_cast<double>(tensor.elements(context)) * kept;
    const bool quantized = replaced_by_quantized(tensor, sc.recipe);
    add_copies(tensor.name, compute, elements, quantized ? 0 : rule.compute, like, out);
    add_copies(tensor.name, DType::Fp8, elements,
               quantized ? rule.compute * sc.framework.quantized_input_bytes : 0, like, out);
    add_copies(tensor.name, DType::Fp32, elements, rule.fp32, like, out);
    add_copies(tensor.name, DType::Int8, elements, rule.byte, like, out);
  }
}

}  // namespace hexaplan::costmodel
