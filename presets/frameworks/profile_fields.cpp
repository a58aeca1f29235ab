#include "presets/frameworks/profile_fields.h"

#include <iterator>

namespace hexaplan::presets {
namespace {

using costmodel::Elementwise;
using costmodel::ElementwiseRule;
using costmodel::FrameworkProfile;
using costmodel::Saved;
using costmodel::SavedCase;
using costmodel::SavedRule;

using P = FrameworkProfile;
constexpr RealRange kStretch{1, 100};

constexpr ProfileField kProfileFields[] = {
    {"not_modelled", &P::not_modelled},
    {"undescribed_tensor", &P::undescribed_tensor},
    {"parameter_dtype", &P::parameter_dtype},
    {"gradient_dtype", &P::gradient_dtype},
    {"extra_gradient_copies", &P::extra_gradient_copies},
    {"gradient_copies_are_buckets", &P::gradient_copies_are_buckets},
    {"persistent_gradients", &P::persistent_gradients},
    {"master_parameters", &P::master_parameters},
    {"moment_dtype", &P::moment_dtype},
    {"shard_gradients_from_stage_2", &P::shard_gradients_from_stage_2},
    {"even_split", &P::even_split},
    {"vocab_multiple", &P::vocab_multiple, {1, 1e9}},
    {"quantized_input_bytes", &P::quantized_input_bytes},
    {"keeps_original_inputs", &P::keeps_original_inputs},
    {"gather_saved_inputs", &P::gather_saved_inputs},
    {"keeps_what_backward_reads", &P::keeps_what_backward_reads},
    {"separate_projections", &P::separate_projections},
    {"mtp_norm_apart", &P::mtp_norm_apart},
    {"autocasts", &P::autocasts},
    {"flat_units_mix_frozen", &P::flat_units_mix_frozen},
    {"adapter_rank", &P::adapter_rank, {1, 1e6}},
    {"packs_projections", &P::packs_projections},
    {"runs_models_code", &P::runs_models_code},
    {"experts_are_parameters", &P::experts_are_parameters},
    {"four_bit_keeps_inputs", &P::four_bit_keeps_inputs},
    {"adapters_by_operation", &P::adapters_by_operation},
    {"copies_saved_modules", &P::copies_saved_modules},
    {"reads_scales_in_place", &P::reads_scales_in_place},
    {"adapter_products_as_kept", &P::adapter_products_as_kept},
    {"dora_weight_bytes", &P::dora_weight_bytes},
    {"dora_identity_bytes", &P::dora_identity_bytes},
    {"logit_copies_compute", &P::logit_copies_compute},
    {"logit_copies_fp32", &P::logit_copies_fp32},
    {"logit_transient_fp32", &P::logit_transient_fp32},
    {"fused_logit_copies_fp32", &P::fused_logit_copies_fp32},
    {"fused_cross_entropy", &P::fused_cross_entropy},
    {"chunked_cross_entropy_fraction", &P::chunked_cross_entropy_fraction, kShare},
    {"loss_chunks", &P::loss_chunks},
    {"loss_reductions", &P::loss_reductions, {2, 3}},
    {"chunked_logits_complete", &P::chunked_logits_complete},
    {"gradient_bucket_elements", &P::gradient_bucket_elements},
    {"gradient_bucket_per_rank", &P::gradient_bucket_per_rank},
    {"contiguous_gradient_buffer", &P::contiguous_gradient_buffer},
    {"replicas_keep_buckets", &P::replicas_keep_buckets},
    {"gradients_view_buckets", &P::gradients_view_buckets},
    {"gather_prefetch_layers", &P::gather_prefetch_layers},
    {"gathers_by_module", &P::gathers_by_module},
    {"gather_prefetch_elements", &P::gather_prefetch_elements},
    {"gather_live_elements", &P::gather_live_elements},
    {"gather_reuse_elements", &P::gather_reuse_elements},
    {"gather_persistent_elements", &P::gather_persistent_elements},
    {"update_group_elements", &P::update_group_elements},
    {"whole_gradient_bucket", &P::whole_gradient_bucket},
    {"gather_bucket_elements", &P::gather_bucket_elements},
    {"gather_dtype", &P::gather_dtype},
    {"reduce_dtype", &P::reduce_dtype},
    {"reduces_in_fp32", &P::reduces_in_fp32},
    {"reshard_after_forward", &P::reshard_after_forward},
    {"gather_ends_for_whole_step", &P::gather_ends_for_whole_step},
    {"head_unit_stays_gathered", &P::head_unit_stays_gathered},
    {"whole_embedding_gradient", &P::whole_embedding_gradient},
    {"optimizer_transient_bytes", &P::optimizer_transient_bytes},
    {"flat_optimizer_buffers", &P::flat_optimizer_buffers},
    {"flat_gather_copies", &P::flat_gather_copies},
    {"sp_gather_buffers", &P::sp_gather_buffers},
    {"sp_persistent_buffers", &P::sp_persistent_buffers},
    {"weight_gradient_temporary_bytes", &P::weight_gradient_temporary_bytes},
    {"placeholder_weight_gradients", &P::placeholder_weight_gradients},
    {"head_streams", &P::head_streams},
    {"caching_allocator", &P::caching_allocator},
    {"attention_library", &P::attention_library},
    {"recompute_stops_early", &P::recompute_stops_early},
    {"expert_layer_overhead", &P::expert_layer_overhead},
    {"expert_overhead", &P::expert_overhead},
    {"gemm_kernels_forward", &P::gemm_kernels_forward},
    {"kernel_launch", &P::kernel_launch},
    {"layer_host_forward", &P::layer_host_forward},
    {"layer_host_backward", &P::layer_host_backward},
    {"partial_graph_host", &P::partial_graph_host, kShare},
    {"compiled_host", &P::compiled_host, kShare},
    {"compiles_layers", &P::compiles_layers},
    {"pipeline_collective_host", &P::pipeline_collective_host},
    {"step_overhead", &P::step_overhead},
    {"microbatch_overhead", &P::microbatch_overhead},
    {"optimizer_passes_bytes", &P::optimizer_passes_bytes},
    {"narrow_optimizer_passes_bytes", &P::narrow_optimizer_passes_bytes},
    {"foreach_sgd", &P::foreach_sgd},
    {"whole_gradient_passes_bytes", &P::whole_gradient_passes_bytes},
    {"gradient_overlap", &P::gradient_overlap},
    {"parameter_gather_overlap", &P::parameter_gather_overlap},
    {"zero2_gathers_layers", &P::zero2_gathers_layers},
    {"reduction_can_wait", &P::reduction_can_wait},
    {"waiting_gradients_as_reduced", &P::waiting_gradients_as_reduced},
    {"backward_gather_overlap", &P::backward_gather_overlap},
    {"gather_copy_bytes", &P::gather_copy_bytes},
    {"reduce_copy_bytes", &P::reduce_copy_bytes},
    {"gather_by_broadcasts", &P::gather_by_broadcasts},
    {"replays_parameters", &P::replays_parameters},
    {"updates_whole_matrices", &P::updates_whole_matrices},
    {"widens_fp16_gradients", &P::widens_fp16_gradients},
    {"secondary_partition_on_device", &P::secondary_partition_on_device},
    {"sharding_ends_overlap", &P::sharding_ends_overlap},
    {"gather_slice_host", &P::gather_slice_host},
    {"reduce_scatter_gradients", &P::reduce_scatter_gradients},
    {"tensor_overlap", &P::tensor_overlap, kShare},
    {"tensor_overlap_asked", &P::tensor_overlap_asked, kShare},
    {"tensor_backward_overlap", &P::tensor_backward_overlap},
    {"context_overlap", &P::context_overlap, kShare},
    {"pipeline_wait", &P::pipeline_wait},
    {"pipeline_overlap", &P::pipeline_overlap, kShare},
    {"pipeline_overlap_interleaved", &P::pipeline_overlap_interleaved, kShare},
    {"pipeline_scatter_gather", &P::pipeline_scatter_gather},
    {"attention_entries", &P::attention_entries, {1, 3}},
    {"mlp_entries", &P::mlp_entries, {1, 2}},
    {"whole_logits", &P::whole_logits},
    {"expert_overlap", &P::expert_overlap, kShare},
    {"expert_overlap_asked", &P::expert_overlap_asked, kShare},
    {"expert_dispatch_merges_copies", &P::expert_dispatch_merges_copies},
    {"counts_choices", &P::counts_choices},
    {"overlap_slowdown", &P::overlap_slowdown, kStretch},
    {"context", &P::context},
    {"communicator", &P::communicator},
    {"library_workspace", &P::library_workspace},
    {"unreclaimed_streams", &P::unreclaimed_streams},
    {"fresh_gradient_share", &P::fresh_gradient_share, kShare},
    {"reserved_ratio", &P::reserved_ratio, kStretch},
    {"unreleasable_share", &P::unreleasable_share, {0, 1}},
    {"varying_reserved_ratio", &P::varying_reserved_ratio, {0, 100}},
    {"varying_unreleasable_share", &P::varying_unreleasable_share, {0, 1}},
    {"time_residual", &P::time_residual},
    {"memory_residual", &P::memory_residual},
};

constexpr Named<Saved> kSavedNames[] = {
    {"norm_input", Saved::NormInput},
    {"norm_output", Saved::NormOutput},
    {"norm_stats", Saved::NormStats},
    {"qk_norm_input", Saved::QkNormInput},
    {"query", Saved::Query},
    {"key", Saved::Key},
    {"value", Saved::Value},
    {"repeated_key_value", Saved::RepeatedKeyValue},
    {"log_sum_exp", Saved::LogSumExp},
    {"scores", Saved::Scores},
    {"scores_dropout", Saved::ScoresDropout},
    {"attention_output", Saved::AttentionOutput},
    {"residual_dropout", Saved::ResidualDropout},
    {"latent_query", Saved::LatentQuery},
    {"latent_key_value", Saved::LatentKeyValue},
    {"latent_norm_output", Saved::LatentNormOutput},
    {"gate_up", Saved::GateUp},
    {"activation_output", Saved::ActivationOutput},
    {"activation_inner", Saved::ActivationInner},
    {"router_logits", Saved::RouterLogits},
    {"routing_map", Saved::RoutingMap},
    {"expert_input", Saved::ExpertInput},
    {"expert_gate_up", Saved::ExpertGateUp},
    {"expert_activation", Saved::ExpertActivation},
    {"expert_output", Saved::ExpertOutput},
    {"shared_gate_up", Saved::SharedGateUp},
    {"shared_activation", Saved::SharedActivation},
    {"layer_output", Saved::LayerOutput},
    {"key_value_up", Saved::KeyValueUp},
    {"router_input", Saved::RouterInput},
    {"expert_inner", Saved::ExpertInner},
    {"shared_inner", Saved::SharedInner},
    {"adapter_input", Saved::AdapterInput},
    {"adapter_hidden", Saved::AdapterHidden},
    {"scaled_output", Saved::ScaledOutput},
    {"row_norms", Saved::RowNorms},
    {"attention_mask", Saved::AttentionMask},
};
static_assert(std::size(kSavedNames) == costmodel::kSavedCount);

constexpr Named<SavedCase> kSavedCaseNames[] = {
    {"autocast", SavedCase::Autocast},
    {"not_compiled", SavedCase::NotCompiled},
    {"stored_scores", SavedCase::StoredScores},
    {"capped_scores", SavedCase::CappedScores},
    {"adapters", SavedCase::Adapters},
    {"scaling_adapters", SavedCase::ScalingAdapters},
    {"offset_norms", SavedCase::OffsetNorms},
    {"norms_behind", SavedCase::NormsBehind},
    {"latent", SavedCase::Latent},
    {"sigmoid_router", SavedCase::SigmoidRouter},
    {"ungated", SavedCase::Ungated},
    {"composed_gelu", SavedCase::ComposedGelu},
    {"rms_norms", SavedCase::RmsNorms},
    {"compiled", SavedCase::Compiled},
    {"dora", SavedCase::Dora},
    {"integer_base", SavedCase::IntegerBase},
    {"packed_qkv", SavedCase::PackedQkv},
    {"packed_gate_up", SavedCase::PackedGateUp},
    {"rotary", SavedCase::Rotary},
    {"partial_rotary", SavedCase::PartialRotary},
    {"grouped_heads", SavedCase::GroupedHeads},
    {"multi_query", SavedCase::MultiQuery},
    {"four_norms", SavedCase::FourNorms},
    {"shared_norm", SavedCase::SharedNorm},
    {"composed_layer_norms", SavedCase::ComposedLayerNorms},
    {"experts", SavedCase::Experts},
    {"shared_experts", SavedCase::SharedExperts},
};
static_assert(std::size(kSavedCaseNames) == costmodel::kSavedCases);

constexpr Named<Elementwise> kElementwiseNames[] = {
    {"norm", Elementwise::Norm},
    {"residual_add", Elementwise::ResidualAdd},
    {"rope", Elementwise::Rope},
    {"qk_norm", Elementwise::QkNorm},
    {"bias_add", Elementwise::BiasAdd},
    {"repeat_key_value", Elementwise::RepeatKeyValue},
    {"softmax", Elementwise::Softmax},
    {"activation", Elementwise::Activation},
    {"router", Elementwise::Router},
    {"permute", Elementwise::Permute},
    {"cast", Elementwise::Cast},
    {"embedding", Elementwise::Embedding},
    {"cross_entropy", Elementwise::CrossEntropy},
    {"fused_cross_entropy", Elementwise::FusedCrossEntropy},
    {"unfused_norm", Elementwise::UnfusedNorm},
    {"score_dropout", Elementwise::ScoreDropout},
    {"expert_bias", Elementwise::ExpertBias},
    {"expert_output_bias", Elementwise::ExpertOutputBias},
    {"weight_cast", Elementwise::WeightCast},
    {"adapter_input", Elementwise::AdapterInput},
    {"adapter_output", Elementwise::AdapterOutput},
    {"dora_output", Elementwise::DoraOutput},
    {"dora_weight", Elementwise::DoraWeight},
};
static_assert(std::size(kElementwiseNames) == costmodel::kElementwiseCount);

constexpr RulePart<SavedRule> kSavedParts[] = {
    {"compute", &SavedRule::compute}, {"fp32", &SavedRule::fp32}, {"byte", &SavedRule::byte}};
constexpr RulePart<ElementwiseRule> kElementwiseParts[] = {
    {"forward_passes", &ElementwiseRule::forward_passes},
    {"backward_passes", &ElementwiseRule::backward_passes},
    {"forward_kernels", &ElementwiseRule::forward_kernels},
    {"backward_kernels", &ElementwiseRule::backward_kernels}};

}  // namespace

std::span<const ProfileField> profile_fields() {
  return kProfileFields;
}
std::span<const Named<Saved>> saved_names() {
  return kSavedNames;
}
std::span<const Named<SavedCase>> saved_case_names() {
  return kSavedCaseNames;
}
std::span<const RulePart<SavedRule>> saved_parts() {
  return kSavedParts;
}
std::span<const Named<Elementwise>> elementwise_names() {
  return kElementwiseNames;
}
std::span<const RulePart<ElementwiseRule>> elementwise_parts() {
  return kElementwiseParts;
}

}  // namespace hexaplan::presets
