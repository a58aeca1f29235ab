#include "validator/measure/fit/fit_collectives.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "costmodel/communication/collective_time.h"
#include "validator/measure/fit/robust.h"

namespace hexaplan::validator {
namespace {

using costmodel::Bytes;
using costmodel::BytesPerSecond;
using costmodel::Calibration;
using costmodel::ClusterSpec;
using costmodel::CollectiveCurve;
using costmodel::CollectiveKind;
using costmodel::GroupPlacement;
using costmodel::Seconds;

using GroupKey = std::tuple<CollectiveKind, int, int, int, int>;  // kind, nodes, ranks, stride, groups
using SizesOfGroup = std::map<double, std::vector<double>>;       // payload → seconds

std::map<GroupKey, SizesOfGroup> by_group(std::span<const CollectiveSample> samples) {
  std::map<GroupKey, SizesOfGroup> groups;
  for (const CollectiveSample& s : samples) {
    if (s.seconds > 0 && s.payload.value() > 0)
      groups[{s.kind, s.nodes, s.ranks, s.stride, s.groups}][s.payload.value()].push_back(s.seconds);
  }
  return groups;
}

CollectiveLine line_of(const GroupKey& key, const SizesOfGroup& sizes) {
  // Divided by the measured time: an error of a tenth counts the same at every size.
  LinearProblem problem{.columns = 2, .rows = {}, .values = {}, .weights = {}, .penalty = {}};
  for (const auto& [payload, times] : sizes) {
    for (const double seconds : times) {
      problem.rows.insert(problem.rows.end(), {1 / seconds, payload / seconds});
      problem.values.push_back(1.0);
    }
  }
  const LinearFit fit = fit_robust(problem);
  const auto [kind, nodes, ranks, stride, groups] = key;
  CollectiveLine line{.kind = kind, .ranks = ranks, .nodes = nodes, .stride = stride, .groups = groups};
  line.points = static_cast<int>(problem.values.size());
  const double latency = std::max(fit.x[0], 0.0), per_byte = std::max(fit.x[1], 0.0);
  line.latency = Seconds{latency};
  line.latency_error = Seconds{fit.error[0]};
  line.rate = BytesPerSecond{per_byte > 0 ? 1 / per_byte : std::numeric_limits<double>::infinity()};
  line.rate_error = per_byte > 0 ? fit.error[1] / per_byte : 0;
  std::vector<double> errors;
  for (const double residual : fit.residuals)
    errors.push_back(std::abs(std::log(std::max(1 - residual, 1e-6))));
  line.median_error = median_of(std::move(errors));
  return line;
}

GroupPlacement place(const CollectiveSample& sample, const ClusterSpec& cluster) {
  ClusterSpec part = cluster;
  part.gpus = static_cast<std::int64_t>(sample.ranks) * sample.stride;
  costmodel::Layout layout;
  layout.tp = sample.stride;  // innermost: what lies between the members
  layout.dp = sample.ranks;
  GroupPlacement placement = place_group(layout, costmodel::Group::Data, part);
  if (sample.groups < sample.stride) placement.sharing = 1;  // nobody else talked
  return placement;
}

/// Fits the logarithms of the network's constants by damped Gauss-Newton steps over numeric slopes; each step
/// is a robust linear problem. A constant that no sample depends on has no slope and stays.
class NetworkFitter {
 public:
  NetworkFitter(std::span<const CollectiveSample> samples, const ClusterSpec& cluster,
                const Calibration& around)
      : cluster_{cluster}, around_{around} {
    for (const CollectiveSample& sample : samples) {
      if (sample.nodes < 2 || !(sample.seconds > 0)) continue;
      samples_.push_back(sample);
      places_.push_back(place(sample, cluster));
    }
  }
  [[nodiscard]] bool empty() const { return samples_.empty(); }

  NetworkFit fit() {
    const costmodel::NetworkModel& before = around_.network;
    Parameters at{std::log(0.8),
                  std::log(20e-6),
                  std::log(5e-6),
                  std::log(1 - before.contention_per_doubling),
                  std::log(before.pair_share),
                  std::log(before.exchange_share)};
    double damping = 1e-2, loss = loss_of(residuals(at));
    for (int i = 0; i < kMostSteps && damping < kHopeless; ++i) {
      const LinearFit step = linearised(at, damping);
      Parameters next = at;
      for (std::size_t j = 0; j < kCount; ++j) next[j] += std::clamp(step.x[j], -1.0, 1.0);
      for (std::size_t j = 0; j < kCount; ++j)
        next[j] = std::clamp(next[j], std::log(kRanges[j].least), std::log(kRanges[j].most));
      const double after = loss_of(residuals(next));
      damping *= after < loss ? 0.3 : 10.0;
      if (after < loss) {
        at = next;
        loss = after;
      }
    }
    const LinearFit spread = linearised(at, 1e-9);
    std::vector<double> errors = residuals(at);
    for (double& error : errors) error = std::abs(error);
    return {.model = around_.network,
            .points = static_cast<int>(errors.size()),
            .median_error = median_of(errors),
            .p90_error = quantile_of(errors, 0.9),
            .efficiency_error = spread.error[0],
            .measured_contention =
                any([](const GroupPlacement& lies, const CollectiveSample&) { return lies.sharing > 1; }),
            .measured_pairs = any([](const GroupPlacement&, const CollectiveSample& sample) {
              return sample.kind == CollectiveKind::SendRecv;
            }),
            .measured_exchange = any([](const GroupPlacement&, const CollectiveSample& sample) {
              return sample.kind == CollectiveKind::AllToAll;
            })};
  }

