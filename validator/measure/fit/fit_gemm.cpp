#include "validator/measure/fit/fit_gemm.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "costmodel/compute/kernel_time.h"
#include "validator/measure/fit/robust.h"

namespace hexaplan::validator {
namespace {

using costmodel::Axis1d;
using costmodel::Calibration;
using costmodel::GemmCurve;
using costmodel::GpuSpec;
using costmodel::Precision;

// Tried in turn; presets/calibration/fit_kernels.py tries the same on published measurements, apart from the
// short loops, which processors have.
constexpr double kQuantisations[] = {0.2, 0.4, 0.6};
constexpr double kSmallTileCosts[] = {1.05, 1.15};
constexpr double kHalves[] = {20, 60, 160, 240, 320};
/// Corrections as large as this (log2) are taken for outliers' work.
constexpr double kHuberCells = 0.08;
/// Neighbours of the grid pull each other this much, and all of them towards none.
constexpr double kSmoothness = 1.5, kRidge = 0.02;
/// The same error with less correction is the better curve: physics first.
constexpr double kPriceOfCorrection = 0.05;
constexpr double kWorstCounted = 0.3;
constexpr std::size_t kEnoughToHoldOut = 20;
constexpr double kMostShare = 1.5;  // read_calibration
/// Corrections rise this much below what would let time fall: figures are rounded in the file.
constexpr double kMargin = 0.95, kSteepestArea = 0.9;
/// Below this share of the time a launch hides what the curve says; above that one the memory does.
constexpr double kLeastNet = 0.1, kMostMemory = 0.9;
/// A sample of this many launches counts half as much as a long one.
constexpr double kLaunchesThatMatter = 10;
constexpr int kMostKnots = 13, kMostDepths = 8;

/// Knots at whole powers of two around all values.
Axis1d knots_around(const std::vector<double>& log2, int most) {
  const auto [low, high] = std::minmax_element(log2.begin(), log2.end());
  const double first = std::floor(*low), last = std::max(std::ceil(*high), first + 1);
  const double step = std::max(1.0, std::ceil((last - first) / (most - 1)));
  Axis1d axis;
  for (double knot = first; axis.log2.empty() || axis.log2.back() < last; knot += step)
    axis.log2.push_back(knot);
  return axis;
}

/// Weights of the two knots around x, as the cost model interpolates.
struct Hat {
  std::size_t below = 0;
  double weight = 0;
};
Hat hat(const Axis1d& axis, double x) {
  const std::vector<double>& k = axis.log2;
  const double at = std::clamp(x, k.front(), k.back());
  const auto next = std::upper_bound(k.begin() + 1, k.end() - 1, at);
  const auto below = static_cast<std::size_t>(next - k.begin()) - 1;
  return {below, (at - k[below]) / (k[below + 1] - k[below])};
}

std::vector<double> smoothness(std::size_t areas, std::size_t depths) {
  const std::size_t n = areas * depths;
  std::vector<double> penalty(n * n, 0.0);
  const auto pull = [&](std::size_t a, std::size_t b) {
    penalty[a * n + a] += kSmoothness;
    penalty[b * n + b] += kSmoothness;
    penalty[a * n + b] -= kSmoothness;
    penalty[b * n + a] -= kSmoothness;
  };
  for (std::size_t i = 0; i < areas; ++i) {
    for (std::size_t j = 0; j < depths; ++j) {
      if (i + 1 < areas) pull(i * depths + j, (i + 1) * depths + j);
      if (j + 1 < depths) pull(i * depths + j, i * depths + j + 1);
      penalty[(i * depths + j) * (n + 1)] += kRidge;
    }
  }
  return penalty;
}

/// Lowers each correction that is too large beside its neighbours as they are; whether there was one.
bool lower_steep(GemmCurve& curve) {
  const std::vector<double>&area = curve.area.log2, &depth = curve.depth.log2;
  const std::size_t columns = depth.size();
  bool changed = false;
  const auto lower = [&](std::size_t cell, double most) {
    if (curve.correction[cell] <= most + 1e-9) return;
    curve.correction[cell] = most;
    changed = true;
  };
  const auto most_rise = [&](std::size_t j) {
    const double k = std::exp2(depth[j - 1]);
    return kMargin * (depth[j] - depth[j - 1]) * k / (k + curve.k_half);
  };
  for (std::size_t i = 0; i < area.size(); ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t cell = i * columns + j;
      if (j > 0) lower(cell, curve.correction[cell - 1] + most_rise(j));
      if (i > 0) lower(cell, curve.correction[cell - columns] + kSteepestArea * (area[i] - area[i - 1]));
    }
  }
  return changed;
}

/// Lowers corrections under which time would fall as a shape grows (presets::read_calibration refuses them).
void limit_slopes(GemmCurve& curve) {
  while (lower_steep(curve)) {
  }
}

double rounded(double value, double unit) {
  return std::round(value / unit) * unit;
}

class GemmFitter {
 public:
  GemmFitter(std::span<const GemmSample> samples, Precision precision, const GpuSpec& gpu,
             const Calibration& around)
      : samples_{samples}, precision_{precision}, gpu_{gpu}, around_{around} {
    around_.sustained = around_.grouped = 1;
    curve() = {};
    peak_ = gpu.peak_of(precision).value() > 0 ? gpu.peak_of(precision).value() : gpu.peak_vector.value();
    assert(peak_ > 0);
    net_ = net_seconds();
  }

