#include "validator/measure/runs/learn_constants.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace hexaplan::validator {
namespace {

using costmodel::kRunConstantCount;
using costmodel::RunCorrections;

constexpr auto kConstants = static_cast<Eigen::Index>(kRunConstantCount);
using SlopeMatrix = Eigen::Matrix<double, kConstants, kConstants>;
using SlopeVector = Eigen::Matrix<double, kConstants, 1>;

constexpr double kDegreesOfFreedom = 4;
constexpr int kIterations = 20;
/// Share of the prior's deviation above which a posterior says nothing.
constexpr double kUntold = 0.97;

/// Precision of the priors; of constants that stay where they are, beyond what runs can move.
SlopeMatrix prior_precision(const std::array<bool, kRunConstantCount>& free) {
  constexpr double kFixed = 1e12;
  SlopeMatrix precision = SlopeMatrix::Zero();
  for (std::size_t i = 0; i < kRunConstantCount; ++i) {
    const double prior = costmodel::run_constants()[i].prior;
    const auto at = static_cast<Eigen::Index>(i);
    precision(at, at) = free[i] ? 1 / (prior * prior) : kFixed;
  }
  return precision;
}

double trust_of(double rest, double scale) {
  const double scaled = rest / scale;
  return (kDegreesOfFreedom + 1) / (kDegreesOfFreedom + scaled * scaled);
}

struct Posterior {
  RunCorrections value{};
  SlopeMatrix precision;
  double scale = kRunScale;
};

/// Value and precision with each figure as trusted as `trust` says.
void solve(Posterior& found, const std::vector<RunEvidence>& runs, const std::vector<double>& trust,
           const SlopeMatrix& prior) {
  found.precision = prior;
  SlopeVector right = SlopeVector::Zero();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Eigen::Map<const SlopeVector> slope{runs[i].slope.data()};
    const double weight = runs[i].weight * trust[i] / (found.scale * found.scale);
    found.precision += weight * slope * slope.transpose();
    right += weight * runs[i].residual * slope;
  }
  const SlopeVector value = found.precision.ldlt().solve(right);
  std::copy(value.begin(), value.end(), found.value.begin());
}

Posterior posterior(const std::vector<RunEvidence>& runs, const std::array<bool, kRunConstantCount>& free) {
  Posterior found;
  const SlopeMatrix prior = prior_precision(free);
  std::vector<double> trust(runs.size(), 1.0);
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    solve(found, runs, trust, prior);
    double squares = kScaleRuns * kRunScale * kRunScale, count = kScaleRuns;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const double rest = rest_of(runs[i], found.value);
      trust[i] = trust_of(rest, found.scale);
      squares += runs[i].weight * trust[i] * rest * rest;
      count += runs[i].weight;
    }
    found.scale = std::sqrt(squares / count);
  }
  return found;
}

}  // namespace

double rest_of(const RunEvidence& run, const RunCorrections& value) {
  return std::inner_product(run.slope.begin(), run.slope.end(), value.begin(), run.residual, std::minus<>{},
                            std::multiplies<>{});
}

LearnedConstants learn_constants(const std::vector<RunEvidence>& runs) {
  LearnedConstants learned;
  learned.told.fill(true);
  Posterior found = posterior(runs, learned.told);
  const SlopeMatrix spread = found.precision.inverse();
  for (std::size_t i = 0; i < kRunConstantCount; ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    const double prior = costmodel::run_constants()[i].prior;
    const double sigma = std::sqrt(spread(at, at));
    learned.told[i] = sigma < kUntold * prior;
    learned.sigma[i] = learned.told[i] ? sigma : prior;
  }
  found = posterior(runs, learned.told);
  for (std::size_t i = 0; i < kRunConstantCount; ++i)
    learned.value[i] = learned.told[i] ? found.value[i] : 0.0;
  learned.scale = found.scale;
  for (const RunEvidence& run : runs)
    learned.trust.push_back(trust_of(rest_of(run, learned.value), learned.scale));
  return learned;
}

}  // namespace hexaplan::validator
