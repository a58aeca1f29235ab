#include "tests/costmodel/program/program_scenarios.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "costmodel/program/techniques.h"
#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "presets/catalog/catalog.h"
#include "presets/scenario/scenario_request.h"
#include "tests/support/random_scenario.h"

namespace hexaplan::costmodel::program {
namespace {

template <class T>
T one_of(std::initializer_list<T> values) {
  return *rc::gen::elementOf(std::vector<T>(values));
}
bool chance(int percent) {
  return *rc::gen::inRange(0, 100) < percent;
}

const FrameworkProfile& executor_profile() {
  static const FrameworkProfile profile = presets::look_up_framework("hexaplan");
  return profile;
}

ModelSpec dense_model() {
  ModelSpec m;
  m.name = "random";
  m.layers = 8 * one_of<std::int64_t>({1, 2, 3, 4}) + one_of<std::int64_t>({0, 0, 0, 1, 5});
  m.hidden = 256 * one_of<std::int64_t>({2, 4, 8, 21});
  m.vocab = one_of<std::int64_t>({1000, 32000, 128256});
  m.attention.heads = one_of<std::int64_t>({8, 16, 32, 64});
  m.attention.kv_heads = one_of<std::int64_t>({8, 8, 4, 2});
  m.attention.head_dim = m.attention.v_head_dim = one_of<std::int64_t>({64, 128});
  m.attention.qkv_bias = chance(20);
  if (chance(15)) m.attention.window = 512;
  if (chance(50)) m.attention.global_period = 2;
  m.mlp.ffn = 688 * one_of<std::int64_t>({4, 8, 16});
  m.mlp.gated = chance(80);
  m.tied_embeddings = chance(30);
  return m;
}

Layout random_cut() {
  Layout l;
  l.tp = one_of({1, 2, 4, 8});
  l.sp = l.tp > 1 && chance(60);
  l.pp = one_of({1, 1, 2, 3, 4});
  l.dp = one_of({1, 2, 4, 8});
  l.cp = one_of({1, 1, 1, 2, 3, 4});
  l.context = one_of({ContextKind::Ring, ContextKind::AllGather});
  l.sharding.stage = one_of({0, 1, 2, 3});
  if (l.pp > 1) {
    l.schedule = one_of({ScheduleKind::OneFOneB, ScheduleKind::GPipe, ScheduleKind::Interleaved,
                         ScheduleKind::ZbH1, ScheduleKind::Zb2p, ScheduleKind::Zbv, ScheduleKind::VHalf,
                         ScheduleKind::DualPipe, ScheduleKind::DualPipeV});
  }
  if (l.schedule == ScheduleKind::Interleaved) l.vpp = one_of({2, 3});
  l.split =
      one_of({StageSplit::Even, StageSplit::Even, StageSplit::ComputeCost, StageSplit::EmbeddingCounts});
  const int ranks = l.dp * l.cp;
  if (ranks % 2 == 0 && chance(20)) l.sharding.group = ranks / 2;
  return l;
}

Recompute random_recomputation() {
  Recompute r;
  r.mode =
      one_of({RecomputeMode::None, RecomputeMode::Selective, RecomputeMode::Full, RecomputeMode::Layers});
  if (r.mode == RecomputeMode::Layers) r.layers = one_of({1, 2, 3});
  return r;
}

Scenario accepted(Scenario s) {
  s.framework = executor_profile();
  const Layout& l = s.layout;
  const std::int64_t pieces = std::int64_t{2} * l.cp * l.tp;
  s.recipe.sequence = pieces * 128 * one_of<std::int64_t>({1, 2, 3});
  s.recipe.micro_batch = one_of<std::int64_t>({1, 2, 3});
  s.recipe.global_batch = s.recipe.micro_batch * l.dp * l.pp * one_of<std::int64_t>({1, 2, 3, 7});
  s.recipe.recompute = random_recomputation();
  s.cluster = support::random_cluster(l.world_size());
  RC_PRE(!first_rejection(s).has_value());
  RC_PRE(!first_gap(s).has_value());
  return s;
}

MoeSpec random_experts() {
  MoeSpec moe;
  moe.experts = one_of<std::int64_t>({8, 16, 32});
  moe.top_k = one_of<std::int64_t>({1, 2, 4});
  moe.expert_ffn = 128 * one_of<std::int64_t>({1, 3, 8});
  moe.shared_ffn = chance(50) ? 128 * one_of<std::int64_t>({2, 6}) : 0;
  moe.first_k_dense = chance(40) ? one_of<std::int64_t>({1, 3}) : 0;
  return moe;
}

/// The ranks of a stage over experts; without SP, tensor-parallel ranks route the same tokens.
void cut_experts(Layout& l) {
  l.etp = one_of({1, 2, 0});
  const int ranks = l.dp * l.cp * l.tp;
  l.ep = one_of({1, 2, 4, 8});
  RC_PRE(ranks % (l.ep * l.expert_tensor()) == 0);
  RC_PRE(l.tp == 1 || l.sp);
}

/// Some experts have a capacity, that tokens are beyond or not, or are padded to it.
void limit_experts(Recipe& r) {
  if (chance(60)) return;
  r.routing.capacity_factor = one_of({0.5, 0.75, 1.5});
  r.routing.pad_to_capacity = chance(50);
}

}  // namespace

Scenario dense_scenario() {
  Scenario s;
  s.model = dense_model();
  s.layout = random_cut();
  return accepted(std::move(s));
}

Scenario moe_scenario() {
  Scenario s;
  s.model = dense_model();
  s.model.moe = random_experts();
  s.layout = random_cut();
  cut_experts(s.layout);
  s = accepted(std::move(s));
  limit_experts(s.recipe);
  return s;
}

Scenario with_recomputed_modules(Scenario s) {
  s.recipe.recompute = {.mode = RecomputeMode::SelectiveModules};
  s.recipe.recompute.modules = static_cast<std::uint16_t>(*rc::gen::inRange(1, 256));
  return s;
}

Scenario framework_scenario() {
  static const std::vector<std::string> names = presets::list_presets(presets::PresetKind::Framework);
  Scenario s;
  s.model = dense_model();
  s.model.attention.qk_norm = chance(25);
  if (chance(25)) s.model.norm = NormKind::Layer;
  if (chance(20)) s.model.attention = support::latent_attention(s.model.attention.heads);
  s.layout = random_cut();
  if (chance(30)) {
    s.model.moe = random_experts();
    cut_experts(s.layout);
  }
  s = accepted(std::move(s));
  if (s.model.is_moe()) limit_experts(s.recipe);
  if (chance(30)) s = with_recomputed_modules(std::move(s));
  if (chance(25)) s.recipe.dropout = 0.1;
  if (chance(25)) s.recipe.attention = one_of({AttentionKernel::FusedSoftmax, AttentionKernel::Unfused});
  // Where experts or latents read an input as well, casts and frozen matrices keep more than the rules say.
  const bool plain = s.model.attention.kind == AttentionKind::Grouped && !s.model.is_moe();
  if (plain && chance(20)) s.recipe.precision = one_of({Precision::Fp8, Precision::Fp8Block});
  // … and what runs again, or what a fused kernel alone reads, keeps other inputs of frozen matrices.
  const bool keeps_all = s.recipe.recompute.mode == RecomputeMode::None &&
                         s.recipe.attention == AttentionKernel::Flash && !is_quantized(s.recipe.precision);
  if (plain && keeps_all && s.layout.tp == 1 && chance(40)) {
    s.recipe.fine_tune = one_of({FineTune::Lora, FineTune::Qlora});
    s.recipe.lora_targets =
        one_of({AdapterTargets::AllLinear, AdapterTargets::Attention, AdapterTargets::Mlp});
  }
  s.framework = presets::look_up_framework(*rc::gen::elementOf(names));
  RC_PRE(!first_rejection(s).has_value());
  RC_PRE(!first_gap(s).has_value());
  return s;
}

Scenario latent_scenario() {
  Scenario s;
  s.model = dense_model();
  s.model.attention = support::latent_attention(s.model.attention.heads);
  s.layout = random_cut();
  if (chance(50)) {
    s.model.moe = random_experts();
    cut_experts(s.layout);
  }
  return accepted(std::move(s));
}

}  // namespace hexaplan::costmodel::program
