#pragma once
#include <string>
#include <string_view>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/step/estimate.h"
#include "planner/fitting/fitting_changes.h"

namespace hexaplan::cli {

// The parts of an estimate in the order in which they are shown, and their names in text and JSON.

struct MemoryKindName {
  costmodel::TensorKind kind;
  std::string_view key;     // JSON
  std::string_view column;  // text
};
inline constexpr MemoryKindName kMemoryKindNames[] = {
    {costmodel::TensorKind::Parameter, "parameters", "param"},
    {costmodel::TensorKind::Gradient, "gradients", "grad"},
    {costmodel::TensorKind::OptimizerState, "optimizer", "optim"},
    {costmodel::TensorKind::Activation, "activations", "activ"},
    {costmodel::TensorKind::Logits, "logits", "logits"},
    {costmodel::TensorKind::Transient, "transient", "trans"},
    {costmodel::TensorKind::Communication, "communication", "comm"},
    {costmodel::TensorKind::Overhead, "overhead", "other"},
};

[[nodiscard]] constexpr std::string_view name_of_kind(costmodel::TensorKind kind) {
  for (const MemoryKindName& row : kMemoryKindNames) {
    if (row.kind == kind) return row.key;
  }
  return "?";
}

struct TimeCause {
  costmodel::Seconds costmodel::StepTime::*member;
  std::string_view key;    // JSON
  std::string_view label;  // text
};
inline constexpr TimeCause kTimeCauses[] = {
    {&costmodel::StepTime::gemm, "gemm", "matrix products"},
    {&costmodel::StepTime::attention, "attention", "attention"},
    {&costmodel::StepTime::memory_bound, "memory_bound", "memory-bound kernels"},
    {&costmodel::StepTime::recompute, "recompute", "recomputation"},
    {&costmodel::StepTime::launch, "launch", "kernel launches"},
    {&costmodel::StepTime::tensor_parallel, "tensor_parallel", "tensor-parallel comm"},
    {&costmodel::StepTime::context_parallel, "context_parallel", "context-parallel comm"},
    {&costmodel::StepTime::expert_parallel, "expert_parallel", "expert-parallel comm"},
    {&costmodel::StepTime::pipeline_p2p, "pipeline_p2p", "pipeline messages"},
    {&costmodel::StepTime::bubble, "bubble", "pipeline bubble"},
    {&costmodel::StepTime::data_parallel, "data_parallel", "data-parallel comm"},
    {&costmodel::StepTime::optimizer, "optimizer", "optimizer"},
    {&costmodel::StepTime::host, "host", "host"},
};

[[nodiscard]] constexpr std::string_view name_of_provenance(costmodel::Provenance provenance) {
  switch (provenance) {
    case costmodel::Provenance::Measured:
      return "measured";
    case costmodel::Provenance::Borrowed:
      return "borrowed";
    case costmodel::Provenance::Prior:
      return "prior";
  }
  return "?";
}

/// "--recompute full", "zero1 in the layout": what to write on the command line.
[[nodiscard]] inline std::string words_of(const planner::FittingChange& change) {
  std::string text;
  for (const planner::ChangedSetting& setting : change.settings) {
    if (!text.empty()) text += " and ";
    if (setting.name == "layout") {
      text.append(setting.value).append(" in the layout");
    } else {
      text.append("--").append(setting.name).append(" ").append(setting.value);
    }
  }
  return text;
}

inline constexpr std::string_view kUtilisationConvention =
    "model FLOPs with causal attention halved and the input embedding excluded, over the dense peak of the "
    "precision";

}  // namespace hexaplan::cli
