#pragma once
#include <span>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/compute/operation.h"
#include "costmodel/spec/cluster_spec.h"

namespace hexaplan::validator {

/// One GEMM and how long it took alone, for a short time.
struct GemmSample {
  costmodel::GemmShape shape;
  double seconds = 0;
};

/// A sample that a trial fit did not see, and how far it was off.
struct HeldOut {
  double error = 0, seconds = 0;  // log(measured/predicted); measured
};

/// A fitted curve and how far it is off, as log(measured/predicted).
struct GemmFit {
  costmodel::GemmCurve curve;
  std::vector<HeldOut> held_out;  // empty below 20 samples
  double share_error = 0;         // one standard deviation of log(share)
};

/// Fits share, k_half, quantisation, the cost of the 128×128 tile and the correction over area and depth
/// [docs/formulas.md#T1] to samples of one precision, so that time never falls as a shape grows. `around`
/// gives what is no part of the curve: launch floor and memory. Robust against outliers; samples count by
/// their time t as t/(t + 10 launches), since steps spend their time in long ones. Samples that move memory
/// longer than they compute say nothing and are left out. Precondition: samples are not empty.
[[nodiscard]] GemmFit fit_gemm(std::span<const GemmSample> samples, costmodel::Precision precision,
                               const costmodel::GpuSpec& gpu, const costmodel::Calibration& around);

}  // namespace hexaplan::validator
