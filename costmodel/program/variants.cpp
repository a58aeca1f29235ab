#include "costmodel/program/variants.h"

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "costmodel/program/compile.h"
#include "costmodel/program/layer_program.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::costmodel::program {

Program forward_of(const Scenario& sc, Part part, LayerClass kind) {
  switch (part) {
    case Part::Embedding:
      return forward_embedding(sc.model);
    case Part::Head:
      return forward_head(sc.model, fuses_cross_entropy(sc), runs_final_norm_apart(sc));
    case Part::Mtp:
      return forward_mtp(sc.model);
    case Part::FinalNorm:
      return kind.mtp
                 ? forward_final_norm(sc.model, Parameter::MtpFinalNormWeight, Parameter::MtpFinalNormBias)
                 : forward_final_norm(sc.model, Parameter::FinalNormWeight, Parameter::FinalNormBias);
    case Part::Layer:
      break;
  }
  return forward_layer(sc.model, kind);
}

namespace {

/// Equal for equal variants, and mostly different for others: comparing all techniques takes longer than the
/// rest of the question.
std::uint64_t tag_of(Part part, LayerClass kind, bool fused_loss, bool norm_apart, const Techniques& t) {
  std::uint64_t tag = 0;
  const auto append = [&](std::uint64_t value, int bits) { tag = tag << bits | value; };
  append(static_cast<std::uint64_t>(part), 3);
  append(static_cast<std::uint64_t>(index_of(kind)), 5);
  append(static_cast<std::uint64_t>(t.recomputed), 2);
  append(t.modules, 16);
  append(static_cast<std::uint64_t>(t.context), 2);
  append(static_cast<std::uint64_t>(t.context_ranks) & 0xff, 8);
  for (const bool flag :
       {fused_loss, norm_apart, t.tensor, t.sequence, t.exchanges_experts, t.cuts_experts, t.sums_choices,
        t.quantises, t.splits_backward, t.gathers_inputs_again, t.stops_recomputing_early, t.drops_out})
    append(flag ? 1 : 0, 1);
  return tag;
}

}  // namespace

const Variant& variant_of(const Scenario& sc, Part part, LayerClass kind, const Techniques& t) {
  struct Memo {
    ModelSpec model;
    std::vector<Variant> variants;
    std::unordered_multimap<std::uint64_t, std::size_t> by_tag;  // places
  };
  constexpr std::size_t kMost = 512;  // a search asks for some dozens
  thread_local Memo memo;
  if (memo.variants.size() >= kMost || memo.model != sc.model)
    memo = {.model = sc.model, .variants = {}, .by_tag = {}};
  LayerClass told;
  if (part == Part::Layer) {
    told = kind;
    told.windowed &= keeps_masks(t);
    told.mtp = false;
  }
  const bool fused_loss = part == Part::Head && fuses_cross_entropy(sc);
  const bool norm_apart = part == Part::Head && runs_final_norm_apart(sc);
  const std::uint64_t tag = tag_of(part, told, fused_loss, norm_apart, t);
  const auto [first, last] = memo.by_tag.equal_range(tag);
  for (auto place = first; place != last; ++place) {
    const Variant& v = memo.variants[place->second];
    if (v.part == part && v.kind == told && v.fused_loss == fused_loss && v.norm_apart == norm_apart &&
        v.techniques == t)
      return v;
  }
  Program program = compile(forward_of(sc, part, kind), of_layer(t, told));
  Footprint footprint{program};
  std::vector<Step> steps = steps_of(program);
  memo.by_tag.emplace(tag, memo.variants.size());
  memo.variants.push_back({.part = part,
                           .kind = told,
                           .fused_loss = fused_loss,
                           .norm_apart = norm_apart,
                           .techniques = t,
                           .program = std::move(program),
                           .footprint = std::move(footprint),
                           .steps = std::move(steps)});
  return memo.variants.back();
}

}  // namespace hexaplan::costmodel::program
