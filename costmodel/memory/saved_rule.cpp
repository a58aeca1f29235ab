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
};

bool is_all_of(const Scenario& sc, std::uint16_t cases) {
  for (unsigned left = cases; left != 0; left &= left - 1) {
    if (!kCases[static_cast<std::size_t>(std::countr_zero(left))](sc)) return false;
  }
  return true;
}

/// Norms that are several operations are an affair of RMSNorm: PyTorch's own layer_norm is one kernel, which
/// keeps its input once.
SavedRule of_norm(const Scenario& sc, Saved tensor, const SavedRule& rule) {
  if (sc.model.norm != NormKind::Layer) return rule;
  if (casts_automatically(sc) && tensor == Saved::NormInput) return {.fp32 = 1};
  if (casts_automatically(sc)) return {.compute = 1};  // cast for the matrix that reads it
  return {.compute = std::min(1.0, rule.compute + rule.fp32)};
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
