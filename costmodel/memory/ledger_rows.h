#pragma once
#include <cstdint>
#include <string_view>

#include "costmodel/memory/tensor_ledger.h"

namespace hexaplan::costmodel {

/// Appends entries of a step whose every allocation is known: bytes, without a type.  [docs/formulas.md#M8]
class LedgerRows {
 public:
  LedgerRows(TensorLedger& out, int layer_class) : out_{out}, layer_class_{layer_class} {}
  void bytes(std::string_view name, TensorKind kind, double size, std::uint8_t alive) {
    if (size == 0) return;
    out_.push_back({.name = name,
                    .formula = "M8",
                    .kind = kind,
                    .dtype = DType::Int8,
                    .alive = alive,
                    .layer_class = static_cast<std::int8_t>(layer_class_),
                    .elements = size});
  }

 private:
  TensorLedger& out_;
  int layer_class_;
};

}  // namespace hexaplan::costmodel
