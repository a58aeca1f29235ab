#include "costmodel/program/techniques.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/saved_tensors.h"

namespace hexaplan::costmodel::program {
namespace {

struct Gap {
  std::string_view what;
  bool (*asked)(const Scenario&);
};
KeptCopies copies_of(const SavedRule& rule) {
  return {.compute = static_cast<std::uint8_t>(rule.compute), .fp32 = static_cast<std::uint8_t>(rule.fp32)};
}

Keeping keeping_of(const Scenario& sc) {
  if (sc.framework.explicit_step) return {};  // what backward reads, queries, keys and values in one buffer
  Keeping k{.norm_input = copies_of(saved_rule(sc, Saved::NormInput)),
            .norm_output = copies_of(saved_rule(sc, Saved::NormOutput)),
            .query_key_norm_input = copies_of(saved_rule(sc, Saved::QkNormInput)),
            .attention_output = copies_of(saved_rule(sc, Saved::AttentionOutput)),
            .layer_output = copies_of(saved_rule(sc, Saved::LayerOutput)).compute,
            .repeats_keys = saved_rule(sc, Saved::RepeatedKeyValue).compute > 0,
            .gate_activation = saved_rule(sc, Saved::ActivationInner).compute > 0,
            .expert_output = saved_rule(sc, Saved::ExpertOutput).compute > 0};
  k.query_key_norm_input.apart = true;
  return k;
}

/// Copies that the program has of a value, and the most that it can be told to have.
struct SayableRow {
  Saved id;
  SavedRule least{}, most{};
};
constexpr SavedRule kOnce{.compute = 1};
constexpr SavedRule kOnceFp32{.fp32 = 1};
constexpr SavedRule kTwiceEither{.compute = 2, .fp32 = 1};
constexpr std::array kSayable{
    SayableRow{Saved::NormInput, {}, kTwiceEither},
    SayableRow{Saved::NormOutput, kOnce, kTwiceEither},
    SayableRow{Saved::NormStats, kOnceFp32, kOnceFp32},
    SayableRow{Saved::QkNormInput, kOnce, kTwiceEither},
    SayableRow{Saved::RopeInput},
    SayableRow{Saved::Query, kOnce, kOnce},
    SayableRow{Saved::Key, {}, kOnce},
    SayableRow{Saved::Value, {}, kOnce},
    SayableRow{Saved::RepeatedKeyValue, {}, kOnce},
    SayableRow{Saved::LogSumExp, kOnceFp32, kOnceFp32},
    SayableRow{Saved::AttentionOutput, kOnce, {.compute = 2}},
    SayableRow{Saved::LatentQuery, kOnce, kOnce},
    SayableRow{Saved::LatentKeyValue, kOnce, kOnce},
    SayableRow{Saved::LatentNormOutput, kOnce, kOnce},
    SayableRow{Saved::GateUp, kOnce, kOnce},
    SayableRow{Saved::ActivationOutput, kOnce, kOnce},
    SayableRow{Saved::ActivationInner, {}, kOnce},
    SayableRow{Saved::RouterLogits, kOnceFp32, kOnceFp32},
    SayableRow{Saved::RoutingMap, {.fp32 = 2}, {.fp32 = 2}},
    SayableRow{Saved::ExpertInput, kOnce, kOnce},
    SayableRow{Saved::ExpertGateUp, kOnce, kOnce},
    SayableRow{Saved::ExpertActivation, kOnce, kOnce},
    SayableRow{Saved::ExpertOutput, {}, kOnce},
    SayableRow{Saved::SharedGateUp, kOnce, kOnce},
    SayableRow{Saved::SharedActivation, kOnce, kOnce},
    SayableRow{Saved::LayerOutput, {}, {.compute = 2}},
    SayableRow{Saved::KeyValueUp},
    SayableRow{Saved::RouterInput},
    SayableRow{Saved::ExpertInner},
    SayableRow{Saved::SharedInner},
};

bool lies_between(double copies, double least, double most) {
  return copies >= least && copies <= most && copies == std::floor(copies);
}

/// True when the profile keeps what no pass can say: shares of values, other types, values that are not made.
bool keeps_the_unsayable(const Scenario& sc) {
  if (sc.framework.explicit_step) return false;
  const auto unsayable = [&](const SayableRow& row) {
    const SavedRule rule = saved_rule(sc, row.id);
    return rule.byte != 0 || !lies_between(rule.compute, row.least.compute, row.most.compute) ||
           !lies_between(rule.fp32, row.least.fp32, row.most.fp32);
  };
  const bool keys = saved_rule(sc, Saved::Key).compute > 0, values = saved_rule(sc, Saved::Value).compute > 0;
  const bool repeated = saved_rule(sc, Saved::RepeatedKeyValue).compute > 0;
  const SavedRule norm_input = saved_rule(sc, Saved::NormInput);
  // A further copy of a gathered input would be gathered, too.
  if (sc.framework.gather_saved_inputs && saved_rule(sc, Saved::NormOutput) != kOnce) return true;
  return std::ranges::any_of(kSayable, unsayable) || keys != values || keys == repeated ||
         norm_input.compute + norm_input.fp32 == 0 || (repeated && sc.layout.cp > 1);
}

/// What scenarios can say and the program does not describe yet.
constexpr std::array kGaps{
    Gap{"autocast", casts_automatically},
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
    Gap{"uneven routing",
        [](const Scenario& s) {
          return s.recipe.routing.imbalance != 1 || s.recipe.routing.capacity_factor > 0;
        }},
    Gap{"vocabulary parallelism over stages",
        [](const Scenario& s) { return s.layout.vocab != VocabParallel::LastStage; }},
    Gap{"what the framework profile keeps of a layer", keeps_the_unsayable},
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
  t.buffers_weight_gradients =
      !sc.framework.explicit_step && sc.framework.weight_gradient_temporary_bytes > 0;
  t.shares_gather_buffers = !sc.framework.explicit_step && sc.framework.sp_gather_buffers > 0;
  t.keeps = keeping_of(sc);
  t.recomputed = recomputed_of(sc.recipe.recompute, whole_layer_recomputed);
  if (t.recomputed == Recomputed::Modules) {
    const Recompute& r = sc.recipe.recompute;
    t.modules = r.mode == RecomputeMode::Selective ? std::uint16_t{kRecomputeCoreAttention} : r.modules;
  }
  return t;
}

}  // namespace hexaplan::costmodel::program
