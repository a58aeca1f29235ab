#include "validator/executor/parallel/newton_schulz.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "costmodel/spec/optimizer_traits.h"

namespace hexaplan::validator {
namespace {

using costmodel::DType;
using costmodel::Pass;
using costmodel::TensorKind;

constexpr IssuedFlops kIssue{.operation = "optimizer.newton_schulz", .pass = Pass::Step};

/// X becomes aX + (bG + cG²)X with G = XXᵀ, or the same from the right where X is taller than wide.
/// Coefficients: arXiv:2502.16982 section 2.1.
void iterate(const Rank& rank, const View& x) {
  constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
  Device& device = rank.device;
  const bool tall = x.rows > x.cols;
  const std::int64_t side = std::min(x.rows, x.cols);
  const auto temporary = [&](std::int64_t rows, std::int64_t cols) {
    return device.allocate({"optimizer.products", TensorKind::Transient, rank.activation}, rows, cols);
  };
  const Tensor gram = temporary(side, side), squared = temporary(side, side),
               product = temporary(x.rows, x.cols);
  device.gemm(kIssue, {.a = x, .b = x, .c = gram, .transpose_a = tall, .transpose_b = !tall});
  device.gemm(kIssue, {.a = gram, .b = gram, .c = squared});
  device.scale(gram, kB);
  device.scale(squared, kC);
  device.add(gram, squared);
  device.gemm(kIssue, {.a = tall ? x : gram.view(), .b = tall ? gram.view() : x, .c = product});
  device.scale(x, kA);
  device.add(x, product);
}

}  // namespace

void orthogonalise(const Rank& rank, std::span<const LocalTensor> tensors, const View& flat) {
  constexpr double kAgainstZero = 1e-7;  // torch.optim.Muon's eps
  std::vector<View> matrices;
  for (const LocalTensor& t : tensors) {
    const std::int64_t rows = t.rows / t.matrices;
    for (std::int64_t m = 0; m < t.matrices; ++m)
      matrices.push_back(flat.slice(t.offset + m * rows * t.cols, rows * t.cols).reshaped(rows, t.cols));
  }
  const auto count = static_cast<std::int64_t>(matrices.size());
  const Tensor norms =
      rank.device.allocate({"optimizer.norms", TensorKind::Transient, DType::Fp32}, 1, count);
  rank.device.fill(norms, 0);
  for (std::int64_t m = 0; m < count; ++m)
    rank.device.squared_norm(matrices[static_cast<std::size_t>(m)], norms.view().slice(m, 1));
  std::vector<double> squares(matrices.size());
  rank.device.download(squares, norms);
  for (std::size_t m = 0; m < matrices.size(); ++m) {
    // No matrix has a singular value above its norm.
    rank.device.scale(matrices[m], 1 / std::max(std::sqrt(squares[m]), kAgainstZero));
    for (int i = 0; i < costmodel::kNewtonSchulzSteps; ++i) iterate(rank, matrices[m]);
  }
}

}  // namespace hexaplan::validator
