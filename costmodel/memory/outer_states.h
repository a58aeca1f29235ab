#pragma once
#include "costmodel/spec/recipe.h"

namespace hexaplan::costmodel {

// What outer steps keep of every trained parameter, each in fp32: the parameters of the last one, and the
// momentum. Cut as the optimizer's states are.  [docs/formulas.md#M1]

/// How many of the two lie on the GPU …
[[nodiscard]] constexpr int outer_states_on_gpu(const OuterSteps& outer) {
  return !outer.taken()                            ? 0
         : outer.states == OuterStates::Gpu        ? 2
         : outer.states == OuterStates::CopyOnHost ? 1
                                                   : 0;
}
/// … and in host memory.
[[nodiscard]] constexpr int outer_states_on_host(const OuterSteps& outer) {
  return outer.taken() ? 2 - outer_states_on_gpu(outer) : 0;
}

/// Bytes per parameter beside the states while an outer step is taken: its gradient in fp32 and as it
/// travels, and what comes from the host.
[[nodiscard]] constexpr double outer_transient_bytes(const OuterSteps& outer, bool travels) {
  if (!outer.taken()) return 0;
  const bool cast = travels && outer.dtype != DType::Fp32;
  // Types that no kernel adds up are sent from one buffer and received in another.
  const double buffers = bits_per_element(outer.dtype) < 16 ? 2 : 1;
  return (1 + outer_states_on_host(outer)) * bytes_per_element(DType::Fp32) +
         (cast ? buffers * bytes_per_element(outer.dtype) : 0);
}

}  // namespace hexaplan::costmodel
