#include "validator/measure/fit/fit_memory.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "validator/measure/fit/robust.h"

namespace hexaplan::validator {
namespace {

using costmodel::Provenance;
using costmodel::Seconds;

/// Of a kernel's largest traffic: sizes above it say the rate. With sizes in steps of four these are three,
/// whose median one disturbed point or one that half fits a cache does not move.
constexpr double kLargeFrom = 1.0 / 16;
/// Shorter than so many launches, a kernel's time is that of launching it.
constexpr double kLongerThanLaunch = 1.3;
/// Of a sample's time, what a ramp leaves of it at least.
constexpr double kLeastStreaming = 0.2;
constexpr int kRoundsToSettle = 50;
constexpr double kSettledRamp = 1e-12;
constexpr double kMostShareOfBandwidth = 1.0;  // read_calibration
/// Standard deviation of a median over that of a mean, of many normal values.
constexpr double kMedianError = 1.2533;

using Samples = std::vector<const KernelSample*>;

/// Kernels in the order in which they first come.
std::vector<Samples> by_kernel(std::span<const KernelSample> samples) {
  std::vector<Samples> result;
  for (const KernelSample& sample : samples) {
    assert(sample.bytes > 0 && sample.seconds > 0);
    auto same = std::find_if(result.begin(), result.end(),
                             [&](const Samples& s) { return s.front()->kernel == sample.kernel; });
    if (same == result.end()) same = result.insert(result.end(), Samples{});
    same->push_back(&sample);
  }
  return result;
}

double rate_beside(const KernelSample& sample, double ramp) {
  return sample.bytes / std::max(sample.seconds - ramp, kLeastStreaming * sample.seconds);
}

/// Rate and ramp of one kernel.
class LineFitter {
 public:
  LineFitter(const Samples& samples, double launch_floor) : launch_floor_{launch_floor} {
    double most = 0;
    for (const KernelSample* sample : samples) most = std::max(most, sample->bytes);
    for (const KernelSample* sample : samples) {
      if (sample->bytes >= kLargeFrom * most) {
        large_.push_back(sample);
      } else if (sample->seconds > kLongerThanLaunch * launch_floor) {
        small_.push_back(sample);
      }
    }
    solve();
  }
  [[nodiscard]] double rate() const { return rate_; }
  [[nodiscard]] double ramp() const { return ramp_; }
  [[nodiscard]] const Samples& large() const { return large_; }
  [[nodiscard]] std::vector<double> ramps() const { return ramps_of(small_.empty() ? large_ : small_); }

 private:
  void solve() {
    if (small_.empty()) return solve_among_large();
    // Each is the median given the other; sizes that tell ramps are small beside those that tell rates, so
    // that this settles at once.
    for (int i = 0; i < kRoundsToSettle; ++i) {
      rate_ = median_rate();
      const double before = std::exchange(ramp_, std::max(median_of(ramps_of(small_)), 0.0));
      if (std::abs(ramp_ - before) < kSettledRamp) return;
    }
  }
  /// The line of Theil and Sen (P. K. Sen, J. Am. Stat. Assoc. 63, 1968): the median of all slopes.
  void solve_among_large() {
    std::vector<double> seconds_per_byte;
    for (std::size_t i = 0; i < large_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const double bytes = large_[i]->bytes - large_[j]->bytes;
        const double slope = (large_[i]->seconds - large_[j]->seconds) / bytes;
        if (bytes != 0 && slope > 0) seconds_per_byte.push_back(slope);
      }
    }
    ramp_ = launch_floor_;  // where one size tells no ramp
    rate_ = median_rate();
    if (seconds_per_byte.empty()) return;
    rate_ = 1 / median_of(std::move(seconds_per_byte));
    ramp_ = std::max(median_of(ramps_of(large_)), 0.0);
  }
  [[nodiscard]] double median_rate() const {
    std::vector<double> rates;
    for (const KernelSample* sample : large_) rates.push_back(rate_beside(*sample, ramp_));
    return median_of(std::move(rates));
  }
  [[nodiscard]] std::vector<double> ramps_of(const Samples& samples) const {
    std::vector<double> ramps;
    for (const KernelSample* sample : samples) ramps.push_back(sample->seconds - sample->bytes / rate_);
    return ramps;
  }

  double launch_floor_;
  Samples large_, small_;
  double rate_ = 0, ramp_ = 0;
};

/// Rate or ramp of every kernel.
std::vector<double> of_each(const std::vector<LineFitter>& lines, double (LineFitter::*what)() const) {
  std::vector<double> values(lines.size());
  std::transform(lines.begin(), lines.end(), values.begin(), std::mem_fn(what));
  return values;
}

double mixed_rate(const std::vector<LineFitter>& lines, KernelMix mix) {
  if (mix == KernelMix::Median) return median_of(of_each(lines, &LineFitter::rate));
  double bytes = 0, seconds = 0;
  for (const LineFitter& line : lines) {
    const double weight = line.large().front()->weight;
    bytes += weight;
    seconds += weight / line.rate();
  }
  return bytes / seconds;
}

/// Each kernel's launch has its ramp: one after all, a kernel has the mean.
double mixed_ramp(const std::vector<LineFitter>& lines, KernelMix mix) {
  const std::vector<double> ramps = of_each(lines, &LineFitter::ramp);
  if (mix == KernelMix::Median) return median_of(ramps);
  return std::accumulate(ramps.begin(), ramps.end(), 0.0) / static_cast<double>(ramps.size());
}

/// Of the middle of as many kernels as there are, whose points lie around it as these residuals say. Where
/// all kernels are alike this is too wide, since each kernel has several points.
double error_of_middle(const std::vector<double>& residuals, std::size_t kernels) {
  return kMedianError * robust_sigma(residuals) / std::sqrt(static_cast<double>(kernels));
}

}  // namespace

MemoryFit fit_memory(std::span<const KernelSample> samples, KernelMix mix, const costmodel::GpuSpec& gpu,
                     Seconds launch_floor) {
  assert(!samples.empty());
  const double bandwidth = gpu.memory_bandwidth.value();
  std::vector<LineFitter> lines;
  MemoryFit fit;
  for (const Samples& kernel : by_kernel(samples)) {
    const LineFitter& line = lines.emplace_back(kernel, launch_floor.value());
    fit.kernels.push_back({.kernel = kernel.front()->kernel,
                           .points = static_cast<int>(kernel.size()),
                           .share = line.rate() / bandwidth,
                           .ramp = line.ramp()});
  }
  const double rate = mixed_rate(lines, mix), ramp = mixed_ramp(lines, mix);
  fit.curve = {.share = std::min(rate / bandwidth, kMostShareOfBandwidth),
               .ramp = Seconds{ramp},
               .provenance = Provenance::Measured};
  std::vector<double> rates_off, ramps_off;
  for (const LineFitter& line : lines) {
    for (const KernelSample* sample : line.large())
      rates_off.push_back(std::log(rate_beside(*sample, line.ramp()) / rate));
    for (const double of_sample : line.ramps()) ramps_off.push_back(of_sample - ramp);
  }
  fit.share_error = error_of_middle(rates_off, lines.size());
  fit.ramp_error = error_of_middle(ramps_off, lines.size());
  return fit;
}

}  // namespace hexaplan::validator
