#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/cluster_spec.h"
#include "validator/measure/fit/fit_collectives.h"
#include "validator/measure/sweep/point.h"

namespace hexaplan::validator {

/// One fitted constant and its 95 % interval.
struct FittedNumber {
  std::string name;  // as the calibration file has it, "memory.share"
  double value = 0, low = 0, high = 0;
  std::string unit;  // "s", "B/s"; empty: a ratio
  std::string how;   // one line: from what
};

/// How far the fitted curves are from what was measured, over one kind of point: |log(measured/predicted)|.
/// Points that the host's launches bound are a kind of their own ("gemm, launches"), which no curve is of.
struct FitError {
  std::string kind;
  int points = 0;
  double median = 0, p90 = 0;
  int held_out = 0;  // points that a trial fit did not see, and its error there
  double held_out_median = 0, held_out_p90 = 0;
  double share = 0;  // of the bandwidth that this memory-bound kernel has itself; 0: another kind
};

/// One point against its curve.
struct PointResidual {
  std::string point;
  double measured = 0, predicted = 0;  // seconds
  double spread = 0;                   // of the measurement, relative
};

struct CalibrationFit {
  costmodel::Calibration calibration;
  std::vector<costmodel::Precision> gemm_precisions;  // whose curves were measured
  std::vector<std::int64_t> head_dims;                // whose attention curves were measured
  std::vector<FittedNumber> numbers;
  std::vector<FitError> errors;
  std::vector<PointResidual> residuals;  // worst first
  std::vector<CollectiveLine> lines;
  std::optional<NetworkFit> network;
  double overlap_slowdown = 0;  // of compute while a collective runs beside it; 0 = not measured
  bool measured_sustained = false, measured_grouped = false, measured_accumulation = false;
  bool measured_memory = false, measured_launch = false, measured_optimizer = false;
  bool measured_unmasked = false, measured_windowed = false;
};

/// Fits every curve that the measurements speak of; the others stay as in `fallback`. All fits are robust.
/// What is predicted is what the cost model says of the same shape under the new curves.
[[nodiscard]] CalibrationFit fit_calibration(std::span<const Measurement> measurements,
                                             const costmodel::ClusterSpec& cluster,
                                             const costmodel::Calibration& fallback);

}  // namespace hexaplan::validator
