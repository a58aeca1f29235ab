#pragma once
#include <QString>
#include <vector>

#include "costmodel/memory/tensor_ledger.h"

namespace hexaplan::costmodel {
struct StageMemory;
}  // namespace hexaplan::costmodel

namespace hexaplan::gui {

/// report::LedgerNode in the user's language.
struct LedgerNode {
  QString name;
  costmodel::TensorKind kind = costmodel::TensorKind::Parameter;
  double bytes = 0;
  std::vector<LedgerNode> children;  // largest first
  // Of tensors only.
  QString formula;  // docs/formulas.md anchor
  QString dtype;
  double elements = 0, count = 0;  // 0: no tensor, but memory that no tensor has
};

/// report::ledger_tree.
[[nodiscard]] LedgerNode ledgerTree(const costmodel::TensorLedger& ledger, costmodel::Instant instant,
                                    const costmodel::MemoryBreakdown& device);
[[nodiscard]] LedgerNode ledgerTree(const costmodel::TensorLedger& ledger, costmodel::Instant instant,
                                    const costmodel::StageMemory& stage);

/// "bf16", "fp32" …
[[nodiscard]] QString nameOf(costmodel::DType dtype);

}  // namespace hexaplan::gui
