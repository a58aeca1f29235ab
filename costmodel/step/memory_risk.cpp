#include "costmodel/step/memory_risk.h"

#include <cmath>
#include <limits>

namespace hexaplan::costmodel {

double memory_sigma(const FrameworkProfile& framework, const Calibration& calibration) {
  return std::hypot(calibration.memory_sigma, framework.memory_residual);
}

double out_of_memory_probability(Bytes peak, Bytes capacity, double sigma) {
  if (peak.value() <= 0) return 0;
  if (sigma <= 0) return capacity < peak ? 1 : 0;
  // P(x > capacity) for a log-normal x with median `peak`.
  return 0.5 * std::erfc(std::log(capacity / peak) / (sigma * std::sqrt(2.0)));
}

Bytes most_memory_at_risk(Bytes capacity, double risk, double sigma) {
  if (risk >= 1) return Bytes{std::numeric_limits<double>::infinity()};
  const auto keeps = [&](double peak) {
    return out_of_memory_probability(Bytes{peak}, capacity, sigma) <= risk;
  };
  // The chance grows with the peak: bisection until the two ends are neighbouring numbers.
  double least = 0, most = capacity.value();
  while (keeps(most)) {  // a risk above one half allows more than the capacity
    least = most;
    most *= 2;
    if (std::isinf(most)) return Bytes{most};
  }
  for (double middle = (least + most) / 2; middle > least && middle < most; middle = (least + most) / 2) {
    (keeps(middle) ? least : most) = middle;
  }
  return Bytes{least};
}

}  // namespace hexaplan::costmodel
