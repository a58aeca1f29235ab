#include "costmodel/memory/saved_rule.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "costmodel/memory/layer_ledger.h"

namespace hexaplan::costmodel {
namespace {

/// By SavedCase.
constexpr std::array<bool (*)(const Scenario&), kSavedCases> kCases{
    [](const Scenario& s) { return casts_automatically(s); },
    [](const Scenario& s) { return s.recipe.execution.compiled == false; },
    [](const Scenario& s) { return stores_scores(s.recipe.attention); },
    [](const Scenario& s) { return stores_scores(s.recipe.attention) && s.model.attention.softcap > 0; },
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
    [](const Scenario& s) { return s.model.norm == NormKind::Rms; },
    // A checkpoint of PyTorch breaks the graph at every layer: Llama-3.1-8B so took 674 ms compiled and 637
    // in eager mode (stas00/ml-engineering@7dd12b5 training/performance/benchmarks/torch-compile-bench.py).
    [](const Scenario& s) { return s.recipe.execution.compiled == true && !s.recipe.recompute.of_layers(); },
    [](const Scenario& s) { return learns_magnitudes(s.recipe); },
    [](const Scenario& s) { return s.recipe.fine_tune == FineTune::Lora8bit; },
    [](const Scenario& s) { return s.model.attention.packed; },
    [](const Scenario& s) { return s.model.mlp.packed; },
    [](const Scenario& s) { return s.model.positions == PositionKind::Rotary; },
    [](const Scenario& s) { return s.model.positions == PositionKind::Rotary && s.model.rotary.share < 1; },
    [](const Scenario& s) { return s.model.attention.kv_heads < s.model.attention.heads; },
    [](const Scenario& s) { return s.model.attention.kv_heads == 1; },
    [](const Scenario& s) {
      const ModelSpec& m = s.model;
      return m.norm == NormKind::Rms && m.norms_per_layer == 4 && !m.zero_centered_norm;
    },
    [](const Scenario& s) { return s.model.norms_per_layer == 1; },
    [](const Scenario& s) { return s.model.norm == NormKind::Layer && s.model.composed_norm; },
    [](const Scenario& s) { return s.model.is_moe(); },
    [](const Scenario& s) { return s.model.is_moe() && s.model.moe.shared_ffn > 0; },
};

bool is_all_of(const Scenario& sc, SavedCases cases) {
  for (SavedCases left = cases; left != 0; left &= left - 1) {
    if (!kCases[static_cast<std::size_t>(std::countr_zero(left))](sc)) return false;
  }
  return true;
}

/// PyTorch's own layer_norm is one kernel, which keeps its input once; RMSNorms and Cohere's are several
/// operations.
SavedRule of_norm(const Scenario& sc, Saved tensor, const SavedRule& rule) {
  if (sc.model.norm != NormKind::Layer || sc.model.composed_norm) return rule;
  if (casts_automatically(sc) && tensor == Saved::NormInput) return {.fp32 = 1};
  if (casts_automatically(sc)) return {.compute = rule.compute};  // cast for every matrix that reads it
  return {.compute = std::min(1.0, rule.compute + rule.fp32)};
}

/// Windows are shorter than the sequence, and no kernel is asked for that knows them.
bool masks_windows(const Scenario& sc) {
  const std::int64_t window = sc.model.attention.window;
  return sc.recipe.attention == AttentionKernel::Flash && window > 0 && window < sc.recipe.sequence;
}

}  // namespace

std::array<SavedRule, kSavedCount> saved_rules(const Scenario& sc) {
  std::array<SavedRule, kSavedCount> rules = sc.framework.saved;
  for (const SavedOverride& o : sc.framework.saved_when) {
    if (is_all_of(sc, o.cases)) rules[static_cast<std::size_t>(o.tensor)] = o.rule;
  }
  for (const Saved norm : {Saved::NormInput, Saved::NormOutput}) {
    SavedRule& rule = rules[static_cast<std::size_t>(norm)];
    rule = of_norm(sc, norm, rule);
  }
  if (!masks_windows(sc)) rules[static_cast<std::size_t>(Saved::AttentionMask)] = {};
  return rules;
}

bool compiles_layers(const Scenario& sc) {
  return sc.recipe.execution.compiled.value_or(sc.framework.compiles_layers);
}

const ElementwiseRule& elementwise_rule(const Scenario& sc, Elementwise step) {
  const auto& when = sc.framework.elementwise_when;
  const auto last = std::find_if(when.rbegin(), when.rend(), [&](const ElementwiseOverride& o) {
    return o.step == step && is_all_of(sc, o.cases);
  });
  return last != when.rend() ? last->rule : sc.framework.elementwise[static_cast<std::size_t>(step)];
}

}  // namespace hexaplan::costmodel
