#pragma once
#include <QString>
#include <span>
#include <string>

#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/step/estimate.h"

namespace hexaplan::gui {

// The parts of an estimate in the order in which every chart and table shows them: the cost model's names
// (costmodel/memory/memory_kinds.h, costmodel/step/time_causes.h) and what they mean, in the user's language.

struct MemoryTerm {
  costmodel::TensorKind kind;
  const char* label;  // the cost model's name, to be translated
  const char* meaning;
  const char* formula;  // docs/formulas.md anchor
};
struct TimeTerm {
  costmodel::Seconds costmodel::StepTime::*member;
  const char* label;
  const char* meaning;
  const char* formula;
};

/// By TensorKind.
[[nodiscard]] std::span<const MemoryTerm> memoryTerms();
/// In the order of StepTime.
[[nodiscard]] std::span<const TimeTerm> timeTerms();

[[nodiscard]] QString labelOf(costmodel::TensorKind kind);
[[nodiscard]] QString labelOf(const TimeTerm& term);
/// A name that reports hold, in the user's language where it is that of a term.
[[nodiscard]] QString labelOfName(const std::string& name);
/// What the term is and where its formula stands: for tool-tips.
[[nodiscard]] QString explain(const MemoryTerm& term);
[[nodiscard]] QString explain(const TimeTerm& term);

}  // namespace hexaplan::gui
