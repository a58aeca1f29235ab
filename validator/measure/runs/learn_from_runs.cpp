#include "validator/measure/runs/learn_from_runs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "costmodel/step/estimate.h"

namespace hexaplan::validator {
namespace {

using costmodel::Calibration;
using costmodel::Estimate;
using costmodel::kRunConstantCount;
using costmodel::RunCorrections;
using costmodel::Scenario;

constexpr double kStep = 0.05;  // of ln(factor), for differences
constexpr int kMostRounds = 5;
constexpr double kStays = 1e-3;

Estimate estimate_at(const OwnRun& run, const Calibration& curves, const RunCorrections& at) {
  Scenario scenario = run.scenario;
  Calibration corrected = curves;
  correct(scenario.framework, at);
  correct(corrected, at);
  return costmodel::estimate_step(scenario, corrected);
}

struct Figure {
  double measured = 0, predicted = 0;
  bool memory = false;
};

/// What of the run can be learned from, in a fixed order; predicted 0: a rule rejects it.
std::vector<Figure> figures_of(const OwnRun& run, const Estimate& estimate) {
  std::vector<Figure> figures;
  if (run.measured.step) figures.push_back({run.measured.step->value(), estimate.time.total().value()});
  for (const MeasuredMemory& m : run.measured.memory) {
    if (m.kind == MemoryKind::Reserved)
      figures.push_back({m.bytes.value(), predicted_memory(estimate, m.kind, m.scope).value(), true});
  }
  if (estimate.stages.empty()) figures.clear();
  return figures;
}

/// Runs of one configuration weigh as one.
void weigh(std::vector<RunEvidence>& evidence, const std::vector<std::string>& keys) {
  std::map<std::string, int> count;
  for (const std::string& key : keys) ++count[key];
  for (std::size_t i = 0; i < evidence.size(); ++i) evidence[i].weight = 1.0 / count[keys[i]];
}

/// Everything that the runs say about the constants `at`.
std::vector<RunEvidence> all_evidence(const std::vector<OwnRun>& runs, const CurvesOf& curves,
                                      const RunCorrections& at) {
  std::vector<RunEvidence> all;
  std::vector<std::string> keys;
  for (const OwnRun& run : runs) {
    int figure = 0;
    for (const RunEvidence& one : evidence_of(run, curves(run.scenario.cluster), at)) {
      all.push_back(one);
      keys.push_back(run.measured.family + '\n' + std::to_string(figure++));
    }
  }
  weigh(all, keys);
  return all;
}

double furthest(const RunCorrections& a, const RunCorrections& b) {
  double most = 0;
  for (std::size_t i = 0; i < kRunConstantCount; ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

/// What each figure moved: the constants with it, less those without it.
std::vector<RunCorrections> lessons(const std::vector<RunEvidence>& evidence, const RunCorrections& value) {
  std::vector<RunCorrections> taught;
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    std::vector<RunEvidence> others = evidence;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    RunCorrections moved = value;
    const RunCorrections without = learn_constants(others).value;
    for (std::size_t k = 0; k < kRunConstantCount; ++k) moved[k] -= without[k];
    taught.push_back(moved);
  }
  return taught;
}

}  // namespace

std::vector<RunEvidence> evidence_of(const OwnRun& run, const Calibration& curves, const RunCorrections& at) {
  const std::vector<Figure> here = figures_of(run, estimate_at(run, curves, at));
  std::vector<RunEvidence> evidence(here.size());
  for (std::size_t i = 0; i < kRunConstantCount && !here.empty(); ++i) {
    RunCorrections up = at, down = at;
    up[i] += kStep, down[i] -= kStep;
    const auto above = figures_of(run, estimate_at(run, curves, up));
    const auto below = figures_of(run, estimate_at(run, curves, down));
    for (std::size_t k = 0; k < here.size(); ++k)
      evidence[k].slope[i] = std::log(above[k].predicted / below[k].predicted) / (2 * kStep);
  }
  for (std::size_t k = 0; k < here.size(); ++k)
    evidence[k].residual = std::inner_product(at.begin(), at.end(), evidence[k].slope.begin(),
                                              std::log(here[k].measured / here[k].predicted));
  return evidence;
}

RunLearning learn_from_runs(const std::vector<OwnRun>& runs, const CurvesOf& curves) {
  RunLearning learning;
  std::vector<RunEvidence> evidence;
  RunCorrections at{};
  for (int round = 0; round < kMostRounds; ++round) {
    evidence = all_evidence(runs, curves, at);
    learning.constants = learn_constants(evidence);
    const double moved = furthest(at, learning.constants.value);
    at = learning.constants.value;
    if (moved < kStays) break;
  }
  const std::vector<RunCorrections> taught = lessons(evidence, at);
  for (const OwnRun& run : runs) {
    const Calibration& of_cluster = curves(run.scenario.cluster);
    const auto before = figures_of(run, estimate_at(run, of_cluster, {}));
    const auto after = figures_of(run, estimate_at(run, of_cluster, at));
    for (std::size_t k = 0; k < before.size(); ++k) {
      const std::size_t index = learning.figures.size();
      learning.figures.push_back({.id = run.measured.id,
                                  .memory = before[k].memory,
                                  .measured = before[k].measured,
                                  .before = before[k].predicted,
                                  .after = after[k].predicted,
                                  .trust = learning.constants.trust[index],
                                  .taught = taught[index]});
    }
  }
  return learning;
}

}  // namespace hexaplan::validator
