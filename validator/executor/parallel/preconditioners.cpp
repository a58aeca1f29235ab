#include "validator/executor/parallel/preconditioners.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "costmodel/memory/optimizer_states.h"
#include "validator/executor/parallel/eigenbases.h"

namespace hexaplan::validator {
namespace {

using costmodel::DType;
using costmodel::Pass;
using costmodel::Precondition;
using costmodel::TensorKind;

constexpr IssuedFlops kSecondMoments{.operation = "optimizer.second_moments", .pass = Pass::Step};
constexpr IssuedFlops kRotate{.operation = "optimizer.rotate", .pass = Pass::Step};
constexpr IssuedFlops kPrecondition{.operation = "optimizer.precondition", .pass = Pass::Step};

View in_one_row(const View& view) {
  return view.reshaped(1, view.elements());
}
Tensor made_beside(Device& device, std::int64_t rows, std::int64_t cols) {
  return device.allocate({"optimizer.preconditioning", TensorKind::Transient, DType::Fp32}, rows, cols);
}
View submatrix(const View& matrix, const PreconditionedBlock& block) {
  return matrix.row_range(block.row, block.rows).column_range(block.col, block.cols);
}
/// At most tall × wide, row by row.
std::vector<PreconditionedBlock> blocks_of(std::int64_t rows, std::int64_t cols, std::int64_t tall,
                                           std::int64_t wide) {
  std::vector<PreconditionedBlock> out;
  for (std::int64_t row = 0; row < rows; row += tall) {
    for (std::int64_t col = 0; col < cols; col += wide)
      out.push_back(
          {.row = row, .col = col, .rows = std::min(tall, rows - row), .cols = std::min(wide, cols - col)});
  }
  return out;
}
std::vector<double> identity_matrix(std::int64_t side) {
  std::vector<double> out(static_cast<std::size_t>(side * side));
  for (std::int64_t k = 0; k < side; ++k) out[static_cast<std::size_t>(k * (side + 1))] = 1;
  return out;
}
/// A matrix of `cols` columns whose rows, or columns, stand in another order.
std::vector<double> reordered(std::span<const double> matrix, std::int64_t cols,
                              std::span<const std::int64_t> order, bool rows) {
  std::vector<double> out;
  out.reserve(matrix.size());
  for (std::int64_t at = 0; at < std::ssize(matrix); ++at) {
    const std::int64_t row = at / cols, col = at % cols;
    const std::int64_t from = rows ? order[static_cast<std::size_t>(row)] * cols + col
                                   : row * cols + order[static_cast<std::size_t>(col)];
    out.push_back(matrix[static_cast<std::size_t>(from)]);
  }
  return out;
}
std::vector<double> on_the_host(Device& device, const View& view) {
  std::vector<double> values(static_cast<std::size_t>(view.elements()));
  device.download(values, view);
  return values;
}

}  // namespace

std::int64_t Preconditioners::kept(std::int64_t length) const {
  return traits_->precondition == Precondition::InverseRoot ? length * (length + 1) / 2 : length * length;
}

Preconditioners::Preconditioners(const Rank& rank, const ShardPlace& place)
    : traits_{&costmodel::traits_of(rank.scenario.recipe.optimizer)},
      frequency_{costmodel::precondition_frequency(rank.scenario.recipe)} {
  const bool blocks = traits_->precondition == Precondition::InverseRoot;
  const std::int64_t most = costmodel::max_precondition_dim(rank.scenario.recipe);
  std::int64_t elements = 0;
  std::vector<LabelledColumns> parts;
  const auto side_of = [&](std::int64_t length) {
    if (length > most) return Side{};
    return Side{.length = length, .first = std::exchange(elements, elements + kept(length))};
  };
  for (std::size_t i = 0; i < place.tensors.size(); ++i) {
    const LocalTensor& t = place.tensors[i];
    const std::int64_t rows = t.rows / t.matrices, before = elements;
    const std::int64_t tall = blocks ? std::min(rows, most) : rows,
                       wide = blocks ? std::min(t.cols, most) : t.cols;
    for (std::int64_t number = 0; number < t.matrices; ++number) {
      PreconditionedMatrix m{
          .tensor = i, .first = t.offset + number * rows * t.cols, .rows = rows, .cols = t.cols};
      m.blocks = blocks_of(rows, t.cols, tall, wide);
      for (PreconditionedBlock& block : m.blocks) block.sides = {side_of(block.rows), side_of(block.cols)};
      matrices_.push_back(std::move(m));
    }
    if (elements > before)
      parts.push_back({{t.name, TensorKind::OptimizerState, DType::Fp32}, elements - before});
  }
  if (elements == 0) return;
  Device& device = *place.device;
  second_moments_ = device.allocate(parts, 1);
  bases_ = device.allocate(parts, 1);
  device.fill(second_moments_, 0);
  device.fill(bases_, 0);
  if (!blocks) return;
  for (const PreconditionedMatrix& m : matrices_) {
    for (const PreconditionedBlock& block : m.blocks)
      for (const Side& side : block.sides) write(rank, bases_, side, identity_matrix(side.length));
  }
}

View Preconditioners::basis(const Side& side) const {
  return bases_.view().slice(side.first, kept(side.length)).reshaped(side.length, side.length);
}

/// Symmetric matrices are kept as their upper triangles, row by row.
std::vector<double> Preconditioners::read(const Rank& rank, const Tensor& from, const Side& side) const {
  std::vector<double> values = on_the_host(rank.device, from.view().slice(side.first, kept(side.length)));
  if (traits_->precondition != Precondition::InverseRoot) return values;
  std::vector<double> square(static_cast<std::size_t>(side.length * side.length));
  std::size_t next = 0;
  for (std::int64_t r = 0; r < side.length; ++r) {
    for (std::int64_t c = r; c < side.length; ++c) {
      const double value = values[next++];
      square[static_cast<std::size_t>(r * side.length + c)] = value;
      square[static_cast<std::size_t>(c * side.length + r)] = value;
    }
  }
  return square;
}

void Preconditioners::write(const Rank& rank, const Tensor& to, const Side& side,
                            std::span<const double> square) const {
  const View view = to.view().slice(side.first, kept(side.length));
  if (traits_->precondition != Precondition::InverseRoot) return rank.device.upload(view, square);
  std::vector<double> triangle;
  triangle.reserve(static_cast<std::size_t>(kept(side.length)));
  for (std::int64_t r = 0; r < side.length; ++r)
    for (std::int64_t c = r; c < side.length; ++c)
      triangle.push_back(square[static_cast<std::size_t>(r * side.length + c)]);
  rank.device.upload(view, std::span<const double>{triangle});
}

/// S = β₂S + (1−β₂)·gradient·gradientᵀ of rows, gradientᵀ·gradient of columns. `square`: room for a product.
void Preconditioners::add_second_moments(const Rank& rank, const PreconditionedBlock& block,
                                         const OptimizerUpdate& rates, const View& gradient,
                                         const View& square) const {
  const double weight = (1 - rates.beta2) * rates.gradient_factor * rates.gradient_factor;
  for (std::size_t i = 0; i < block.sides.size(); ++i) {
    const Side& side = block.sides.at(i);
    if (side.length == 0) continue;
    const View product = square.slice(0, side.length * side.length).reshaped(side.length, side.length);
    const bool rows = i == 0;
    rank.device.gemm(kSecondMoments,
                     {.a = gradient, .b = gradient, .c = product, .transpose_a = !rows, .transpose_b = rows});
    std::vector<double> moments = read(rank, second_moments_, side);
    const std::vector<double> added = on_the_host(rank.device, product);
    for (std::size_t k = 0; k < moments.size(); ++k)
      moments[k] = rates.beta2 * moments[k] + weight * added[k];
    write(rank, second_moments_, side, moments);
  }
}

void Preconditioners::follow(const Rank& rank, const PreconditionedMatrix& m, const OptimizerUpdate& rates,
                             const View& out) const {
  if (traits_->precondition == Precondition::Eigenbasis) {
    follow_in_bases(rank, m, rates, out);
  } else {
    follow_by_roots(rank, m, rates, out);
  }
}

// --- SOAP ---

/// to = Lᵀ·from·R, or L·from·Rᵀ: into the bases, or back. Sides without one stay. `to` may be `from`.
void Preconditioners::rotate(const Rank& rank, const PreconditionedBlock& block, bool back, const View& from,
                             const View& between, const View& to) const {
  const auto& [rows, cols] = block.sides;
  if (rows.length > 0) {
    rank.device.gemm(kRotate, {.a = basis(rows), .b = from, .c = between, .transpose_a = !back});
  } else {
    rank.device.copy(between, from);
  }
  if (cols.length > 0) {
    rank.device.gemm(kRotate, {.a = between, .b = basis(cols), .c = to, .transpose_b = back});
  } else {
    rank.device.copy(to, between);
  }
}

/// nikhilvyas/SOAP@a1e5535 soap.py step, update_preconditioner. The first step begins the second moments and
/// makes no other: its bases are zero.
void Preconditioners::follow_in_bases(const Rank& rank, const PreconditionedMatrix& m,
                                      const OptimizerUpdate& rates, const View& out) const {
  Device& device = rank.device;
  const PreconditionedBlock& block = m.blocks.front();
  const View gradient = rates.gradient.reshaped(m.rows, m.cols),
             momentum = rates.first_moment.reshaped(m.rows, m.cols);
  const Tensor low = made_beside(device, m.rows, m.cols), step = made_beside(device, m.rows, m.cols),
               between = made_beside(device, m.rows, m.cols);
  const std::int64_t longest = std::max(block.sides[0].length, block.sides[1].length);
  const Tensor square = longest > 0 ? made_beside(device, longest, longest) : Tensor{};
  device.copy(low, gradient);
  rotate(rank, block, false, low, between, low);
  device.fill(step, 0);
  if (rates.step > 0) {
    OptimizerUpdate run = rates;
    run.rule = UpdateRule::LambDirection;
    run.weight_decay = 0;
    run.first = 0;
    run.parameter = {};
    run.master = run.gradient = in_one_row(low);  // the master is read for the decay alone
    run.direction = in_one_row(step);
    device.update(run);
  }
  rotate(rank, block, true, step, between, out);
  device.copy(low, momentum);
  rotate(rank, block, true, low, between, low);
  device.copy(step, gradient);
  add_second_moments(rank, block, rates, step, square.view());
  choose_bases(rank, block, rates, rates.second_moment.reshaped(m.rows, m.cols));
  rotate(rank, block, false, low, between, low);
  device.copy(momentum, low);
}

/// In the first step eigenvectors; then, every so many steps, a power iteration of the old ones, in the order
/// of what they leave of the second moments, which those per parameter follow.
void Preconditioners::choose_bases(const Rank& rank, const PreconditionedBlock& block,
                                   const OptimizerUpdate& rates, const View& second_moment) const {
  if (rates.step > 0 && rates.step % frequency_ != 0) return;
  for (std::size_t i = 0; i < block.sides.size(); ++i) {
    const Side& side = block.sides.at(i);
    if (side.length == 0) continue;
    const std::vector<double> moments = read(rank, second_moments_, side);
    if (rates.step == 0) {
      write(rank, bases_, side, eigenbasis(moments, side.length));
      continue;
    }
    const std::vector<double> old = read(rank, bases_, side);
    const std::vector<std::int64_t> order = order_by_eigenvalue(moments, old, side.length);
    write(rank, bases_, side, iterated_basis(moments, old, order, side.length));
    const std::vector<double> sorted =
        reordered(on_the_host(rank.device, second_moment), block.cols, order, i == 0);
    rank.device.upload(second_moment, std::span<const double>{sorted});
  }
}

// --- Shampoo ---

/// facebookresearch/optimizers@f606606 distributed_shampoo.py _compute_search_directions: AdamW's direction,
/// and from the step that makes the first roots on Shampoo's, block by block as long as that.
void Preconditioners::follow_by_roots(const Rank& rank, const PreconditionedMatrix& m,
                                      const OptimizerUpdate& rates, const View& out) const {
  OptimizerUpdate run = rates;
  run.rule = UpdateRule::LambDirection;
  run.weight_decay = 0;
  run.parameter = {};
  run.direction = in_one_row(out);
  rank.device.update(run);
  const View gradient = rates.gradient.reshaped(m.rows, m.cols),
             momentum = rates.first_moment.reshaped(m.rows, m.cols);
  for (const PreconditionedBlock& block : m.blocks) {
    const std::int64_t longest = std::max(block.rows, block.cols);
    {
      const Tensor square = made_beside(rank.device, longest, longest),
                   given = made_beside(rank.device, block.rows, block.cols);
      rank.device.copy(given, submatrix(gradient, block));
      add_second_moments(rank, block, rates, given, square);
    }
    choose_roots(rank, block, rates);
    precondition(rank, block, rates, submatrix(momentum, block), submatrix(out, block));
  }
}

/// (S/(1−β₂ᵗ) + ε)^(−1/4): of two sides each takes half of a square root (arXiv:1802.09568 algorithm 1).
void Preconditioners::choose_roots(const Rank& rank, const PreconditionedBlock& block,
                                   const OptimizerUpdate& rates) const {
  constexpr double kAgainstZero = 1e-12, kRoot = 4;  // README.md, "Example 2: Adam": epsilon
  if (rates.step % frequency_ != 0) return;
  const double corrected = 1 - std::pow(rates.beta2, static_cast<double>(rates.step));
  for (const Side& side : block.sides)
    write(rank, bases_, side,
          inverse_root(read(rank, second_moments_, side), side.length, corrected, kAgainstZero, kRoot));
}

void Preconditioners::precondition(const Rank& rank, const PreconditionedBlock& block,
                                   const OptimizerUpdate& rates, const View& momentum,
                                   const View& out) const {
  constexpr double kAgainstZero = 1e-16;
  Device& device = rank.device;
  const auto& [rows, cols] = block.sides;
  const Tensor given = made_beside(device, block.rows, block.cols),
               between = made_beside(device, block.rows, block.cols),
               result = made_beside(device, block.rows, block.cols), norms = made_beside(device, 1, 2);
  const std::int64_t longest = std::max(block.rows, block.cols);
  const Tensor square = made_beside(device, longest, longest);
  const auto root = [&](const Side& side) {
    const View whole = square.view().slice(0, side.length * side.length);
    device.upload(whole, std::span<const double>{read(rank, bases_, side)});
    return whole.reshaped(side.length, side.length);
  };
  device.copy(given, momentum);
  device.scale(given, 1 / (1 - std::pow(rates.beta1, static_cast<double>(rates.step))));
  device.gemm(kPrecondition, {.a = root(rows), .b = given, .c = between});
  device.gemm(kPrecondition, {.a = between, .b = root(cols), .c = result});
  if (rates.step < frequency_) return;
  device.copy(given, out);
  device.fill(norms, 0);
  device.squared_norm(in_one_row(given), norms.view().slice(0, 1));
  device.squared_norm(in_one_row(result), norms.view().slice(1, 1));
  const std::vector<double> squares = on_the_host(device, norms);
  device.scale(result, std::sqrt(squares[0]) / (std::sqrt(squares[1]) + kAgainstZero));
  device.copy(out, result);
}

}  // namespace hexaplan::validator
