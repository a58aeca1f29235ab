#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "costmodel/spec/recipe.h"

namespace hexaplan::costmodel {

/// How an optimizer chooses the subspace in which it keeps moments of a matrix.
enum class Subspace : std::uint8_t {
  None,      // it keeps them of the matrix
  Singular,  // the leading singular vectors of a gradient
  Random,    // normal deviates
};

/// What of a gradient gets a factor of its own, which moments in a subspace say.
enum class GradientScale : std::uint8_t { None, Channel, Matrix };

/// What an optimizer makes of the second moments of a matrix's rows and columns.
enum class Precondition : std::uint8_t {
  None,
  Eigenbasis,   // bases in which it keeps moments of the gradient
  InverseRoot,  // factors of the gradient, for every block of the matrix
};

/// What an optimizer keeps per parameter and moves to update it: the one table of optimizers.
struct OptimizerTraits {
  int moments = 0;               // tensors with one element per parameter
  bool quantised = false;        // … in 8 bits, with a scale per block
  bool wide_moments = false;     // … in fp32 whatever the parameters are: gradients are widened first
  bool factored = false;         // sums of rows and columns instead
  double further_bytes = 0;      // read and written per parameter beside gradient, parameter and states
  bool orthogonalises = false;   // matrices of layers by Newton-Schulz; everything else is `beside`'s
  bool scales_matrices = false;  // the step of a matrix by its norm over that of its update
  /// Matrices of layers have their moments in a subspace; everything else is `beside`'s.
  Subspace subspace = Subspace::None;
  std::int64_t rank = 0, interval = 0;  // of the subspace, and steps until it is chosen anew
  /// Steps go along the gradient, scaled by what the subspace says, and grow slowly; else along what is
  /// projected back.
  GradientScale scale = GradientScale::None;
  double step_scale = 1;  // what such steps, of APOLLO their squares, are multiplied by
  /// Matrices of layers have second moments of their rows and columns; everything else is `beside`'s.
  Precondition precondition = Precondition::None;
  std::int64_t frequency = 0;  // steps until bases or roots are made anew
  std::int64_t most_dim = 0;   // longest side that has a basis, or of a block
  Optimizer beside = Optimizer::AdamW;