  GemmFit fit() {
    const std::vector<bool> everything(samples_.size(), true);
    std::vector<bool> seen = everything;
    if (samples_.size() >= kEnoughToHoldOut) {
      for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = i % 4 != 3;  // plans are shuffled
    }
    choose(seen);
    GemmFit result;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (!seen[i]) result.held_out.push_back({residual(i), samples_[i].seconds});
    }
    solve(everything);
    result.curve = curve();
    result.curve.provenance = costmodel::Provenance::Measured;
    std::vector<double> residuals;
    for (std::size_t i = 0; i < samples_.size(); ++i) residuals.push_back(residual(i));
    result.share_error = robust_sigma(residuals) / std::sqrt(static_cast<double>(residuals.size()));
    return result;
  }

 private:
  GemmCurve& curve() { return around_.gemm[static_cast<std::size_t>(precision_)]; }

  /// log(measured/predicted) under the curve as it is.
  double residual(std::size_t i) const {
    const double predicted = gemm_time(samples_[i].shape, precision_, gpu_, around_).value();
    return std::log(samples_[i].seconds / predicted);
  }

  /// Of a sample: what launches add and how they overlap matters less the longer it takes.
  [[nodiscard]] double weight(std::size_t i) const {
    const double seconds = samples_[i].seconds;
    return seconds / (seconds + kLaunchesThatMatter * around_.launch_floor.value());
  }

  /// Time that the curve has to explain, per sample; nothing where the memory explains it.
  std::vector<std::optional<double>> net_seconds() {
    Calibration instant = around_;
    instant.gemm[static_cast<std::size_t>(precision_)].share = 1e6;
    const double floor = around_.launch_floor.value();
    std::vector<std::optional<double>> result;
    for (const GemmSample& sample : samples_) {
      const double net = sample.seconds - floor;
      const double memory = gemm_time(sample.shape, precision_, gpu_, instant).value() - floor;
      const bool says_nothing = net <= kLeastNet * sample.seconds || memory > kMostMemory * net;
      result.push_back(says_nothing ? std::nullopt : std::optional{net});
    }
    return result;
  }

  void choose(const std::vector<bool>& seen) {
    std::optional<GemmCurve> best;
    double least = std::numeric_limits<double>::infinity();
    const auto try_out = [&](double quantisation, double cost, double half) {
      curve().quantisation = quantisation;
      curve().tiles[2].cost = cost;
      curve().k_half = half;
      solve(seen);
      const double loss = loss_over(seen);
      if (loss < least) {
        least = loss;
        best = curve();
      }
    };
    for (const double q : kQuantisations) {
      for (const double cost : kSmallTileCosts) {
        for (const double half : kHalves) try_out(q, cost, half);
      }
    }
    curve() = *best;
  }

  double loss_over(const std::vector<bool>& seen) {
    double sum = 0, count = 0, squares = 0;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      if (!seen[i]) continue;
      sum += weight(i) * std::min(std::abs(residual(i)), kWorstCounted);
      count += weight(i);
    }
    for (const double c : curve().correction) squares += c * c;
    const auto cells = static_cast<double>(std::max<std::size_t>(curve().correction.size(), 1));
    return sum / count + kPriceOfCorrection * std::sqrt(squares / cells);
  }

  /// Share and correction for the constants that the curve has.
  void solve(const std::vector<bool>& seen) {
    std::vector<double> area, depth, rate, weights;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const GemmSample& sample = samples_[i];
      const std::optional<double>& net = net_[i];
      if (!seen[i] || !net) continue;
      const double a = quantised_area(curve(), sample.shape, gpu_.sm_count);
      const auto k = static_cast<double>(sample.shape.k);
      area.push_back(std::log2(a));
      depth.push_back(std::log2(k));
      rate.push_back(std::log2(2 * a * (k + curve().k_half) / *net / peak_));
      weights.push_back(weight(i));
    }
    if (rate.empty()) return;  // the memory explains them all
    const double centre = median_of(rate);
    curve().share = std::min(rounded(std::exp2(centre), 1e-6), kMostShare);
    curve().area = knots_around(area, kMostKnots);
    curve().depth = knots_around(depth, kMostDepths);
    curve().correction = corrections(area, depth, rate, weights, centre);
    limit_slopes(curve());
  }

  std::vector<double> corrections(const std::vector<double>& area, const std::vector<double>& depth,
                                  const std::vector<double>& rate, const std::vector<double>& weights,
                                  double centre) {
    const std::size_t areas = curve().area.log2.size(), depths = curve().depth.log2.size();
    LinearProblem problem{.columns = areas * depths,
                          .rows = {},
                          .values = {},
                          .weights = weights,
                          .penalty = smoothness(areas, depths)};
    problem.rows.resize(rate.size() * problem.columns, 0.0);
    for (std::size_t i = 0; i < rate.size(); ++i) {
      const Hat a = hat(curve().area, area[i]), d = hat(curve().depth, depth[i]);
      double* row = problem.rows.data() + i * problem.columns + a.below * depths + d.below;
      row[0] = (1 - a.weight) * (1 - d.weight);
      row[1] = (1 - a.weight) * d.weight;
      row[depths] = a.weight * (1 - d.weight);
      row[depths + 1] = a.weight * d.weight;
      problem.values.push_back(rate[i] - centre);
    }
    std::vector<double> cells = fit_robust(problem, kHuberCells).x;
    for (double& cell : cells) cell = rounded(std::clamp(cell, -9.0, 9.0), 1e-3);
    return cells;
  }

  std::span<const GemmSample> samples_;
  Precision precision_;
  const GpuSpec& gpu_;
  Calibration around_;
  double peak_ = 0;
  std::vector<std::optional<double>> net_;
};

}  // namespace

GemmFit fit_gemm(std::span<const GemmSample> samples, Precision precision, const GpuSpec& gpu,
                 const Calibration& around) {
  assert(!samples.empty());
  return GemmFitter{samples, precision, gpu, around}.fit();
}

}  // namespace hexaplan::validator
