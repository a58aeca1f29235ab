#include "costmodel/program/techniques.h"

#include <array>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/saved_rule.h"
#include "costmodel/parameters/trained_elements.h"
#include "costmodel/spec/local_dims.h"

namespace hexaplan::costmodel::program {
namespace {

struct Gap {
  std::string_view what;
  bool (*asked)(const Scenario&);
};

Keeping keeping_of(const Scenario& sc) {
  if (sc.framework.keeps_what_backward_reads) return {};
  return {.by_rules = true, .of = saved_rules(sc)};
}

Adapters adapters_of(const Scenario& sc) {
  if (!trains_adapters(sc.recipe)) return {};
  Adapters out{.frozen = true,
               .operations = adapters_are_operations(sc),
               .in_4_bits = adapters_are_operations(sc) && sc.recipe.fine_tune == FineTune::Qlora,
               .in_8_bits = sc.recipe.fine_tune == FineTune::Lora8bit,
               .scale = sc.recipe.fine_tune == FineTune::Ia3,
               .magnitudes = learns_magnitudes(sc.recipe),
               .weight_bytes = sc.framework.dora_weight_bytes,
               .identity_bytes = sc.framework.dora_identity_bytes,
               .layers = {},
               .keeps_input = {},
               .trained = {}};
  const bool keeps_inputs =
      out.in_8_bits || (sc.recipe.fine_tune == FineTune::Qlora && sc.framework.four_bit_keeps_inputs);
  for (std::size_t i = 0; i < out.layers.size(); ++i) {
    const auto parameter = static_cast<Parameter>(i);
    const std::string_view name = name_of(parameter);
    out.layers[i] = static_cast<std::uint8_t>(adapters_beside(sc, name, linear_layers_in(parameter)));
    out.keeps_input[i] = keeps_inputs && !is_expert_parameter(sc, name);
    out.trained[i] = own_share(sc, name) > 0;
  }
  return out;
}

/// What scenarios can say and the replay of whole steps does not describe yet.
constexpr std::array kGaps{
    // Frameworks copy beside the passes, some layers ahead: their ledgers say how many are there at once.
    Gap{"offloading of activations beside the passes",
        [](const Scenario& s) {
          return (s.recipe.offload & kOffloadActivations) != 0 && !s.framework.replays_parameters;
        }},
    Gap{"vocabulary parallelism over stages",
        [](const Scenario& s) { return s.layout.vocab != VocabParallel::LastStage; }},
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

bool keeps_masks(const Techniques& t) {
  return t.keeps.by_rules && t.keeps.of[position(Saved::AttentionMask)] != SavedRule{};
}

Techniques of_layer(Techniques t, LayerClass kind) {
  if (!kind.windowed) t.keeps.of[position(Saved::AttentionMask)] = {};
  return t;
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
  t.pads_experts = costmodel::pads_experts(sc);
  t.sums_choices = sc.framework.counts_choices;
  t.loss_reductions = static_cast<int>(sc.framework.loss_reductions);
  // What other profiles hold of a chunked loss are rules (append_loss_entries).
  if (sc.framework.keeps_what_backward_reads && sc.recipe.cross_entropy == CrossEntropy::Chunked)
    t.loss_chunks = static_cast<int>(loss_chunks(sc, local_dims(sc)).count);
  t.quantises = is_quantized(sc.recipe.precision);
  t.scales_blocks = sc.recipe.precision == Precision::Mxfp8 || sc.recipe.precision == Precision::Fp8Block;
  t.keeps_original_inputs = t.quantises && sc.framework.keeps_original_inputs;
  t.stores_scores = stores_scores(sc.recipe.attention);
  // What other profiles keep are rules.
  t.keeps_capped_scores =
      t.stores_scores && sc.framework.keeps_what_backward_reads && sc.model.attention.softcap > 0;
  t.autocasts = casts_automatically(sc);
  t.drops_out = sc.recipe.dropout > 0;
  t.adapters = adapters_of(sc);
  t.attention_entries = static_cast<std::int16_t>(sc.framework.attention_entries);
  t.mlp_entries = static_cast<std::int16_t>(sc.model.mlp.gated ? sc.framework.mlp_entries : 1);
  t.gathers_inputs_again = !sc.framework.gather_saved_inputs;
  t.stops_recomputing_early = sc.framework.recompute_stops_early;
  t.separate_projections = sc.framework.separate_projections;
  t.buffers_weight_gradients = !t.adapters.frozen && sc.framework.weight_gradient_temporary_bytes > 0;
  t.shares_gather_buffers = sc.framework.sp_gather_buffers > 0;
  t.keeps = keeping_of(sc);
  t.recomputed = recomputed_of(sc.recipe.recompute, whole_layer_recomputed);
  if (t.recomputed == Recomputed::Modules) {
    const Recompute& r = sc.recipe.recompute;
    t.modules = r.mode == RecomputeMode::Selective ? std::uint16_t{kRecomputeCoreAttention} : r.modules;
  }
  return t;
}

}  // namespace hexaplan::costmodel::program
