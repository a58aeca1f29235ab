#pragma once
#include <cstdint>

#include "costmodel/spec/model_spec.h"

namespace hexaplan::costmodel {

/// FLOPs of one token in the products of a recurrence: they do not depend on the sequence.
struct ScanFlops {
  double forward = 0, backward = 0;
};

/// Of so many heads and groups; none of a short convolution, whose few multiply-adds are part of its memory
/// traffic. Every product is counted whole, the masked halves of a chunk's square too, as the kernels compute
/// them.  [docs/formulas.md#T15]
[[nodiscard]] ScanFlops scan_flops(const RecurrentSpec& recurrent, std::int64_t heads, std::int64_t groups);

}  // namespace hexaplan::costmodel
