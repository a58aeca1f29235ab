#pragma once
#include <vector>

#include "costmodel/program/fold.h"
#include "costmodel/program/ops.h"
#include "costmodel/program/steps.h"
#include "costmodel/program/techniques.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel::program {

/// The forward pass of `part`: of a layer of class `kind`, where it is one.
[[nodiscard]] Program forward_of(const Scenario& scenario, Part part, LayerClass kind);

/// A part of a model, compiled: one program serves every shape that a search asks about.
struct Variant {
  Part part = Part::Layer;
  LayerClass kind;  // of a layer, as far as its operations depend on it
  bool fused_loss = false, norm_apart = false;
  Techniques techniques;
  Program program;
  Footprint footprint;      // of the program
  std::vector<Step> steps;  // of the program
};

/// The variant of `part` that `scenario` runs: `kind`'s, where it is a layer. Compiled once per thread, for
/// the model that was asked for last; the reference holds until the next call.
[[nodiscard]] const Variant& variant_of(const Scenario& scenario, Part part, LayerClass kind,
                                        const Techniques& techniques);

}  // namespace hexaplan::costmodel::program
