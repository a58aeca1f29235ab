#include "costmodel/program/passes/passes.h"

namespace hexaplan::costmodel::program {

Program cast_automatically(Program p, const Techniques& /*techniques*/) {
  for (Value& value : p.values) {
    const bool residual = value.tensor == Tensor::LayerInput || value.tensor == Tensor::LayerMiddle ||
                          value.tensor == Tensor::LayerOutput;
    if (residual) value.shape.type = Type::Fp32;
  }
  return p;
}

}  // namespace hexaplan::costmodel::program
