#include "validator/measure/runs/steady_steps.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "validator/measure/fit/robust.h"

namespace hexaplan::validator {
namespace {

using costmodel::Seconds;
using Indices = std::vector<std::size_t>;

struct CutSteps {
  double sigmas, share;
};
constexpr CutSteps kWarmUp{3, 0.02}, kDisturbed{5, 0.05};
constexpr std::size_t kLeastForDrift = 9;

std::vector<double> times_of(const std::vector<TimedStep>& steps, std::span<const std::size_t> which) {
  std::vector<double> times;
  times.reserve(which.size());
  for (const std::size_t i : which) times.push_back(steps[i].time.value());
  return times;
}

double sigma_around(const std::vector<double>& values, double middle) {
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(value - middle);
  return robust_sigma(distances);
}

double distance_allowed(const std::vector<double>& times, double middle, const CutSteps& cut) {
  return std::max(cut.sigmas * sigma_around(times, middle), cut.share * middle);
}

/// How many of a part's first steps are slower than its second half.
std::size_t warm_up_of(const std::vector<TimedStep>& steps, std::span<const std::size_t> part) {
  const std::vector<double> later = times_of(steps, part.subspan(part.size() / 2));
  const double middle = median_of(later);
  const double most = middle + distance_allowed(later, middle, kWarmUp);
  std::size_t count = 0;
  while (count < part.size() / 2 && steps[part[count]].time.value() > most) ++count;
  return count;
}

/// Parts of a run between its starts.
std::vector<Indices> parts_of(const std::vector<TimedStep>& steps) {
  std::vector<Indices> parts;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i == 0 || steps[i].iteration < steps[i - 1].iteration) parts.emplace_back();
    parts.back().push_back(i);
  }
  return parts;
}

double drift_of(const std::vector<double>& times) {
  if (times.size() < kLeastForDrift) return 0;
  const auto third = static_cast<std::ptrdiff_t>(times.size() / 3);
  const double first = median_of({times.begin(), times.begin() + third});
  const double last = median_of({times.end() - third, times.end()});
  return last / first - 1;
}

}  // namespace

SteadySteps steady_steps(const std::vector<TimedStep>& steps) {
  SteadySteps result;
  Indices warm;
  for (const Indices& part : parts_of(steps)) {
    const std::size_t cold = warm_up_of(steps, part);
    result.warm_up.insert(result.warm_up.end(), part.begin(),
                          part.begin() + static_cast<std::ptrdiff_t>(cold));
    warm.insert(warm.end(), part.begin() + static_cast<std::ptrdiff_t>(cold), part.end());
  }
  const std::vector<double> candidates = times_of(steps, warm);
  const double middle = median_of(candidates);
  const double allowed = distance_allowed(candidates, middle, kDisturbed);
  for (const std::size_t i : warm) {
    const bool steady = std::abs(steps[i].time.value() - middle) <= allowed;
    (steady ? result.used : result.disturbed).push_back(i);
  }
  const std::vector<double> times = times_of(steps, result.used);
  const double median = median_of(times);
  result.median = Seconds{median};
  result.low = Seconds{quantile_of(times, 0.1)};
  result.high = Seconds{quantile_of(times, 0.9)};
  result.spread = sigma_around(times, median) / median;
  result.drift = drift_of(times);
  return result;
}

}  // namespace hexaplan::validator
