#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/cluster_spec.h"

namespace hexaplan::validator {

/// One memory-bound kernel at one size.
struct KernelSample {
  std::string kernel;
  double bytes = 0, seconds = 0;  // bytes read and written
  double weight = 1;  // of the kernel where kernels follow one another: bytes that a step moves with it
};

/// One kernel's own line, seconds = ramp + bytes/(share·bandwidth).
struct KernelLine {
  std::string kernel;
  int points = 0;
  double share = 0, ramp = 0;  // of the bandwidth; seconds
};

/// Which of several kernels a curve is of.
enum class KernelMix : std::uint8_t {
  Median,       // the median kernel's share and ramp: steps run some of each kind
  OneAfterAll,  // one after the other over their weights: the time of all of them together
};

struct MemoryFit {
  costmodel::MemoryCurve curve;
  std::vector<KernelLine> kernels;         // in the order of the samples
  double share_error = 0, ramp_error = 0;  // one standard deviation: relative; seconds
};

/// Fits ramp and share of the bandwidth [docs/formulas.md#T3]. Each kernel has a line of its own: its largest
/// sizes, down to 1/16 of the largest traffic, say its rate by their median, since caches serve part of what
/// smaller ones read and write; all smaller sizes that take longer than launches do say its ramp. The curve
/// is a mix of these lines, so that one slow kernel bends no other's. Precondition: samples are not empty,
/// bytes and seconds above 0.
[[nodiscard]] MemoryFit fit_memory(std::span<const KernelSample> samples, KernelMix mix,
                                   const costmodel::GpuSpec& gpu, costmodel::Seconds launch_floor);

}  // namespace hexaplan::validator
