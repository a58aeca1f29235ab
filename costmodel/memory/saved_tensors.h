#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "costmodel/spec/framework_profile.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/model_spec.h"
#include "costmodel/spec/recipe.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// What a saved tensor's size depends on.
struct SavedContext {
  const ModelSpec& model;
  const Recipe& recipe;
  const FrameworkProfile& framework;
  const LocalDims& dims;
  LayerClass kind;
  std::int64_t adapter_rank = 0;
};

/// One row per tensor that a layer may keep for backward.  [docs/formulas.md#M2]
struct SavedTensor {
  Saved id;
  std::string_view name;
  /// Elements on one rank for one micro-batch and layer; 0 when the layer has no such tensor.
  std::int64_t (*elements)(const SavedContext&);
  std::uint16_t dropped_by;      // RecomputeModule bits that recompute it instead
  double operator_policy_share;  // share kept by RecomputeMode::SelectiveOperators
  bool gemm_input;               // kept in the GEMM's own format under fp8/fp4
};

[[nodiscard]] const std::array<SavedTensor, kSavedCount>& saved_tensors();

/// What the profile keeps of `tensor` in this scenario: its rule, or that of the last case that applies.
[[nodiscard]] SavedRule saved_rule(const Scenario& scenario, Saved tensor);

/// Share of `tensor` that the recipe keeps in a layer that is not fully recomputed: 0..1.
[[nodiscard]] double kept_share(const SavedTensor& tensor, const Recipe& recipe);

}  // namespace hexaplan::costmodel
