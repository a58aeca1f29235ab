#include "presets/launch/maxtext_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "presets/launch/launch_readers.h"
#include "presets/launch/launch_reading.h"
#include "presets/launch/launch_settle.h"

namespace hexaplan::presets {

using costmodel::AttentionKind;
using costmodel::ModelSpec;
using costmodel::Precision;
using costmodel::RecomputeMode;
using costmodel::Scenario;

namespace {

using R = LaunchReading&;

std::int64_t& at(MeshDegrees& degrees, MeshAxis axis) {
  return degrees[static_cast<std::size_t>(axis)];
}

// --- layers ---

/// What all of the described blocks are: Llama's layer but for attention and experts.
bool is_plain_decoder(const ModelSpec& m) {
  const costmodel::AttentionSpec& a = m.attention;
  const bool plain_attention = !is_hybrid(m) && !a.sinks && !a.output_bias && a.softcap == 0 &&
                               a.score_width == 0 && a.value_clip == 0 && a.window == 0 &&
                               a.unrotated_period == 0 && a.unrotated_layers.empty() &&
                               (!a.qk_norm || a.qk_norm_scope == costmodel::QkNormScope::Head);
  const bool plain_layer = m.norm == costmodel::NormKind::Rms && m.norms_per_layer == 2 && m.final_norm &&
                           !m.parallel_residual && !m.norms_behind_branches && !m.norms_after &&
                           !m.zero_centered_norm && !m.embedding_norm && m.norm_weight;
  const bool plain_scale = m.embedding_multiplier == 1 && m.residual_multiplier == 1 &&
                           m.logit_multiplier == 1 && m.logit_softcap == 0 && !m.head_bias;
  return plain_attention && plain_layer && plain_scale && m.own_rule.empty() && m.mlp.gated && !m.mlp.bias &&
         m.mlp.activation == costmodel::Activation::Silu && m.mlp.clamp == 0 &&
         m.positions == costmodel::PositionKind::Rotary && m.rotary.share == 1 && m.rotary.local_base == 0;
}
bool is_grouped(const ModelSpec& m) {
  return is_plain_decoder(m) && m.attention.kind == AttentionKind::Grouped;
}
bool is_dense(const ModelSpec& m) {
  return is_grouped(m) && !m.is_moe();
}
bool every_layer_has_experts(const ModelSpec& m) {
  const costmodel::MoeSpec& e = m.moe;
  return is_grouped(m) && m.is_moe() && e.first_k_dense == 0 && e.period == 1 && e.dense_layers.empty() &&
         e.shared_ffn == 0 && !e.router_correction && !e.router_bias && !e.expert_bias &&
         e.score == costmodel::RouterScore::Softmax && e.renormalise && e.weight_factor == 1 &&
         e.top_groups == e.groups && !m.attention.qkv_bias;
}
bool is_deepseek(const ModelSpec& m) {
  const costmodel::MoeSpec& e = m.moe;
  const bool weights = (e.score == costmodel::RouterScore::Sigmoid) == e.renormalise;
  return is_plain_decoder(m) && m.attention.kind == AttentionKind::Latent && m.is_moe() && e.period == 1 &&
         e.dense_layers.empty() && !e.shared_gate && !e.router_bias && !e.expert_bias && weights &&
         e.shared_ffn % e.expert_ffn == 0 && !m.attention.qkv_bias;
}

constexpr DecoderBlock kBlocks[] = {
    {"llama2",
     [](const ModelSpec& m) { return is_dense(m) && !m.attention.qkv_bias && !m.attention.qk_norm; },
     [](ModelSpec&) {}},
    {"mistral", [](const ModelSpec&) { return false; }, [](ModelSpec&) {}},  // written as llama2
    {"qwen2", [](const ModelSpec& m) { return is_dense(m) && m.attention.qkv_bias && !m.attention.qk_norm; },
     [](ModelSpec&) {}},
    {"qwen3", [](const ModelSpec& m) { return is_dense(m) && !m.attention.qkv_bias && m.attention.qk_norm; },
     [](ModelSpec&) {}},
    {"mixtral", [](const ModelSpec& m) { return every_layer_has_experts(m) && !m.attention.qk_norm; },
     [](ModelSpec& m) { m.moe.renormalise = true; }},
    {"qwen3_moe", [](const ModelSpec& m) { return every_layer_has_experts(m) && m.attention.qk_norm; },
     [](ModelSpec&) {}},
    {"deepseek", is_deepseek,
     [](ModelSpec& m) {
       m.attention.kind = AttentionKind::Latent;
       m.moe.renormalise = m.moe.score == costmodel::RouterScore::Sigmoid;
     }},
};

// --- the mesh, as it is read ---

/// Fills the one placeholder of -1, so that the axes' product is `ranks`. False where none does.
bool fill_axes(MeshDegrees& degrees, std::int64_t ranks) {
  std::int64_t others = 1, open = 0;
  for (const std::int64_t degree : degrees) {
    if (degree < 0) {
      ++open;
    } else if (degree == 0 || others > 10'000'000 / degree) {
      return false;
    } else {
      others *= degree;
    }
  }
  if (open > 1 || ranks < 1 || ranks % others != 0) return false;
  for (std::int64_t& degree : degrees) {
    if (degree < 0) degree = ranks / others;
  }
  return true;
}

int small(std::int64_t degree) {
  return static_cast<int>(std::clamp<std::int64_t>(degree, 1, 1'000'000));
}

void take_mesh(R r, MeshDegrees all) {
  costmodel::Layout& layout = r.plan.layout;
  layout.sp = at(all, MeshAxis::TensorSequence) > 1;
  layout.tp = small(at(all, MeshAxis::TensorSequence) * at(all, MeshAxis::Tensor));
  layout.cp = small(at(all, MeshAxis::Context));
  if (layout.cp > 1) layout.context = costmodel::ContextKind::AllGather;
  layout.ep = small(at(all, MeshAxis::Expert));
  layout.pp = small(at(all, MeshAxis::Stage));
  if (layout.pp > 1) layout.schedule = costmodel::ScheduleKind::GPipe;
  const std::int64_t shards = at(all, MeshAxis::Fsdp) * layout.ep;
  layout.dp = small(at(all, MeshAxis::Data) * shards);
  r.dp_said = true;
  const std::int64_t group = shards * layout.cp;
  layout.sharding.stage = group > 1 ? 3 : r.distributed_optimizer ? 1 : 0;
  if (group > 1 && group < static_cast<std::int64_t>(layout.dp) * layout.cp)
    layout.sharding.group = static_cast<int>(group);
  if (layout.sp && at(all, MeshAxis::Tensor) > 1)
    r.notes.emplace_back("tensor and tensor_sequence axes are planned as one tensor-parallel degree");
}

void settle_mesh(R r) {
  if (r.gpus == 0) {
    r.notes.emplace_back("the axes of the mesh need the number of GPUs: add --cluster 64xH100");
    return;
  }
  const std::int64_t per_node = r.gpus_per_node > 0 && r.gpus % r.gpus_per_node == 0
                                    ? r.gpus_per_node
                                    : std::min<std::int64_t>(8, r.gpus);
  const std::int64_t nodes = std::max<std::int64_t>(1, r.gpus / per_node);
  MeshDegrees ici = r.mesh.ici, dcn = r.mesh.dcn;
  if (!fill_axes(ici, per_node) || !fill_axes(dcn, nodes)) {
    r.notes.push_back(fmt::format("the axes of the mesh do not fill {} nodes of {} GPUs", nodes, per_node));
    return;
  }
  MeshDegrees all{};
  for (std::size_t axis = 0; axis < all.size(); ++axis) all[axis] = ici[axis] * dcn[axis];
  take_mesh(r, all);
}

/// Sequences of one pass over all devices (types.py, calculate_global_batch_sizes).
void settle_maxtext_batch(R r) {
  costmodel::Recipe& recipe = r.plan.recipe;
  const costmodel::Layout& layout = r.plan.layout;
  if (r.gpus == 0 || !r.dp_said) return;
  const double pass = std::floor(r.device_batch * static_cast<double>(r.gpus) + 1e-9);
  if (pass < 1 || pass > 1e9) return;
  const std::int64_t passes = layout.pp > 1 && r.pipeline_batch > 0 ? r.pipeline_batch : 1;
  recipe.micro_batch = std::max<std::int64_t>(1, static_cast<std::int64_t>(pass) / layout.dp / passes);
  recipe.global_batch = static_cast<std::int64_t>(pass) * std::max<std::int64_t>(1, r.accumulation);
}

/// MaxText saves by name what the others recompute by operator; what lies between is planned as its
/// neighbour.
void settle_remat(R r) {
  costmodel::Recompute& recompute = r.plan.recipe.recompute;
  const std::string& policy = r.granularity;
  const bool keeps_products = policy == "minimal_with_context" || policy == "minimal";
  recompute.mode = keeps_products ? RecomputeMode::SelectiveOperators : RecomputeMode::Full;
  if (policy == "full" || policy == "minimal_with_context") return;
  r.notes.push_back(
      fmt::format("remat_policy \"{}\" has no word of its own: planned as \"{}\", its neighbour", policy,
                  keeps_products ? "minimal_with_context" : "full"));
}

void settle_maxtext_model(R r) {
  ModelSpec& m = r.plan.model;
  if (!r.model_name.empty()) r.says_model = false;
  if (!r.says_model) return;
  if (m.moe.experts <= 1) {
    m.moe = {};
  } else {
    if (m.moe.expert_ffn == 0) m.moe.expert_ffn = m.mlp.ffn;
    m.moe.shared_ffn = r.shared_experts * m.moe.expert_ffn;
  }
  if (const DecoderBlock* block = find_decoder_block(r.decoder_block)) {
    block->set(m);
  } else {
    r.says_model = false;
    r.notes.push_back(
        fmt::format("decoder_block \"{}\" is not described here: add --model", r.decoder_block));
    return;
  }
  if (m.attention.kind != AttentionKind::Latent)
    m.attention.q_lora_rank = m.attention.kv_lora_rank = m.attention.qk_nope_dim = m.attention.qk_rope_dim =
        0;
  costmodel::RotarySpec& rotary = m.rotary;
  if (rotary.scaling == costmodel::RopeScaling::None) {
    rotary.factor = 1;
    rotary.original_positions = 0;
  }
  settle_dimensions(r);
}

}  // namespace

std::optional<MeshDegrees> mesh_degrees(const Scenario& s) {
  const costmodel::Layout& layout = s.layout;
  MeshDegrees degrees;
  degrees.fill(1);
  at(degrees, layout.sp ? MeshAxis::TensorSequence : MeshAxis::Tensor) = layout.tp;
  at(degrees, MeshAxis::Context) = layout.cp;
  at(degrees, MeshAxis::Stage) = layout.pp;
  const std::int64_t experts = s.model.is_moe() ? layout.ep : 1;
  at(degrees, MeshAxis::Expert) = experts;
  const std::int64_t group = layout.sharding.stage >= 2 ? layout.shard_ranks() : experts * layout.cp;
  if (group % (experts * layout.cp) != 0) return std::nullopt;
  const std::int64_t fsdp = group / (experts * layout.cp);
  if (layout.dp % (fsdp * experts) != 0) return std::nullopt;
  at(degrees, MeshAxis::Fsdp) = fsdp;
  at(degrees, MeshAxis::Data) = layout.dp / (fsdp * experts);
  return degrees;
}

std::optional<Mesh> mesh_of(const Scenario& s) {
  const std::optional<MeshDegrees> degrees = mesh_degrees(s);
  if (!degrees) return std::nullopt;
  std::int64_t room = std::min<std::int64_t>(s.cluster.gpus_per_node, s.cluster.gpus);
  Mesh mesh;
  for (std::size_t axis = 0; axis < degrees->size(); ++axis) {
    mesh.ici[axis] = std::gcd(room, (*degrees)[axis]);
    mesh.dcn[axis] = (*degrees)[axis] / mesh.ici[axis];
    room /= mesh.ici[axis];
  }
  return room == 1 ? std::optional{mesh} : std::nullopt;
}

const DecoderBlock* decoder_block(const ModelSpec& model) {
  const auto found =
      std::find_if(std::begin(kBlocks), std::end(kBlocks), [&](const auto& row) { return row.is(model); });
  return found == std::end(kBlocks) ? nullptr : found;
}

const DecoderBlock* find_decoder_block(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kBlocks), std::end(kBlocks), [&](const auto& row) { return row.name == name; });
  return found == std::end(kBlocks) ? nullptr : found;
}

void begin_maxtext(R r) {
  r.mesh.ici.fill(1);
  r.mesh.dcn.fill(1);
  at(r.mesh.ici, MeshAxis::Fsdp) = -1;
  at(r.mesh.dcn, MeshAxis::Data) = -1;
  r.device_batch = 12;
  r.accumulation = 1;
  r.granularity = "full";
  r.decoder_block = "llama2";
  r.brain = true;
  r.plan.recipe.sequence = 2048;
  costmodel::ModelSpec& m = r.plan.model;
  m.moe.balance_coefficient = 0;
  m.mlp.gated = true;
  m.tied_embeddings = false;
}

void settle_maxtext(R r) {
  settle_maxtext_model(r);
  settle_mesh(r);
  settle_maxtext_batch(r);
  settle_remat(r);
  costmodel::Recipe& recipe = r.plan.recipe;
  if (!costmodel::is_quantized(recipe.precision)) recipe.precision = sixteen_or_more(r);
  if (!r.drops_out) recipe.dropout = 0;
  if (recipe.gradient_dtype) take_gradient_type(r, *recipe.gradient_dtype);
  if (recipe.parameter_dtype == r.plan.framework.parameter_dtype) recipe.parameter_dtype.reset();
}

}  // namespace hexaplan::presets
