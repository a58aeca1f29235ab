#pragma once
#include <QString>
#include <vector>

#include "costmodel/memory/tensor_ledger.h"

namespace hexaplan::gui {

/// The ledger as people read it: kind → layer class → tensor. Inner nodes sum their children.
struct LedgerNode {
  QString name;
  costmodel::TensorKind kind = costmodel::TensorKind::Parameter;
  double bytes = 0;
  std::vector<LedgerNode> children;  // largest first
  // Of tensors only.
  QString formula;  // docs/formulas.md anchor
  QString dtype;
  double elements = 0, count = 0;
};

/// Every tensor of one rank that is alive at `instant`, grouped. Tensors of one name, type and formula are
/// one node; those that belong to no layer stand beside the layer classes.
[[nodiscard]] LedgerNode ledgerTree(const costmodel::TensorLedger& ledger, costmodel::Instant instant);

/// "bf16", "fp32" …
[[nodiscard]] QString nameOf(costmodel::DType dtype);

}  // namespace hexaplan::gui
