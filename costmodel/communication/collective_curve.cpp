#include "costmodel/communication/collective_curve.h"

#include <algorithm>
#include <cmath>

namespace hexaplan::costmodel {
namespace {

constexpr double kMicro = 1e-6;

/// Beyond the last point: the rate of the last segment, or the point's own where that would be no growth.
double beyond(const CollectiveCurve& curve, double bytes) {
  const double last_size = std::exp2(curve.size.log2.back());
  const double last = curve.microseconds.back();
  double per_byte = last / last_size;
  if (curve.microseconds.size() > 1) {
    const std::size_t before = curve.microseconds.size() - 2;
    const double slope =
        (last - curve.microseconds[before]) / (last_size - std::exp2(curve.size.log2[before]));
    per_byte = slope > 0 ? slope : per_byte;
  }
  return last + (bytes - last_size) * per_byte;
}

}  // namespace

Seconds time_on(const CollectiveCurve& curve, Bytes payload) {
  const std::vector<double>& sizes = curve.size.log2;
  const double at = std::log2(std::max(payload.value(), 1.0));
  if (at <= sizes.front()) {
    return Seconds{curve.microseconds.front() * kMicro};
  }
  if (at >= sizes.back()) {
    return Seconds{beyond(curve, payload.value()) * kMicro};
  }
  const auto above =
      static_cast<std::size_t>(std::upper_bound(sizes.begin(), sizes.end(), at) - sizes.begin());
  const double share = (at - sizes[above - 1]) / (sizes[above] - sizes[above - 1]);
  const double low = curve.microseconds[above - 1];
  return Seconds{low * std::pow(curve.microseconds[above] / low, share) * kMicro};
}

CurvePair nearest_curves(std::span<const CollectiveCurve> curves, CollectiveKind kind, std::int64_t ranks) {
  CurvePair pair;
  for (const CollectiveCurve& curve : curves) {
    if (curve.kind != kind || curve.microseconds.empty()) {
      continue;
    }
    if (curve.ranks <= ranks && (pair.below == nullptr || curve.ranks > pair.below->ranks)) {
      pair.below = &curve;
    }
    if (curve.ranks >= ranks && (pair.above == nullptr || curve.ranks < pair.above->ranks)) {
      pair.above = &curve;
    }
  }
  if (pair.below == nullptr) {
    pair.below = pair.above;
  }
  if (pair.above == nullptr) {
    pair.above = pair.below;
  }
  return pair;
}

}  // namespace hexaplan::costmodel
