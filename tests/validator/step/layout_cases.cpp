#include "tests/validator/step/layout_cases.h"

#include "tests/validator/step/tiny_scenario.h"

namespace hexaplan::tests {
namespace {

using costmodel::RecomputeMode;
using costmodel::Scenario;
using costmodel::ScheduleKind;

void adapt(Scenario& sc) {
  sc.recipe.fine_tune = costmodel::FineTune::Lora;
  sc.recipe.lora_rank = 3;
}
void adapt_queries_and_values(Scenario& sc) {
  adapt(sc);
  sc.recipe.lora_targets = costmodel::AdapterTargets::QueryValue;
  sc.recipe.recompute.mode = costmodel::RecomputeMode::Full;
}
void learn_magnitudes(Scenario& sc) {
  adapt(sc);
  sc.recipe.dora = true;
}
void learn_magnitudes_recomputed(Scenario& sc) {
  adapt_queries_and_values(sc);
  sc.recipe.dora = true;
}
/// IA³ beside attention and MLP.
void scale(Scenario& sc) {
  sc.recipe.fine_tune = costmodel::FineTune::Ia3;
}
void scale_recomputed(Scenario& sc) {
  scale(sc);
  sc.recipe.recompute.mode = costmodel::RecomputeMode::Full;
}
/// Optimizer states, all or a share of them, parameters and activations on the host.
void offload_everything(Scenario& sc) {
  sc.recipe.offload =
      costmodel::kOffloadOptimizer | costmodel::kOffloadParameters | costmodel::kOffloadActivations;
}
void offload_half_to_disks(Scenario& sc) {
  sc.recipe.offload = costmodel::kOffloadOptimizer;
  sc.recipe.offload_fraction = 0.5;
  sc.recipe.offload_device = costmodel::OffloadDevice::Nvme;
}
void reduce_once(Scenario& sc) {
  sc.recipe.execution.reduction = costmodel::GradientReduction::Once;
}
void tie(Scenario& sc) {
  sc.model.tied_embeddings = true;
}
void recompute_all(Scenario& sc) {
  sc.recipe.recompute.mode = RecomputeMode::Full;
}
void recompute_attention(Scenario& sc) {
  sc.recipe.recompute.mode = RecomputeMode::Selective;
}
void recompute_one(Scenario& sc) {
  sc.recipe.recompute = {.mode = RecomputeMode::Layers, .layers = 1};
}
void batch_of_six(Scenario& sc) {
  sc.recipe.global_batch = 6;
}
void two_sequences(Scenario& sc) {
  sc.recipe.micro_batch = 2;
}
void fp32(Scenario& sc) {
  sc.recipe.precision = costmodel::Precision::Fp32;
}
void uneven_stages(Scenario& sc) {
  sc.layout.split = costmodel::StageSplit::Explicit;
  sc.layout.stage_layers = {3, 1};
}

void experts(Scenario& sc) {
  sc.model.moe = {.experts = 4, .top_k = 2, .expert_ffn = 8};
}
void experts_and_shared(Scenario& sc) {
  experts(sc);
  sc.model.moe.shared_ffn = 12;
}
void experts_recomputed(Scenario& sc) {
  experts_and_shared(sc);
  recompute_all(sc);
}
void first_layer_dense(Scenario& sc) {
  experts_and_shared(sc);
  sc.model.moe.first_k_dense = 1;
}

void chunked_loss(Scenario& sc) {
  sc.recipe.cross_entropy = costmodel::CrossEntropy::Chunked;
}
/// Chunks of 8, 8, 8 and 6 tokens of 30.
void ragged_chunks(Scenario& sc) {
  chunked_loss(sc);
  sc.recipe.sequence = 15;
  sc.recipe.micro_batch = 2;
  sc.model.logit_softcap = 3;
}
void unfused_loss(Scenario& sc) {
  sc.recipe.cross_entropy = costmodel::CrossEntropy::Unfused;
}
void scores_stored(Scenario& sc) {
  sc.recipe.attention = costmodel::AttentionKernel::FusedSoftmax;
}
void scores_stored_selective(Scenario& sc) {
  scores_stored(sc);
  recompute_attention(sc);
}
void scores_stored_step_by_step(Scenario& sc) {
  sc.recipe.attention = costmodel::AttentionKernel::Unfused;
  sc.model.attention.softcap = 1.5;
  recompute_all(sc);
}
void latent_scores_stored(Scenario& sc) {
  scores_stored(sc);
  sc.model.attention = {.kind = costmodel::AttentionKind::Latent, .heads = 4, .kv_heads = 4};
  costmodel::AttentionSpec& a = sc.model.attention;
  a.q_lora_rank = 10, a.kv_lora_rank = 6, a.qk_nope_dim = 4, a.qk_rope_dim = 2;
  a.head_dim = a.qk_nope_dim + a.qk_rope_dim;
  a.v_head_dim = 4;
}
void dropout(Scenario& sc) {
  sc.recipe.dropout = 0.2;
}
void dropout_recomputed(Scenario& sc) {
  dropout(sc);
  recompute_all(sc);
}
void dropout_of_stored_scores(Scenario& sc) {
  dropout(sc);
  scores_stored_selective(sc);
}
void dropout_of_experts(Scenario& sc) {
  dropout(sc);
  experts_and_shared(sc);
}
void recompute_operators(Scenario& sc) {
  sc.recipe.recompute.mode = RecomputeMode::SelectiveOperators;
}
void operators_of_experts(Scenario& sc) {
  experts_and_shared(sc);
  recompute_operators(sc);
}

template <int Layers>
void layers(Scenario& sc) {
  sc.model.layers = Layers;
}
template <int Layers>
void layers_recomputed(Scenario& sc) {
  sc.model.layers = Layers;
  recompute_all(sc);
}
void many_micro_batches(Scenario& sc) {
  sc.recipe.global_batch = 19 * sc.recipe.micro_batch * sc.layout.dp;
}

constexpr auto kGathered = costmodel::ContextKind::AllGather;
constexpr auto kExchanged = costmodel::ContextKind::AllToAll;
constexpr auto kZb = ScheduleKind::ZbH1;
constexpr auto kDual = ScheduleKind::DualPipe;
constexpr auto kVirtual = ScheduleKind::Interleaved;

}  // namespace

Scenario LayoutCase::scenario() const {
  Scenario sc = tiny_scenario(layout);
  change(sc);
  return sc;
}

const std::vector<LayoutCase>& layout_cases() {
  static const std::vector<LayoutCase> kCases{
      {"one_rank", {}},
      {"one_rank_two_sequences", {}, two_sequences},
      {"one_rank_fp32", {}, fp32},
      {"one_rank_recomputed", {}, recompute_all},
      {"one_rank_selective", {}, recompute_attention},
      {"one_rank_one_layer_recomputed", {}, recompute_one},
      {"tp2", {.tp = 2}},
      {"tp2_sp", {.tp = 2, .sp = true}},
      {"tp4_more_than_kv_heads", {.tp = 4}, recompute_all},
      {"tp8_sp", {.tp = 8, .sp = true}},
      {"tp2_sp_recomputed", {.tp = 2, .sp = true}, recompute_all},
      {"tp4_sp_selective", {.tp = 4, .sp = true}, recompute_attention},
      {"tp2_sp_fp32", {.tp = 2, .sp = true}, fp32},
      {"dp4", {.dp = 4}},
      {"zero1", {.dp = 4, .sharding = {.stage = 1}}},
      {"zero2", {.dp = 4, .sharding = {.stage = 2}}},
      {"zero3", {.dp = 4, .sharding = {.stage = 3}}},
      {"zero3_recomputed", {.dp = 2, .sharding = {.stage = 3}}, recompute_all},
      {"zero3_hybrid", {.dp = 4, .sharding = {.stage = 3, .group = 2}}},
      {"zero1_hybrid", {.dp = 4, .sharding = {.stage = 1, .group = 2}}},
      {"zero1_by_3", {.dp = 3, .sharding = {.stage = 1}}, batch_of_six},
      {"zero3_by_3", {.dp = 3, .sharding = {.stage = 3}}, batch_of_six},
      {"zero2_tp2_sp", {.dp = 2, .tp = 2, .sp = true, .sharding = {.stage = 2}}},
      {"zero3_tp4", {.dp = 2, .tp = 4, .sharding = {.stage = 3}}},
      {"gpipe", {.pp = 2, .schedule = ScheduleKind::GPipe}},
      {"pp4", {.pp = 4}},
      {"pp2_uneven", {.pp = 2}, uneven_stages},
      {"pp4_more_stages_than_micro_batches", {.dp = 4, .pp = 4}, two_sequences},
      {"interleaved", {.pp = 2, .vpp = 2, .schedule = kVirtual}},
      {"interleaved_sp_recomputed",
       {.tp = 2, .pp = 2, .vpp = 2, .sp = true, .schedule = kVirtual},
       recompute_all},
      {"zb_h1", {.pp = 2, .schedule = kZb}},
      {"zb_h1_four_stages_tp2", {.tp = 2, .pp = 4, .schedule = kZb}},
      {"zb_h1_sp_zero2", {.dp = 2, .tp = 2, .pp = 2, .sp = true, .sharding = {.stage = 2}, .schedule = kZb}},
      {"zb_h1_recomputed", {.pp = 2, .schedule = kZb}, recompute_one},
      {"zbv", {.pp = 2, .schedule = ScheduleKind::Zbv}},
      {"zbv_tied", {.pp = 2, .schedule = ScheduleKind::Zbv}, tie},
      {"zb_h1_zero3_recomputed",
       {.dp = 2, .pp = 2, .sharding = {.stage = 3}, .schedule = kZb},
       recompute_all},
      {"zb_h1_many_micro_batches", {.pp = 2, .schedule = kZb}, many_micro_batches},
      {"zb_2p", {.pp = 4, .schedule = ScheduleKind::Zb2p}},
      {"zb_2p_zero2_sp",
       {.dp = 2, .tp = 2, .pp = 2, .sp = true, .sharding = {.stage = 2}, .schedule = ScheduleKind::Zb2p}},
      {"zbv_zero3_recomputed",
       {.dp = 2, .pp = 2, .sharding = {.stage = 3}, .schedule = ScheduleKind::Zbv},
       recompute_all},
      {"v_half", {.pp = 2, .schedule = ScheduleKind::VHalf}},
      {"v_half_four_stages_recomputed", {.pp = 4, .schedule = ScheduleKind::VHalf}, layers_recomputed<8>},
      {"dualpipe_v", {.pp = 2, .schedule = ScheduleKind::DualPipeV}},
      {"dualpipe_v_zero3_recomputed",
       {.dp = 2, .pp = 2, .sharding = {.stage = 3}, .schedule = ScheduleKind::DualPipeV},
       recompute_all},
      {"dualpipe", {.pp = 2, .schedule = kDual}},
      {"dualpipe_four_stages_tp2_sp", {.tp = 2, .pp = 4, .sp = true, .schedule = kDual}, recompute_one},
      {"dualpipe_tied", {.pp = 2, .schedule = kDual}, tie},
      {"dualpipe_odd_micro_batches_zero1",
       {.dp = 2, .pp = 2, .sharding = {.stage = 1}, .schedule = kDual},
       many_micro_batches},
      {"dualpipe_zero2_uneven",
       {.dp = 2, .pp = 2, .sharding = {.stage = 2}, .schedule = kDual},
       uneven_stages},
      {"dualpipe_zero3_recomputed",
       {.dp = 2, .pp = 2, .sharding = {.stage = 3}, .schedule = kDual},
       recompute_all},
      {"dualpipe_zero3_reduced_once_tied",
       {.dp = 2, .pp = 2, .sharding = {.stage = 3}, .schedule = kDual},
       [](Scenario& sc) {
         reduce_once(sc);
         tie(sc);
       }},
      {"dualpipe_zero1_hybrid_ring",
       {.dp = 2, .cp = 2, .pp = 2, .sharding = {.stage = 1, .group = 2}, .schedule = kDual}},
      {"dualpipe_lora", {.pp = 2, .schedule = kDual}, adapt},
      {"dualpipe_experts_ep2", {.dp = 2, .pp = 4, .ep = 2, .schedule = kDual}, experts_and_shared},
      {"dualpipe_first_layer_dense", {.dp = 2, .pp = 2, .ep = 2, .schedule = kDual}, first_layer_dense},
      {"interleaved_by_3", {.pp = 2, .vpp = 3, .schedule = kVirtual}, layers<6>},
      {"interleaved_by_4_zero2",
       {.dp = 2, .pp = 2, .vpp = 4, .sharding = {.stage = 2}, .schedule = kVirtual},
       layers<8>},
      {"lora", {}, adapt},
      {"lora_tp4_sp_pp2", {.tp = 4, .pp = 2, .sp = true}, adapt},
      {"lora_zero3_zb_h1", {.dp = 2, .pp = 2, .sharding = {.stage = 3}, .schedule = kZb}, adapt},
      {"lora_qv_zero1_recomputed", {.dp = 2, .sharding = {.stage = 1}}, adapt_queries_and_values},
      {"dora", {}, learn_magnitudes},
      {"dora_pp2", {.pp = 2}, learn_magnitudes},
      {"dora_tp2", {.tp = 2}, learn_magnitudes},
      {"dora_tp4_sp_pp2", {.tp = 4, .pp = 2, .sp = true}, learn_magnitudes},
      {"dora_tp2_zero3_recomputed",
       {.dp = 2, .tp = 2, .sharding = {.stage = 3}},
       [](Scenario& sc) {
         learn_magnitudes(sc);
         recompute_all(sc);
       }},
      {"dora_zero3_zb_h1", {.dp = 2, .pp = 2, .sharding = {.stage = 3}, .schedule = kZb}, learn_magnitudes},
      {"dora_qv_zero1_recomputed", {.dp = 2, .sharding = {.stage = 1}}, learn_magnitudes_recomputed},
      {"ia3", {}, scale},
      {"ia3_tp4_sp_pp2", {.tp = 4, .pp = 2, .sp = true}, scale},
      {"ia3_zero3_zb_h1", {.dp = 2, .pp = 2, .sharding = {.stage = 3}, .schedule = kZb}, scale},
      {"ia3_zero1_recomputed", {.dp = 2, .sharding = {.stage = 1}}, scale_recomputed},
      {"chunked_loss", {}, chunked_loss},
      {"chunked_loss_ragged", {}, ragged_chunks},
      {"chunked_loss_tp2_sp_pp2_zero3",
       {.dp = 2, .tp = 2, .pp = 2, .sp = true, .sharding = {.stage = 3}},
       chunked_loss},
      {"chunked_loss_ragged_tp2", {.tp = 2}, ragged_chunks},
      {"unfused_loss_tp2", {.tp = 2}, unfused_loss},
      {"scores_stored", {}, scores_stored},
      {"scores_stored_tp4_sp_selective", {.tp = 4, .sp = true}, scores_stored_selective},
      {"scores_stored_pp2_capped_recomputed", {.pp = 2}, scores_stored_step_by_step},
      {"scores_stored_alltoall", {.cp = 2, .context = kExchanged}, scores_stored},
      {"scores_stored_latent_tp2", {.tp = 2}, latent_scores_stored},
      {"dropout_tp2_sp_pp2", {.tp = 2, .pp = 2, .sp = true}, dropout},
      {"dropout_zero3_recomputed", {.dp = 2, .sharding = {.stage = 3}}, dropout_recomputed},
      {"dropout_alltoall", {.dp = 2, .cp = 2, .context = kExchanged}, dropout},
      {"dropout_zb_h1_tp2", {.tp = 2, .pp = 2, .schedule = kZb}, dropout_recomputed},
      {"dropout_of_stored_scores_tp2_sp", {.tp = 2, .sp = true}, dropout_of_stored_scores},
      {"dropout_of_experts_ep2", {.dp = 2, .ep = 2}, dropout_of_experts},
      {"operators_recomputed", {}, recompute_operators},
      {"operators_recomputed_tp2_sp_pp2", {.tp = 2, .pp = 2, .sp = true}, recompute_operators},
      {"operators_recomputed_ring", {.cp = 4}, recompute_operators},
      {"operators_recomputed_experts_ep2_etp2",
       {.dp = 2, .tp = 2, .ep = 2, .sp = true},
       operators_of_experts},
      {"zero3_offloaded", {.dp = 2, .tp = 2, .sp = true, .sharding = {.stage = 3}}, offload_everything},
      {"zero2_half_on_disks", {.dp = 2, .sharding = {.stage = 2}}, offload_half_to_disks},
      {"zero3_second_copy", {.dp = 4, .sharding = {.stage = 3, .hpz = 2}}},
      {"zero3_reduced_once", {.dp = 2, .tp = 2, .sp = true, .sharding = {.stage = 3}}, reduce_once},
      {"zero3_reduced_once_zb_h1_tied",
       {.dp = 2, .pp = 2, .sharding = {.stage = 3}, .schedule = kZb},
       [](Scenario& sc) {
         reduce_once(sc);
         tie(sc);
       }},
      {"zero3_reduced_once_dualpipe_v",
       {.dp = 2, .pp = 2, .sharding = {.stage = 3}, .schedule = ScheduleKind::DualPipeV},
       reduce_once},
      {"zero3_reduced_once_tied",
       {.dp = 2, .sharding = {.stage = 3}},
       [](Scenario& sc) {
         reduce_once(sc);
         tie(sc);
       }},
      {"zero3_replicas_once",
       {.dp = 4, .sharding = {.stage = 3, .group = 2}},
       [](Scenario& sc) { sc.recipe.execution.reduction = costmodel::GradientReduction::ReplicasOnce; }},
      {"cut_checkpoints", {.tp = 2, .pp = 2, .partition_activations = true}, recompute_all},
      {"ring", {.cp = 2}},
      {"ring_of_four_selective", {.cp = 4}, recompute_attention},
      {"ring_sp_recomputed", {.tp = 2, .cp = 2, .sp = true}, recompute_all},
      {"ring_zero3", {.dp = 2, .cp = 2, .sharding = {.stage = 3}}},
      {"gathered_keys", {.cp = 2, .context = kGathered}},
      {"gathered_keys_zero2_pp2", {.cp = 2, .pp = 2, .sharding = {.stage = 2}, .context = kGathered}},
      {"experts", {}, experts},
      {"experts_ep2", {.dp = 2, .ep = 2}, experts},
      {"experts_ep2_etp2", {.dp = 2, .tp = 2, .ep = 2, .sp = true}, experts_and_shared},
      {"experts_ep4_etp1", {.dp = 2, .tp = 2, .ep = 4, .etp = 1, .sp = true}, experts},
      {"experts_ep2_ring_recomputed", {.cp = 2, .ep = 2}, experts_recomputed},
      {"experts_zb_h1", {.dp = 2, .pp = 2, .ep = 2, .schedule = kZb}, experts_and_shared},
      {"experts_zb_h1_without_shared_ones", {.dp = 2, .pp = 2, .ep = 2, .schedule = kZb}, experts},
      {"experts_zero3", {.dp = 4, .ep = 2, .sharding = {.stage = 3}}, first_layer_dense},
      {"experts_zero1", {.dp = 4, .ep = 2, .sharding = {.stage = 1}}, first_layer_dense},
      {"all", {.dp = 2, .tp = 2, .pp = 2, .sp = true, .sharding = {.stage = 1}}},
      {"tied", {.tp = 2}, tie},
      {"tied_pp2", {.pp = 2}, tie},
      {"tied_zero3", {.dp = 2, .sharding = {.stage = 3}}, tie},
      {"tied_zero3_pp2_tp2_sp", {.dp = 2, .tp = 2, .pp = 2, .sp = true, .sharding = {.stage = 3}}, tie},
  };
  return kCases;
}

}  // namespace hexaplan::tests