  [[nodiscard]] constexpr bool scales_gradients() const { return scale != GradientScale::None; }
  [[nodiscard]] constexpr bool projects() const { return subspace != Subspace::None; }
  [[nodiscard]] constexpr bool preconditions() const { return precondition != Precondition::None; }
  /// Matrices of layers lie apart from what `beside` updates.
  [[nodiscard]] constexpr bool by_matrix() const { return orthogonalises || projects() || preconditions(); }
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
///  * SOAP (nikhilvyas/SOAP@a1e5535 soap.py SOAP.step, operator by operator, beside products and statistics):
///    moments are scaled, added to, squared and rooted, the quotient is written, applied, and the parameter
///    decayed: 24 passes of 4 bytes, of which AdamW's update has 7.
///  * Shampoo (facebookresearch/optimizers@f606606 distributed_shampoo.py _compute_search_directions, with
///    Adam's grafting): 31 passes.
/// Frequencies and sides: soap.py's defaults; distributed_shampoo/README.md, "Example 2: Adam".
/// Ranks, intervals and scales: huggingface/transformers@v5.24.0 src/transformers/trainer_optimizer.py
/// _get_galore_optimizer, _get_apollo_optimizer; zhuhanqing/APOLLO@76b3472 README.md (rank 1 and scale 128 of
/// APOLLO-Mini).
inline constexpr std::array<OptimizerTraits, 13> kOptimizerTraits{{
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
    {.moments = 2,
     .subspace = Subspace::Singular,
     .rank = 128,
     .interval = 200,
     .step_scale = 0.25},  // GaLore, arXiv:2403.03507
    {.moments = 2,
     .quantised = true,
     .subspace = Subspace::Singular,
     .rank = 128,
     .interval = 200,
     .step_scale = 0.25,
     .beside = Optimizer::AdamW8bit},  // ibid. section 4.3
    {.moments = 2,
     .subspace = Subspace::Random,
     .rank = 128,
     .interval = 200,
     .scale = GradientScale::Channel},  // APOLLO, arXiv:2412.05270
    {.moments = 2,
     .subspace = Subspace::Random,
     .rank = 1,
     .interval = 200,
     .scale = GradientScale::Matrix,
     .step_scale = 128},  // APOLLO-Mini, ibid.
    {.moments = 2,
     .further_bytes = 68,
     .precondition = Precondition::Eigenbasis,
     .frequency = 10,
     .most_dim = 10000},  // SOAP, arXiv:2409.11321
    {.moments = 2,
     .further_bytes = 96,
     .precondition = Precondition::InverseRoot,
     .frequency = 100,
     .most_dim = 8192},  // Shampoo, arXiv:1802.09568; arXiv:2309.06497
}};

[[nodiscard]] constexpr const OptimizerTraits& traits_of(Optimizer optimizer) {
  return kOptimizerTraits[static_cast<std::size_t>(optimizer)];
}

/// GaLore, APOLLO: dimensions of a subspace that the recipe asks for, or the optimizer's usual ones.
[[nodiscard]] constexpr std::int64_t asked_projection_rank(const Recipe& recipe) {
  return recipe.projection_rank > 0 ? recipe.projection_rank : traits_of(recipe.optimizer).rank;
}
/// … those of the subspace of a rows × cols matrix.
[[nodiscard]] constexpr double projection_rank(const Recipe& recipe, double rows, double cols) {
  const auto asked = static_cast<double>(asked_projection_rank(recipe));
  const double shorter = rows < cols ? rows : cols;
  return asked < shorter ? asked : shorter;
}
/// Steps from one choice of a subspace to the next.
[[nodiscard]] constexpr std::int64_t projection_interval(const Recipe& recipe) {
  return recipe.projection_interval > 0 ? recipe.projection_interval : traits_of(recipe.optimizer).interval;
}

/// Shampoo, SOAP: steps from one choice of bases or roots to the next.
[[nodiscard]] constexpr std::int64_t precondition_frequency(const Recipe& recipe) {
  return recipe.precondition_frequency > 0 ? recipe.precondition_frequency
                                           : traits_of(recipe.optimizer).frequency;
}
/// … the longest side of a matrix that SOAP finds a basis of, or of Shampoo's blocks.
[[nodiscard]] constexpr std::int64_t max_precondition_dim(const Recipe& recipe) {
  return recipe.max_precondition_dim > 0 ? recipe.max_precondition_dim : traits_of(recipe.optimizer).most_dim;
}
/// Products that rotate a matrix along one side in a step of SOAP: the gradient into the bases, the step out
/// of them, and the first moment out and in (soap.py SOAP.step, update_preconditioner).
inline constexpr int kSoapRotations = 4;
/// FLOPs per cube of a side. Eigenvalues and eigenvectors by the symmetric QR algorithm: 9 (Golub, Van Loan,
/// "Matrix Computations", 4th edition, section 8.3.3). A QR decomposition whose orthogonal factor is made:
/// 4/3 twice (section 5.2.2).
inline constexpr double kEigenFlops = 9, kQrFlops = 8.0 / 3;
/// Products of two square matrices of a side whenever its basis or root is made: of SOAP the estimates of the
/// eigenvalues and the power iteration (soap.py get_orthogonal_matrix_QR), of Shampoo the root of its
/// eigenvectors.
[[nodiscard]] constexpr int products_per_decomposition(Precondition precondition) {
  return precondition == Precondition::Eigenbasis ? 3 : 1;
}

/// FLOPs of the singular value decomposition of a rows × cols matrix with both sets of vectors, by way of its
/// QR decomposition (Golub, Van Loan, "Matrix Computations", 4th edition, figure 8.6.1: 6mn² + 20n³).
[[nodiscard]] constexpr double svd_flops(double rows, double cols) {
  const double shorter = rows < cols ? rows : cols, longer = rows < cols ? cols : rows;
  return shorter * shorter * (6 * longer + 20 * shorter);
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
