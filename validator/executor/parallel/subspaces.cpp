#include "validator/executor/parallel/subspaces.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "costmodel/memory/optimizer_states.h"
#include "costmodel/units/ceil_div.h"
#include "validator/executor/parallel/singular_vectors.h"
#include "validator/executor/parameters/initial_values.h"

namespace hexaplan::validator {
namespace {

using costmodel::DType;
using costmodel::GradientScale;
using costmodel::Pass;
using costmodel::Subspace;
using costmodel::TensorKind;

constexpr IssuedFlops kProject{.operation = "optimizer.project", .pass = Pass::Step};
constexpr IssuedFlops kProjectBack{.operation = "optimizer.project_back", .pass = Pass::Step};

View as_row(const View& view) {
  return view.reshaped(1, view.elements());
}
Tensor scratch_of(Device& device, std::int64_t rows, std::int64_t cols) {
  return device.allocate({"optimizer.directions", TensorKind::Transient, DType::Fp32}, rows, cols);
}

/// Which of the unsharded tensor's matrices a rank's first row of one belongs to.
std::int64_t global_number(const LocalTensor& t, std::int64_t number) {
  const std::int64_t first = t.global_index(number * (t.rows / t.matrices) * t.cols);
  return first < 0 ? number : first / t.global_cols / t.matrix_rows;
}

/// Normal deviates of variance 1/rank (arXiv:2412.05270 algorithm 1). They depend on tensor, matrix and the
/// step of the choice alone, so that every layout projects alike.
std::vector<double> random_subspace(const ShardPlace& place, const ProjectedMatrix& m, std::int64_t step) {
  const LocalTensor& t = place.tensors[m.tensor];
  const std::uint64_t stream =
      stream_of(t.name, place.unit) + static_cast<std::uint64_t>(global_number(t, m.number));
  std::vector<double> values(static_cast<std::size_t>(m.rank * m.shorter()));
  const double deviation = 1 / std::sqrt(static_cast<double>(m.rank));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = deviation * counter_normal(static_cast<std::uint64_t>(step), stream, i);
  return values;
}

/// √(1 − β₂ᵗ)/(1 − β₁ᵗ): what AdamW's step with corrected moments is of one without (arXiv:1412.6980 section
/// 2).
double bias_correction(const OptimizerUpdate& rates) {
  const auto step = static_cast<double>(rates.step);
  return std::sqrt(1 - std::pow(rates.beta2, step)) / (1 - std::pow(rates.beta1, step));
}

}  // namespace

Subspaces::Subspaces(const Rank& rank, const ShardPlace& place)
    : traits_{&costmodel::traits_of(rank.scenario.recipe.optimizer)},
      interval_{costmodel::projection_interval(rank.scenario.recipe)} {
  const costmodel::StateTypes types = costmodel::state_types(rank.scenario);
  const std::int64_t block = traits_->quantised ? costmodel::kMomentBlock : 1;
  std::int64_t projection = 0, moment = 0;
  std::vector<LabelledColumns> projections, moments;
  const DType moment_type = traits_->quantised ? DType::Int8 : types.moment;
  for (std::size_t i = 0; i < place.tensors.size(); ++i) {
    const LocalTensor& t = place.tensors[i];
    const std::int64_t rows = t.rows / t.matrices, before = projection, moments_before = moment;
    for (std::int64_t number = 0; number < t.matrices; ++number) {
      ProjectedMatrix m{.tensor = i, .number = number, .rows = rows, .cols = t.cols};
      m.rank = static_cast<std::int64_t>(costmodel::projection_rank(
          rank.scenario.recipe, static_cast<double>(rows), static_cast<double>(t.cols)));
      m.first = t.offset + number * rows * t.cols;
      m.projection = std::exchange(projection, projection + m.rank * m.shorter());
      m.moment = std::exchange(moment, moment + costmodel::ceil_div(m.rank * m.longer(), block) * block);
      m.length = std::ssize(matrices_);
      matrices_.push_back(m);
    }
    projections.push_back({{t.name, TensorKind::OptimizerState, types.gradient}, projection - before});
    moments.push_back({{t.name, TensorKind::OptimizerState, moment_type}, moment - moments_before});
  }
  Device& device = *place.device;
  projections_ = device.allocate(projections, 1);
  first_moments_ = device.allocate(moments, 1);
  second_moments_ = device.allocate(moments, 1);
  const auto numbers = [&](std::int64_t count) {
    Tensor tensor = device.allocate({"optimizer.scales", TensorKind::OptimizerState, DType::Fp32}, 1, count);
    device.fill(tensor, 0);
    return tensor;
  };
  if (traits_->quantised) {
    first_scales_ = numbers(moment / block);
    second_scales_ = numbers(moment / block);
  }
  if (traits_->scales_gradients()) lengths_ = numbers(std::ssize(matrices_));
  device.fill(first_moments_, 0);
  device.fill(second_moments_, 0);
}

View Subspaces::subspace(const ProjectedMatrix& m) const {
  return projections_.view().slice(m.projection, m.rank * m.shorter()).reshaped(m.rank, m.shorter());
}

/// jiaweizzhao/GaLore@2cc66f8 galore_torch/galore_projector.py project ("std"), zhuhanqing/APOLLO@76b3472
/// apollo_torch/random_projector.py: in the first step and every so many steps behind it.
void Subspaces::choose(const Rank& rank, const ShardPlace& place, const ProjectedMatrix& m,
                       const View& gradient, std::int64_t step) const {
  if ((step - 1) % interval_ != 0) return;
  std::vector<double> values;
  if (traits_->subspace == Subspace::Random) {
    values = random_subspace(place, m, step);
  } else {
    std::vector<double> elements(static_cast<std::size_t>(m.rows * m.cols));
    rank.device.download(elements, as_row(gradient));
    values = leading_singular_vectors(elements, m.rows, m.cols, m.rank);
  }
  rank.device.upload(as_row(subspace(m)), std::span<const double>{values});
}

/// AdamW's step of the gradient in the subspace; in 8 bits its negative.
void Subspaces::step_along(const Rank& rank, const ProjectedMatrix& m, const OptimizerUpdate& rates,
                           const View& low, const View& step) const {
  const std::int64_t count = m.rank * m.longer();
  OptimizerUpdate run = rates;
  run.parameter = {};
  run.first = 0;
  run.weight_decay = 0;
  run.gradient = as_row(low);
  if (!traits_->quantised) {
    run.rule = UpdateRule::LambDirection;
    run.master = as_row(low);  // read for the decay alone
    run.first_moment = first_moments_.view().slice(m.moment, count);
    run.second_moment = second_moments_.view().slice(m.moment, count);
    run.direction = as_row(step);
    rank.device.update(run);
    return;
  }
  constexpr std::int64_t kBlock = costmodel::kMomentBlock;
  const std::int64_t blocks = costmodel::ceil_div(count, kBlock);
  run.rule = UpdateRule::AdamW8bit;
  run.learning_rate = 1;
  run.first_moment = first_moments_.view().slice(m.moment, blocks * kBlock);
  run.second_moment = second_moments_.view().slice(m.moment, blocks * kBlock);
  run.first_scale = first_scales_.view().slice(m.moment / kBlock, blocks);
  run.second_scale = second_scales_.view().slice(m.moment / kBlock, blocks);
  run.direction = {};
  rank.device.fill(step, 0);
  run.master = run.parameter = as_row(step);
  rank.device.update(run);
  run.rule = UpdateRule::AdamW8bitMoments;
  run.master = run.parameter = {};
  rank.device.update(run);
}

double Subspaces::follow(const Rank& rank, const ShardPlace& place, const ProjectedMatrix& m,
                         const OptimizerUpdate& rates, double scale, const View& out) const {
  Device& device = rank.device;
  const View gradient = rates.gradient.reshaped(m.rows, m.cols), of = subspace(m);
  choose(rank, place, m, gradient, rates.step);
  const std::int64_t rows = m.tall() ? m.rows : m.rank, cols = m.tall() ? m.rank : m.cols;
  const Tensor low = scratch_of(device, rows, cols), step = scratch_of(device, rows, cols);
  if (m.tall()) {
    device.gemm(kProject, {.a = gradient, .b = of, .c = low, .transpose_b = true});
  } else {
    device.gemm(kProject, {.a = of, .b = gradient, .c = low});
  }
  step_along(rank, m, rates, low, step);
  if (traits_->scales_gradients()) return std::sqrt(scale) * scale_gradient(rank, m, rates, low, step, out);
  if (m.tall()) {
    device.gemm(kProjectBack, {.a = step, .b = of, .c = out});
  } else {
    device.gemm(kProjectBack, {.a = of, .b = step, .c = out, .transpose_a = true});
  }
  return traits_->quantised ? -scale : scale;
}

/// The gradient, times how long its channels' steps in the subspace, without the bias correction, are for
/// their gradients there (zhuhanqing/APOLLO@76b3472 apollo_torch/apollo.py AdamW.step; arXiv:2412.05270
/// algorithm 1). Channels are of the longer side.
double Subspaces::scale_gradient(const Rank& rank, const ProjectedMatrix& m, const OptimizerUpdate& rates,
                                 const View& low, const View& step, const View& out) const {
  constexpr double kAgainstZero = 1e-8;
  Device& device = rank.device;
  const bool channels = traits_->scale == GradientScale::Channel;
  const std::int64_t count = channels ? m.longer() : 1;
  const Tensor squares = scratch_of(device, 1, 2 * count + 1);
  device.fill(squares, 0);
  const View of_step = squares.view().slice(0, count), of_gradient = squares.view().slice(count, count);
  for (const auto& [view, sums] : {std::pair{step, of_step}, std::pair{low, of_gradient}}) {
    if (!channels) {
      device.squared_norm(as_row(view), sums);
    } else if (m.tall()) {
      device.row_dots(view, view, sums);
    } else {
      device.column_dots(view, view, sums);
    }
  }
  std::vector<double> values(static_cast<std::size_t>(2 * count));
  device.download(values, squares.view().slice(0, 2 * count));
  const double corrected = bias_correction(rates), factor = rates.gradient_factor;
  for (std::int64_t i = 0; i < count; ++i) {
    double& value = values[static_cast<std::size_t>(i)];
    const double length = std::sqrt(values[static_cast<std::size_t>(count + i)]) * std::abs(factor);
    value = std::sqrt(value) / corrected / (length + kAgainstZero) * factor;
  }
  device.copy(out, rates.gradient.reshaped(m.rows, m.cols));
  if (!channels) {
    device.scale(out, values.front());
  } else {
    device.upload(of_step, std::span<const double>{values}.first(static_cast<std::size_t>(count)));
    m.tall() ? device.scale_rows(out, of_step) : device.scale_columns(out, of_step);
  }
  return limited(rank, m, squares.view().slice(2 * count, 1), corrected, out);
}

/// `factor`, smaller where the step is longer by more than a hundredth than the last one (arXiv:2410.01623
/// section 3.3, norm-growth limiter).
double Subspaces::limited(const Rank& rank, const ProjectedMatrix& m, const View& sum, double factor,
                          const View& out) const {
  constexpr double kGrowth = 1.01, kAgainstZero = 1e-8;
  Device& device = rank.device;
  device.squared_norm(as_row(out), sum);
  const View kept = lengths_.view().slice(m.length, 1);
  std::vector<double> last(1), square(1);
  device.download(square, sum);
  device.download(last, kept);
  const double length = std::sqrt(square.front());
  const double limiter =
      last.front() > 0 ? std::max(length / (last.front() + kAgainstZero), kGrowth) / kGrowth : 1;
  const std::vector<double> now{length / limiter};
  device.upload(kept, std::span<const double>{now});
  return factor / limiter;
}

}  // namespace hexaplan::validator
