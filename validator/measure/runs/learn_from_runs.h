#pragma once
#include <functional>
#include <string>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/scenario.h"
#include "validator/measure/accuracy/measured_case.h"
#include "validator/measure/runs/learn_constants.h"

// The constants of a cluster and a software version, corrected by runs of one's own (docs/calibration.md).
namespace hexaplan::validator {

/// A run and what was measured of it: its step, its reserved memory, or both.
struct OwnRun {
  MeasuredCase measured;  // family: runs with equal inputs count as one
  costmodel::Scenario scenario;
};

/// Curves of a run's cluster.
using CurvesOf = std::function<const costmodel::Calibration&(const costmodel::ClusterSpec&)>;

/// One figure of a run, beside its prediction. Seconds or bytes.
struct LearnedFigure {
  std::string id;
  bool memory = false;
  double measured = 0;
  double before = 0, after = 0;        // predicted with the presets' constants, and with the learned ones
  double trust = 1;                    // LearnedConstants::trust
  costmodel::RunCorrections taught{};  // ln(factor) with it, less without it
  [[nodiscard]] bool disturbed() const { return trust < kDisturbedTrust; }
};

struct RunLearning {
  LearnedConstants constants;
  std::vector<LearnedFigure> figures;  // those that can be predicted, in the order of the runs
};

/// First-order evidence of every configuration: central differences of ln(predicted) about `at`. Empty when a
/// rule rejects the scenario or nothing was measured.
[[nodiscard]] std::vector<RunEvidence> evidence_of(const OwnRun& run, const costmodel::Calibration& curves,
                                                   const costmodel::RunCorrections& at);

/// Learns by Gauss and Newton: evidence about the present constants, learn_constants, and again until they
/// stay.
[[nodiscard]] RunLearning learn_from_runs(const std::vector<OwnRun>& runs, const CurvesOf& curves);

}  // namespace hexaplan::validator
