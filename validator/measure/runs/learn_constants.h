#pragma once
#include <array>
#include <cstddef>
#include <vector>

#include "costmodel/calibrate/run_constants.h"

namespace hexaplan::validator {

/// What one measured figure says of the constants, to first order about some point.
struct RunEvidence {
  /// ln(measured / predicted) with the constants as the presets say.
  double residual = 0;
  costmodel::RunCorrections slope{};  // d ln(predicted) / d ln(factor)
  double weight = 1;                  // of one of n runs of the same configuration: 1/n
};

/// How far a run lies from a prediction with its constants right, before any run was seen: the scale of
/// ln(measured / predicted), whose tails are Student's with four degrees of freedom. Chosen over published
/// runs (docs/accuracy.md). The runs move it, as if it had been seen kScaleRuns times.
inline constexpr double kRunScale = 0.08, kScaleRuns = 3;
/// A figure trusted less than this looks disturbed: it lies beyond 2.4 scales.
inline constexpr double kDisturbedTrust = 0.5;

/// ln of the factors, given the runs.
struct LearnedConstants {
  costmodel::RunCorrections value{};  // 0: the runs do not tell
  costmodel::RunCorrections sigma{};  // one standard deviation; the prior's where they do not tell
  std::array<bool, costmodel::kRunConstantCount> told{};
  double scale = kRunScale;   // of what is left, given the runs
  std::vector<double> trust;  // of each figure: 1 about the middle, towards 0 the further out it lies
};

/// Posterior of the constants with the priors of run_constants(): iteratively weighted least squares, each
/// figure weighted by (ν + 1) / (ν + (rest/scale)²), and the scale after each pass (K. L. Lange, R. J. A.
/// Little, J. M. G. Taylor, JASA 84, 1989). A constant whose deviation the runs do not bring 3 % below that
/// of its prior stays where the presets have it.
[[nodiscard]] LearnedConstants learn_constants(const std::vector<RunEvidence>& runs);

/// ln(measured / predicted) that is left of a figure.
[[nodiscard]] double rest_of(const RunEvidence& run, const costmodel::RunCorrections& value);

}  // namespace hexaplan::validator
