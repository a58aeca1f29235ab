#include "validator/executor/parallel/factored_moments.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace hexaplan::validator {
namespace {

using costmodel::DType;
using costmodel::Pass;
using costmodel::TensorKind;

/// Rows × columns of the matrix-th matrix of a tensor, from (row, column) on, which lie in the flat buffer
/// one behind the other from `at` on.
struct Rectangle {
  std::int64_t matrix, row, column;
  std::int64_t rows, columns, at;
};
/// Calls `visit(rectangle)` for what a piece consists of, `width` columns wide: the end of a row, whole rows,
/// the beginning of one, for every matrix.
template <class Visit>
void for_rectangles(const LocalTensor& t, const Piece& p, std::int64_t width, const Visit& visit) {
  const std::int64_t size = t.elements() / t.matrices;
  for_matrices(t, p, [&](std::int64_t m, const MatrixPart& part) {
    for (std::int64_t at = part.begin; at < part.end;) {
      const std::int64_t inside = at - t.offset - m * size, left = part.end - at;
      const std::int64_t column = inside % width;
      const bool whole = column == 0 && left >= width;
      const Rectangle r{.matrix = m,
                        .row = inside / width,
                        .column = column,
                        .rows = whole ? left / width : 1,
                        .columns = whole ? width : std::min(width - column, left),
                        .at = at};
      visit(r);
      at += r.rows * r.columns;
    }
  });
}

View of_shard(const View& flat, const ShardPlace& place, const Rectangle& r) {
  return flat.slice(r.at - place.first, r.rows * r.columns).reshaped(r.rows, r.columns);
}

/// Rows of all matrices of a tensor as a tensor.
LocalTensor shape_of_rows(const LocalTensor& t) {
  LocalTensor shape = t;
  shape.cols = shape.global_cols = 1;
  shape.first_col = 0;
  return shape;
}
/// One row of columns per matrix. Experts that other ranks hold stand before and behind.
LocalTensor shape_of_columns(const LocalTensor& t) {
  LocalTensor shape = t;
  shape.rows = t.matrices;
  shape.global_rows = t.global_rows / t.matrix_rows;
  shape.segments.clear();
  for (std::int64_t m = 0; m < t.matrices; ++m) {
    const std::int64_t first = t.global_index(m * (t.rows / t.matrices) * t.cols);
    const std::int64_t number = first < 0 ? m : first / t.global_cols / t.matrix_rows;
    shape.segments.push_back({.local = m, .global = number, .count = 1});
  }
  return shape;
}

}  // namespace

FactoredMoments::FactoredMoments(const ShardPlace& place) {
  for (const LocalTensor& t : place.tensors) {
    Sides& s = sides_.emplace_back();
    s.matrices = t.matrices;
    if (!t.decays) {
      s.columns = {.each = t.elements() / t.matrices, .shape = t};
      continue;
    }
    s.columns_are_whole = !costmodel::cuts_columns(t.cut);
    s.rows = {.each = t.rows / t.matrices, .summed = t.matrix_cols, .shape = shape_of_rows(t)};
    s.columns = {.each = t.cols, .summed = t.matrix_rows, .shape = shape_of_columns(t)};
    s.rows.shared = costmodel::cuts_columns(t.cut);
    s.columns.shared = costmodel::cuts_rows(t.cut);
  }
  std::vector<LabelledColumns> parts;
  std::int64_t count = 0;
  const auto append = [&](Side& side, std::int64_t matrices, bool shared) {
    if (side.each == 0 || side.shared != shared) return;
    const std::int64_t moments = side.each * matrices;
    side.at = std::exchange(count, count + moments);
    side.shape.counted = side.shape.counted && (!shared || place.tensor->rank() == 0);
    parts.push_back({{side.shape.name, TensorKind::OptimizerState, DType::Fp32}, moments});
  };
  for (const bool shared : {true, false}) {
    for (Sides& s : sides_) {
      append(s.rows, s.matrices, shared);
      append(s.columns, s.matrices, shared);
    }
    if (shared) shared_ = count;
  }
  moments_ = place.device->allocate(parts, 1);
  place.device->fill(moments_, 0);
}

/// Of what this rank has, unless another one has the same. A row is in one of the rectangles.
void FactoredMoments::add_squares(const ShardPlace& place, const View& gradients, const View& sums) const {
  for (const Piece& p : place.pieces) {
    const LocalTensor& t = place.tensors[p.tensor];
    const Sides& s = sides_[p.tensor];
    for_rectangles(t, p, s.columns.each, [&](const Rectangle& r) {
      const View g = of_shard(gradients, place, r);
      if (s.rows.each > 0 && (t.first_copy || !s.rows.shared))
        place.device->row_dots(g, g, sums.slice(s.rows.first(r.matrix) + r.row, r.rows));
      if (t.first_copy || !s.columns.shared)
        place.device->column_dots(g, g, sums.slice(s.columns.first(r.matrix) + r.column, r.columns));
    });
  }
}

