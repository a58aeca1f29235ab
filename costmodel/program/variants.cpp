#include "costmodel/program/variants.h"

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

const Variant& variant_of(const Scenario& sc, Part part, LayerClass kind, const Techniques& t) {
  struct Memo {
    ModelSpec model;
    std::vector<Variant> variants;
  };
  constexpr std::size_t kMost = 512;  // a search asks for some dozens
  thread_local Memo memo;
  if (memo.variants.size() >= kMost || memo.model != sc.model) memo = {.model = sc.model, .variants = {}};
  LayerClass told;
  if (part == Part::Layer) {
    told = kind;
    told.windowed = told.mtp = false;
  }
  const bool fused_loss = part == Part::Head && fuses_cross_entropy(sc);
  const bool norm_apart = part == Part::Head && runs_final_norm_apart(sc);
  for (const Variant& v : memo.variants) {
    if (v.part == part && v.kind == told && v.fused_loss == fused_loss && v.norm_apart == norm_apart &&
        v.techniques == t)
      return v;
  }
  Program program = compile(forward_of(sc, part, kind), t);
  Footprint footprint{program};
  std::vector<Step> steps = steps_of(program);
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
