#include "costmodel/program/techniques.h"

#include <array>

namespace hexaplan::costmodel::program {
namespace {

struct Gap {
  std::string_view what;
  bool (*asked)(const Scenario&);
};
/// What scenarios can say and the program does not describe yet.
constexpr std::array kGaps{
    Gap{"dropout", [](const Scenario& s) { return s.recipe.dropout > 0; }},
    Gap{"attention that stores its scores",
        [](const Scenario& s) { return s.recipe.attention != AttentionKernel::Flash; }},
    Gap{"casts of 8-bit and 4-bit precisions",
        [](const Scenario& s) { return is_quantized(s.recipe.precision); }},
    Gap{"adapters", [](const Scenario& s) { return trains_adapters(s.recipe); }},
    Gap{"offloading", [](const Scenario& s) { return s.recipe.offload != 0; }},
    Gap{"chunked loss", [](const Scenario& s) { return s.recipe.cross_entropy == CrossEntropy::Chunked; }},
    Gap{"recomputation by operator",
        [](const Scenario& s) { return s.recipe.recompute.mode == RecomputeMode::SelectiveOperators; }},
    Gap{"norms written out", [](const Scenario& s) { return !s.recipe.fused_norm; }},
    Gap{"a block without a norm before its MLP",
        [](const Scenario& s) { return s.model.norms_per_layer < 2 && !s.model.parallel_residual; }},
    Gap{"multi-token prediction", [](const Scenario& s) { return s.model.mtp_layers > 0; }},
    Gap{"uneven routing",
        [](const Scenario& s) {
          return s.recipe.routing.imbalance != 1 || s.recipe.routing.capacity_factor > 0;
        }},
    Gap{"vocabulary parallelism over stages",
        [](const Scenario& s) { return s.layout.vocab != VocabParallel::LastStage; }},
    Gap{"partitioned activations", [](const Scenario& s) { return s.layout.partition_activations; }},
};

Recomputed recomputed_of(const Recompute& recompute, bool whole_layer) {
  if (whole_layer) return Recomputed::Everything;
  switch (recompute.mode) {
    case RecomputeMode::Selective:
    case RecomputeMode::SelectiveModules:
      return Recomputed::Modules;
    case RecomputeMode::SelectiveOperators:
      return Recomputed::Operators;
    default:
      return Recomputed::Nothing;
  }
}

}  // namespace

std::optional<std::string_view> first_gap(const Scenario& sc) {
  for (const Gap& gap : kGaps) {
    if (gap.asked(sc)) return gap.what;
  }
  return std::nullopt;
}

Techniques techniques_of(const Scenario& sc, bool whole_layer_recomputed) {
  const Layout& l = sc.layout;
  Techniques t;
  t.tensor = l.tp > 1;
  t.sequence = l.sp && l.tp > 1;
  t.context_ranks = l.cp;
  t.context = l.context;
  t.exchanges_experts = sc.model.is_moe() && l.ep > 1;
  t.cuts_experts = sc.model.is_moe() && l.expert_tensor() > 1;
  t.sums_choices = sc.framework.explicit_step;
  t.loss_reductions = sc.framework.explicit_step ? 2 : 3;
  t.quantises = is_quantized(sc.recipe.precision);
  t.gathers_inputs_again = !sc.framework.gather_saved_inputs;
  t.stops_recomputing_early = sc.framework.recompute_stops_early;
  t.recomputed = recomputed_of(sc.recipe.recompute, whole_layer_recomputed);
  if (t.recomputed == Recomputed::Modules) {
    const Recompute& r = sc.recipe.recompute;
    t.modules = r.mode == RecomputeMode::Selective ? std::uint16_t{kRecomputeCoreAttention} : r.modules;
  }
  return t;
}

}  // namespace hexaplan::costmodel::program