Tensor FactoredMoments::follow(const Rank& rank, const OptimizerStep& step, const ShardPlace& place,
                               const View& gradients) const {
  Tensor sums = place.device->allocate({"optimizer.factors", TensorKind::Transient, DType::Fp32}, 1,
                                       moments_.view().elements());
  place.device->fill(sums, 0);
  if (!step.skipped) add_squares(place, gradients, sums);
  const Call call = rank.call("optimizer.factors", Pass::Step, DType::Fp32);
  if (place.shard->size() > 1) place.shard->all_reduce(wire(sums), Reduction::Sum, call).wait();
  if (place.tensor->size() > 1 && shared_ > 0)
    place.tensor->all_reduce(wire(sums.view().slice(0, shared_)), Reduction::Sum, call).wait();
  if (!step.skipped) move(*place.device, step, sums);
  return sums;
}

/// Sums become roots. Constants: the defaults of huggingface/transformers optimization.py Adafactor, which
/// are the paper's (arXiv:1804.04235 sections 7.2 and 9).
void FactoredMoments::move(Device& device, const OptimizerStep& step, const View& sums) const {
  constexpr double kDecay = 0.8, kEpsilon = 1e-30;
  OptimizerUpdate update{.rule = UpdateRule::FactoredMoment};
  update.beta2 = 1 - std::pow(static_cast<double>(step.step), -kDecay);
  update.epsilon = kEpsilon;
  const auto run = [&](const Side& side, std::int64_t at, std::int64_t count, double factor) {
    update.second_moment = moments_.view().slice(at, count);
    update.gradient = update.direction = sums.slice(at, count);
    update.gradient_factor = step.gradient_factor * step.gradient_factor / static_cast<double>(side.summed);
    update.direction_factor = factor;
    device.update(update);
  };
  std::int64_t matrices = 0;
  for (const Sides& s : sides_) {
    run(s.whole(), s.whole().at, s.whole().each * s.matrices, 1);
    matrices += s.other().each > 0 ? s.matrices : 0;
  }
  if (matrices == 0) return;
  const Tensor sum = device.allocate({"optimizer.means", TensorKind::Transient, DType::Fp32}, 1, matrices);
  device.fill(sum, 0);
  const auto for_each_matrix = [&](const auto& visit) {
    std::int64_t number = 0;
    for (const Sides& s : sides_) {
      for (std::int64_t m = 0; s.other().each > 0 && m < s.matrices; ++m) visit(s, m, number++);
    }
  };
  for_each_matrix([&](const Sides& s, std::int64_t m, std::int64_t number) {
    const std::int64_t each = s.whole().each;
    device.column_sums(moments_.view().slice(s.whole().first(m), each).reshaped(each, 1),
                       sum.view().slice(number, 1));
  });
  std::vector<double> sums_of_matrices(static_cast<std::size_t>(matrices));
  device.download(sums_of_matrices, sum);
  for_each_matrix([&](const Sides& s, std::int64_t m, std::int64_t number) {
    const double mean =
        sums_of_matrices[static_cast<std::size_t>(number)] / static_cast<double>(s.whole().each);
    run(s.other(), s.other().first(m), s.other().each, std::sqrt(mean));
  });
}

void FactoredMoments::divide(const ShardPlace& place, const Piece& p, const View& gradients,
                             const View& roots, const View& out) const {
  const Sides& s = sides_[p.tensor];
  for_rectangles(place.tensors[p.tensor], p, s.columns.each, [&](const Rectangle& r) {
    const View to = of_shard(out, place, r);
    place.device->copy(to, of_shard(gradients, place, r));
    if (s.rows.each > 0) place.device->scale_rows(to, roots.slice(s.rows.first(r.matrix) + r.row, r.rows));
    place.device->scale_columns(to, roots.slice(s.columns.first(r.matrix) + r.column, r.columns));
  });
}

void FactoredMoments::visit(bool rows, const Visitor& visitor) const {
  for (const Sides& s : sides_) {
    const Side& side = rows ? s.rows : s.columns;
    if (side.each > 0) visitor(side.shape, moments_.view().slice(side.at, side.each * s.matrices));
  }
}

}  // namespace hexaplan::validator
