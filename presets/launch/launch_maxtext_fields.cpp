// Settings that MaxText has in its own words; what it says as others do stands in their rows. Sources:
// launch_formats().
#include <array>
#include <cmath>

#include "presets/launch/launch_fields.h"
#include "presets/launch/launch_readers.h"
#include "presets/launch/launch_reading.h"
#include "presets/launch/launch_words.h"
#include "presets/launch/maxtext_plan.h"

namespace hexaplan::presets {

using costmodel::AttentionKind;
using costmodel::DType;
using costmodel::Optimizer;
using costmodel::Precision;
using costmodel::RecomputeMode;
using costmodel::RopeScaling;
using costmodel::Scenario;

namespace {

using S = const Scenario&;
using V = const ValueReader&;
using R = LaunchReading&;

constexpr std::array<std::string_view, kLaunchers> maxtext(std::string_view key) {
  return {kNone, kNone, kNone, kNone, kNone, key};
}

// --- the mesh ---

template <MeshAxis axis, MeshDegrees Mesh::*part>
JsonValue degree(S s) {
  const std::optional<Mesh> mesh = mesh_of(s);
  return mesh ? JsonValue{((*mesh).*part)[static_cast<std::size_t>(axis)]} : JsonValue{};
}
template <MeshAxis axis, MeshDegrees Mesh::*part>
void read_axis(V v, R r) {
  (r.mesh.*part)[static_cast<std::size_t>(axis)] = v.integer({-1, kDegreeRange.high});
}
template <MeshAxis axis, MeshDegrees Mesh::*part>
constexpr LaunchField axis_row(std::string_view key) {
  return {degree<axis, part>, maxtext(key), read_axis<axis, part>};
}

// --- batches ---

/// Sequences of a pass over all devices: every micro-batch of a pipeline is in it.
std::int64_t sequences_of_a_pass(S s) {
  return s.layout.pp > 1 ? s.recipe.global_batch : s.recipe.micro_batch * s.layout.dp;
}

// --- types ---

DType parameter_type(S s) {
  return s.recipe.parameter_dtype.value_or(s.framework.parameter_dtype);
}
DType gradient_type(S s) {
  return s.recipe.gradient_dtype.value_or(s.framework.gradient_dtype);
}
/// src/maxtext/configs/types.py, QuantizationType: those of Transformer Engine.
constexpr FrameworkWord<Precision> kQuantizations[] = {{Precision::Fp8, "te_fp8_currentscaling"},
                                                       {Precision::Fp8, "te_fp8_delayedscaling"},
                                                       {Precision::Fp8, "fp8"},
                                                       {Precision::Mxfp8, "te_mxfp8"},
                                                       {Precision::Nvfp4, "te_nvfp4"},
                                                       {Precision::Nvfp4, "te_nvfp4_no_rht"}};

constexpr FrameworkWord<Optimizer> kMaxTextOptimizers[] = {{Optimizer::AdamW, "adamw"},
                                                           {Optimizer::AdamW, "adam_pax"},
                                                           {Optimizer::Sgd, "sgd"},
                                                           {Optimizer::Muon, "muon"}};

/// What MaxText keeps at least are the layers' inputs, and at most the results of products and attention.
JsonValue remat_policy(S s) {
  return s.recipe.recompute.mode == RecomputeMode::Full ? "full" : "minimal_with_context";
}

constexpr FrameworkWord<costmodel::AttentionKernel> kMaxTextAttention[] = {
    {costmodel::AttentionKernel::Flash, "cudnn_flash_te"},
    {costmodel::AttentionKernel::FlashAttention2, "cudnn_flash_te"},
    {costmodel::AttentionKernel::Flash, "flash"},
    {costmodel::AttentionKernel::Flash, "autoselected"},
    {costmodel::AttentionKernel::Unfused, "dot_product"}};

// --- the model ---

/// Its Llama-3.1 embedding has these numbers built in (src/maxtext/layers/embeddings.py,
/// LLaMARotaryEmbedding).
bool scaled_like_llama31(S s) {
  const costmodel::RotarySpec& r = s.model.rotary;
  return r.scaling == RopeScaling::Llama3 && r.factor == 8 && r.low_frequency == 1 && r.high_frequency == 4 &&
         r.original_positions == 8192;
}
JsonValue rope_type(S s) {
  return scales_by_yarn(s) ? "yarn" : scaled_like_llama31(s) ? "llama3.1" : "default";
}
void read_rope_type(V v, R r) {
  constexpr FrameworkWord<RopeScaling> kTypes[] = {
      {RopeScaling::None, "default"}, {RopeScaling::Llama3, "llama3.1"}, {RopeScaling::Yarn, "yarn"}};
  costmodel::RotarySpec& rotary = r.plan.model.rotary;
  rotary.scaling = meaning_of(kTypes, v);
  if (rotary.scaling != RopeScaling::Llama3) return;
  rotary.factor = 8;
  rotary.original_positions = 8192;
}
/// Those of latent attention's scores: 0.1·mscale·ln(factor) + 1, squared.
JsonValue score_magnitude(S s) {
  const costmodel::RotarySpec& r = s.model.rotary;
  if (!scales_by_yarn(s) || !has_latent_attention(s) || r.factor <= 1) return {};
  const double mscale = (std::sqrt(r.score_factor) - 1) / (0.1 * std::log(r.factor));
  return std::round(mscale * 1e6) / 1e6;
}

constexpr LaunchField kMaxTextModel[] = {
    {[](S) -> JsonValue { return "default"; }, maxtext("model_name"),
     [](V v, R r) { r.model_name = v.text() == "default" ? "" : v.text(); }},
    {[](S s) -> JsonValue {
       const DecoderBlock* block = decoder_block(s.model);
       return block == nullptr ? JsonValue{} : JsonValue{block->name};
     },
     maxtext("decoder_block"), [](V v, R r) { r.decoder_block = v.text(); }},
    {[](S s) -> JsonValue {
       const costmodel::MoeSpec& moe = s.model.moe;
       const bool all = s.model.is_moe() && moe.first_k_dense == 0 && moe.period == 1;
       return all ? moe.expert_ffn : s.model.mlp.ffn;
     },
     maxtext("base_mlp_dim"),
     [](V v, R r) {
       r.plan.model.mlp.ffn = v.integer({1, 1'000'000'000});
     }},
    {[](S) -> JsonValue {
       return JsonArray{JsonValue{"silu"}, JsonValue{"linear"}};
     },
     maxtext("mlp_activations")},
    {[](S s) { return only_if(has_latent_attention(s), "mla"); }, maxtext("attention_type"),
     [](V v, R r) {
       if (v.text() == "mla") r.plan.model.attention.kind = AttentionKind::Latent;
     }},
    {[](S s) { return when(s.model.attention.qkv_bias); }, maxtext("attention_bias"),
     [](V v, R r) { r.plan.model.attention.qkv_bias = v.boolean(); }},
    {[](S s) { return when(s.model.attention.qk_norm); }, maxtext("use_qk_norm"),
     [](V v, R r) { r.plan.model.attention.qk_norm = v.boolean(); }},
    {[](S) -> JsonValue { return false; }, maxtext("normalize_embedding_logits")},
    {rope_type, maxtext("rope_type"), read_rope_type},
    {[](S s) { return only_if(s.model.rotary.scaling == RopeScaling::Linear, s.model.rotary.factor); },
     maxtext("rope_linear_scaling_factor"),
     [](V v, R r) {
       const double factor = v.number({1e-6, 1e6});
       if (factor == 1) return;
       r.plan.model.rotary.scaling = RopeScaling::Linear;
       r.plan.model.rotary.factor = factor;
     }},
    {[](S s) {
       return only_if(scales_by_yarn(s), static_cast<std::int64_t>(std::llround(s.model.rotary.factor)));
     },
     maxtext("rope_factor"),
     [](V v, R r) {
       r.plan.model.rotary.factor = v.number({1e-6, 1e6});
     }},
    {[](S s) { return only_if(scales_by_yarn(s), s.model.rotary.original_positions); },
     maxtext("original_max_position_embeddings"),
     [](V v, R r) {
       r.plan.model.rotary.original_positions = v.integer({1, 1'000'000'000});
     }},
    {[](S s) { return only_if(scales_by_yarn(s), s.model.max_positions); },
     maxtext("max_position_embeddings")},
    {score_magnitude, maxtext("mscale")},
    {[](S s) {
       return s.model.moe.shared_ffn > 0 ? JsonValue{s.model.moe.shared_ffn / s.model.moe.expert_ffn}
                                         : JsonValue{};
     },
     maxtext("shared_experts"),
     [](V v, R r) {
       r.shared_experts = v.integer({0, 10'000});
     }},
    {[](S s) { return only_if(s.model.moe.first_k_dense > 0, s.model.moe.first_k_dense); },
     maxtext("first_num_dense_layers"),
     [](V v, R r) {
       r.plan.model.moe.first_k_dense = v.integer({0, 10'000});
     }},
    {[](S s) {
       const bool said = s.model.is_moe() && has_latent_attention(s);
       return only_if(said, s.model.moe.score == costmodel::RouterScore::Sigmoid ? "sigmoid" : "softmax");
     },
     maxtext("routed_score_func"),
     [](V v, R r) {
       using costmodel::RouterScore;
       constexpr FrameworkWord<RouterScore> kScores[] = {
           {RouterScore::Softmax, ""}, {RouterScore::Softmax, "softmax"}, {RouterScore::Sigmoid, "sigmoid"}};
       r.plan.model.moe.score = meaning_of(kScores, v);
     }},
    {[](S s) { return when(s.model.is_moe() && !has_latent_attention(s) && s.model.attention.qk_norm); },
     maxtext("norm_topk_prob"), [](V v, R r) { r.plan.model.moe.renormalise = v.boolean(); }},
};

constexpr LaunchField kMaxTextStep[] = {
    {[](S) -> JsonValue { return "base.yml"; }, maxtext("base_config")},
    {[](S) -> JsonValue { return "gpu"; }, maxtext("hardware")},
    axis_row<MeshAxis::TensorSequence, &Mesh::ici>("ici_tensor_sequence_parallelism"),
    axis_row<MeshAxis::Tensor, &Mesh::ici>("ici_tensor_parallelism"),
    axis_row<MeshAxis::Context, &Mesh::ici>("ici_context_parallelism"),
    axis_row<MeshAxis::Expert, &Mesh::ici>("ici_expert_parallelism"),
    axis_row<MeshAxis::Fsdp, &Mesh::ici>("ici_fsdp_parallelism"),
    axis_row<MeshAxis::Data, &Mesh::ici>("ici_data_parallelism"),
    axis_row<MeshAxis::Stage, &Mesh::ici>("ici_pipeline_parallelism"),
    axis_row<MeshAxis::TensorSequence, &Mesh::dcn>("dcn_tensor_sequence_parallelism"),
    axis_row<MeshAxis::Tensor, &Mesh::dcn>("dcn_tensor_parallelism"),
    axis_row<MeshAxis::Context, &Mesh::dcn>("dcn_context_parallelism"),
    axis_row<MeshAxis::Expert, &Mesh::dcn>("dcn_expert_parallelism"),
    axis_row<MeshAxis::Fsdp, &Mesh::dcn>("dcn_fsdp_parallelism"),
    axis_row<MeshAxis::Data, &Mesh::dcn>("dcn_data_parallelism"),
    axis_row<MeshAxis::Stage, &Mesh::dcn>("dcn_pipeline_parallelism"),
    {[](S s) { return only_if(s.layout.pp > 1, s.model.layers / s.layout.pp); },
     maxtext("num_layers_per_pipeline_stage")},
    {[](S s) { return only_if(s.layout.pp > 1, 1); }, maxtext("num_pipeline_repeats"),
     [](V v, R r) {
       if (v.integer({-1, 10'000}) > 1)
         r.notes.emplace_back("repeats of a circular pipeline are planned as one pass of gpipe");
     }},
    {[](S s) { return only_if(s.layout.pp > 1, costmodel::microbatches_per_step(s)); },
     maxtext("num_pipeline_microbatches"),
     [](V v, R r) {
       r.pipeline_batch = v.integer({-1, 1'000'000'000});
     }},
    {[](S s) { return only_if(s.layout.cp > 1, "all_gather"); }, maxtext("context_parallel_strategy"),
     [](V v, R r) {
       if (v.text() != "all_gather")
         r.notes.push_back("context parallelism by " + v.text() + " is planned as all-gather, the profile's");
     }},
    {[](S s) { return when(s.layout.sharding.stage == 1); }, maxtext("shard_optimizer_over_data"),
     read_flag<&LaunchReading::distributed_optimizer>},
    {[](S s) -> JsonValue {
       return static_cast<double>(sequences_of_a_pass(s)) / static_cast<double>(s.cluster.gpus);
     },
     maxtext("per_device_batch_size"),
     [](V v, R r) {
       r.device_batch = v.number({1e-9, 1e9});
     }},
    {[](S s) -> JsonValue { return s.layout.pp > 1 ? 1 : costmodel::microbatches_per_step(s); },
     maxtext("gradient_accumulation_steps"),
     [](V v, R r) {
       r.accumulation = v.integer({1, 1'000'000'000});
     }},
    {[](S s) { return word_of(kTorchTypes, costmodel::activation_dtype(s.recipe.precision)); },
     maxtext("dtype"),
     [](V v, R r) {
       const DType type = meaning_of(kTorchTypes, v);
       r.brain = type == DType::Bf16;
       r.half = type == DType::Fp16;
     }},
    {[](S s) { return word_of(kTorchTypes, parameter_type(s)); }, maxtext("weight_dtype"),
     [](V v, R r) { r.plan.recipe.parameter_dtype = meaning_of(kTorchTypes, v); }},
    {[](S s) { return word_of(kTorchTypes, gradient_type(s)); }, maxtext("grad_dtype"),
     [](V v, R r) { r.plan.recipe.gradient_dtype = meaning_of(kTorchTypes, v); }},
    {[](S s) { return word_of(kQuantizations, s.recipe.precision); }, maxtext("quantization"),
     [](V v, R r) {
       if (!v.text().empty()) r.plan.recipe.precision = meaning_of(kQuantizations, v);
     }},
    {[](S s) { return word_of(kMaxTextOptimizers, s.recipe.optimizer); }, maxtext("opt_type"),
     [](V v, R r) { r.plan.recipe.optimizer = meaning_of(kMaxTextOptimizers, v); }},
    {remat_policy, maxtext("remat_policy"), [](V v, R r) { r.granularity = v.text(); }},
    {[](S s) { return word_of(kMaxTextAttention, s.recipe.attention); }, maxtext("attention"),
     [](V v, R r) { r.plan.recipe.attention = meaning_of(kMaxTextAttention, v); }},
    {[](S) -> JsonValue { return {}; }, maxtext("num_vocab_tiling"),
     [](V v, R r) {
       if (v.integer({1, 1'000'000}) > 1) r.plan.recipe.cross_entropy = costmodel::CrossEntropy::Chunked;
     }},
    {[](S s) { return only_if(limits_experts(s), s.recipe.routing.capacity_factor); },
     maxtext("capacity_factor"),
     [](V v, R r) {
       costmodel::MoeRouting& routing = r.plan.recipe.routing;
       routing.capacity_factor = std::max(0.0, v.number({-1, 1e6}));
       // Masks of sequence × expert × capacity (AI-Hypercomputer/maxtext layers/moe.py, generate_masks).
       routing.pad_to_capacity = routing.drops();
     }},
    {[](S s) { return when(offloads(s, costmodel::kOffloadOptimizer)); },
     maxtext("optimizer_memory_host_offload"), read_offload<costmodel::kOffloadOptimizer>},
    {[](S s) { return when(offloads(s, costmodel::kOffloadParameters)); },
     maxtext("parameter_memory_host_offload"), read_offload<costmodel::kOffloadParameters>},
    {[](S s) -> JsonValue { return s.recipe.dropout; }, maxtext("dropout_rate"),
     [](V v, R r) { r.plan.recipe.dropout = v.number(kShare); }},
    {[](S s) -> JsonValue { return s.recipe.dropout > 0; }, maxtext("enable_dropout"),
     [](V v, R r) { r.drops_out = v.boolean(); }},
    {[](S) -> JsonValue { return "synthetic"; }, maxtext("dataset_type")},
    {[](S) -> JsonValue { return false; }, maxtext("packing")},
};

}  // namespace

std::span<const LaunchField> maxtext_model_fields() {
  return kMaxTextModel;
}
std::span<const LaunchField> launch_maxtext_fields() {
  return kMaxTextStep;
}

}  // namespace hexaplan::presets
