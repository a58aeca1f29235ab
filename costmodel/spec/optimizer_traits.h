#pragma once
#include <array>
#include <cstddef>

#include "costmodel/spec/recipe.h"

namespace hexaplan::costmodel {

/// What an optimizer keeps per parameter and moves to update it: the one table of optimizers.
struct OptimizerTraits {
  int moments = 0;               // tensors with one element per parameter
  bool quantised = false;        // … in 8 bits, with a scale per block
  bool wide_moments = false;     // … in fp32 whatever the parameters are: gradients are widened first
  bool factored = false;         // sums of rows and columns instead
  double further_bytes = 0;      // read and written per parameter beside gradient, parameter and states
  bool orthogonalises = false;   // matrices of layers by Newton-Schulz; everything else is AdamW's
  bool scales_matrices = false;  // the step of a matrix by its norm over that of its update
};

/// Elements per scale of 8-bit states (arXiv:2110.02861 section 2.1 quantises in blocks of 2048; bitsandbytes
/// `optim/optimizer.py` has used blocks of 256 since 0.45).
inline constexpr int kMomentBlock = 256;

/// In the order of Optimizer. `further_bytes` are counted over fp32 temporaries:
///  * Adafactor (transformers `optimization.py` Adafactor.step, factored, without momentum): the squared
///    gradient is written and read for its row and column sums (4 + 8), the update from their outer product
///    is written, multiplied by the gradient and read for its norm, scaled twice and subtracted (32).
///  * LAMB (NVIDIA/apex csrc/multi_tensor_lamb.cu): the update is written, read for its norm beside the
///    parameter's, and read again to be applied (16).
inline constexpr std::array<OptimizerTraits, 7> kOptimizerTraits{{
    {.moments = 2},                     // AdamW, arXiv:1711.05101
    {.moments = 2, .quantised = true},  // AdamW8bit, arXiv:2110.02861
    {.moments = 0,
     .wide_moments = true,
     .factored = true,
     .further_bytes = 44},                                         // Adafactor, arXiv:1804.04235
    {.moments = 1},                                                // Lion, arXiv:2302.06675
    {.moments = 1},                                                // SGD with momentum
    {.moments = 1, .orthogonalises = true},                        // Muon, arXiv:2502.16982
    {.moments = 2, .further_bytes = 16, .scales_matrices = true},  // LAMB, arXiv:1904.00962
}};

[[nodiscard]] constexpr const OptimizerTraits& traits_of(Optimizer optimizer) {
  return kOptimizerTraits[static_cast<std::size_t>(optimizer)];
}

/// Muon: Newton-Schulz iterations per step (arXiv:2502.16982 section 2.1).
inline constexpr int kNewtonSchulzSteps = 5;

/// FLOPs of orthogonalising a rows × cols matrix: with m the shorter side, each iteration multiplies X·Xᵀ,
/// squares it, and multiplies by X again: 2·(m²n + m³ + m²n).
[[nodiscard]] constexpr double newton_schulz_flops(double rows, double cols) {
  const double shorter = rows < cols ? rows : cols, longer = rows < cols ? cols : rows;
  return kNewtonSchulzSteps * 2 * shorter * shorter * (2 * longer + shorter);
}

}  // namespace hexaplan::costmodel