 private:
  static constexpr std::size_t kCount = 6;
  static constexpr int kMostSteps = 60;
  static constexpr double kHopeless = 1e8, kSlope = 1e-4;
  struct Range {
    double least, most;
  };
  /// As read_fabric: share, latencies in seconds, what a doubling of groups leaves, shares of pairs and
  /// all-to-alls.
  static constexpr Range kRanges[kCount] = {{1e-3, 1},  {1e-7, 1}, {1e-7, 1},
                                            {0.1, 1.5}, {0.01, 2}, {0.01, 2}};
  using Parameters = std::array<double, kCount>;

  void apply(const Parameters& p) {
    around_.network.bandwidth_efficiency = std::exp(p[0]);
    around_.network.base_latency = Seconds{std::exp(p[1])};
    around_.network.hop_latency = Seconds{std::exp(p[2])};
    around_.network.contention_per_doubling = 1 - std::exp(p[3]);
    around_.network.pair_share = std::exp(p[4]);
    around_.network.exchange_share = std::exp(p[5]);
  }
  template <class Is>
  [[nodiscard]] bool any(const Is& is) const {
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      if (is(places_[i], samples_[i])) return true;
    }
    return false;
  }
  std::vector<double> residuals(const Parameters& p) {
    apply(p);
    std::vector<double> result;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const double modelled =
          collective_cost(samples_[i].kind, samples_[i].payload, places_[i], cluster_, around_).time.value();
      result.push_back(std::log(samples_[i].seconds / modelled));
    }
    return result;
  }
  static double loss_of(const std::vector<double>& residuals) {
    double sum = 0;
    for (const double r : residuals) {
      const double far = std::abs(r);
      sum += far <= kOutlier ? r * r : kOutlier * (2 * far - kOutlier);
    }
    return sum;
  }
  LinearFit linearised(const Parameters& at, double damping) {
    const std::vector<double> here = residuals(at);
    LinearProblem problem{.columns = kCount,
                          .rows = std::vector<double>(here.size() * kCount),
                          .values = here,
                          .penalty = std::vector<double>(kCount * kCount)};
    for (std::size_t j = 0; j < kCount; ++j) {
      Parameters moved = at;
      moved[j] += kSlope;
      const std::vector<double> there = residuals(moved);
      for (std::size_t i = 0; i < here.size(); ++i)
        problem.rows[i * kCount + j] = (here[i] - there[i]) / kSlope;
      problem.penalty[j * (kCount + 1)] = damping;
    }
    return fit_robust(problem, kOutlier);
  }

  static constexpr double kOutlier = 0.15;  // of log(time)
  const ClusterSpec& cluster_;
  Calibration around_;
  std::vector<CollectiveSample> samples_;
  std::vector<GroupPlacement> places_;
};

}  // namespace

Seconds modelled_time(const CollectiveSample& sample, const ClusterSpec& cluster,
                      const Calibration& calibration) {
  return collective_cost(sample.kind, sample.payload, place(sample, cluster), cluster, calibration).time;
}

std::vector<CollectiveLine> fit_lines(std::span<const CollectiveSample> samples) {
  std::vector<CollectiveLine> lines;
  for (const auto& [key, sizes] : by_group(samples)) {
    if (sizes.size() >= 2) lines.push_back(line_of(key, sizes));
  }
  return lines;
}

std::vector<CollectiveCurve> fit_curves(std::span<const CollectiveSample> samples) {
  std::vector<CollectiveCurve> curves;
  for (const auto& [key, sizes] : by_group(samples)) {
    const auto [kind, nodes, ranks, stride, at_once] = key;
    if (nodes > 1 || stride > 1) continue;
    CollectiveCurve curve{.kind = kind, .ranks = ranks, .size = {}, .microseconds = {}};
    for (const auto& [payload, times] : sizes) {
      curve.size.log2.push_back(std::log2(payload));
      curve.microseconds.push_back(1e6 * median_of(times));
    }
    curve.microseconds = never_falling(curve.microseconds);
    curves.push_back(std::move(curve));
  }
  return curves;
}

std::optional<NetworkFit> fit_network(std::span<const CollectiveSample> samples, const ClusterSpec& cluster,
                                      const Calibration& around) {
  NetworkFitter fitter{samples, cluster, around};
  if (fitter.empty()) return std::nullopt;
  return fitter.fit();
}

}  // namespace hexaplan::validator
