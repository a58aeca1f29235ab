#pragma once
#include <string>
#include <vector>

#include "costmodel/step/estimate.h"

namespace hexaplan::report {

/// The ledger as people read it: kind → layer class → tensor. Inner nodes sum their children.
struct LedgerNode {
  /// In English; of inner nodes and of what no tensor has, one of a few phrases that a window translates.
  std::string name;
  costmodel::TensorKind kind = costmodel::TensorKind::Parameter;
  double bytes = 0;
  std::vector<LedgerNode> children;  // largest first
  bool is_tensor = false;
  // Of tensors only; the formula also of what no tensor has.
  std::string formula;  // docs/formulas.md anchor
  costmodel::DType dtype = costmodel::DType::Bf16;
  double elements = 0, count = 0;  // 0: no tensor, but memory that no tensor has
};

/// Everything on the device of one rank at `instant`, grouped: the tensors that are alive, and what else the
/// device's memory holds, so that it all adds up to `device`, the kinds of `StageMemory::on_device` at the
/// stage's peak. Tensors of one name, type and formula are one node; those that belong to no layer stand
/// beside the layer classes.
[[nodiscard]] LedgerNode ledger_tree(const costmodel::TensorLedger& ledger, costmodel::Instant instant,
                                     const costmodel::MemoryBreakdown& device);
/// The ledger of a stage at `instant`. At instants that are not its peak the caching allocator still holds
/// what it reserved there.
[[nodiscard]] LedgerNode ledger_tree(const costmodel::TensorLedger& ledger, costmodel::Instant instant,
                                     const costmodel::StageMemory& stage);

}  // namespace hexaplan::report
