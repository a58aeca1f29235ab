#include "validator/measure/runs/few_shot.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <random>
#include <utility>

#include "validator/measure/accuracy/family_error.h"
#include "validator/measure/fit/robust.h"

namespace hexaplan::validator {
namespace {

using RunsOfKind = std::vector<const RunEvidence*>;

constexpr int kDrawsOfKind = 25;
constexpr double kMostConfigurations = 100;

/// Distinct positions below `size`: the first `count` of a shuffle that is the same on every machine.
std::vector<std::size_t> draw(std::size_t count, std::size_t size, std::mt19937_64& random) {
  std::vector<std::size_t> positions;
  while (positions.size() < count) {
    const std::size_t next = random() % size;
    if (std::find(positions.begin(), positions.end(), next) == positions.end()) positions.push_back(next);
  }
  return positions;
}

/// Mean capped error of the configurations that were not learned from.
double left_over(const RunsOfKind& kind, const std::vector<std::size_t>& taken) {
  std::vector<RunEvidence> runs;
  runs.reserve(taken.size());
  for (const std::size_t at : taken) runs.push_back(*kind[at]);
  const LearnedConstants learned = learn_constants(runs);
  double sum = 0;
  for (std::size_t i = 0; i < kind.size(); ++i) {
    if (std::find(taken.begin(), taken.end(), i) == taken.end())
      sum += capped(rest_of(*kind[i], learned.value));
  }
  return sum / static_cast<double>(kind.size() - taken.size());
}

/// Sums of logarithms until `mean`.
struct Sum {
  double weight = 0, before = 0, after = 0;
  std::size_t configurations = 0;
  void add(const FewShotScore& score, double by) {
    weight += by, before += by * score.before, after += by * score.after;
    configurations += score.configurations;
  }
  [[nodiscard]] FewShotScore mean() const {
    if (weight <= 0) return {};
    return {configurations, before / weight, after / weight};
  }
};

/// Of one kind, in logarithms.
FewShotScore of_kind(const RunsOfKind& kind, std::size_t shots) {
  std::mt19937_64 random{kind.size()};
  std::vector<double> errors;
  errors.reserve(kDrawsOfKind);
  for (int i = 0; i < kDrawsOfKind; ++i) errors.push_back(left_over(kind, draw(shots, kind.size(), random)));
  double before = 0;
  for (const RunEvidence* run : kind) before += capped(run->residual);
  return {kind.size(), before / static_cast<double>(kind.size()), median_of(std::move(errors))};
}

FewShotScore of_source(const std::map<std::string, RunsOfKind>& kinds, std::size_t shots) {
  Sum sum;
  for (const auto& [name, kind] : kinds) {
    if (kind.size() > shots) sum.add(of_kind(kind, shots), static_cast<double>(kind.size()));
  }
  FewShotScore score = sum.mean();
  score.before = std::expm1(score.before);
  score.after = std::expm1(score.after);
  return score;
}

}  // namespace

FewShotReport score_few_shots(const std::vector<FewShotCase>& cases) {
  std::map<std::string, std::map<std::string, RunsOfKind>> sources;
  for (const FewShotCase& c : cases) sources[c.source][c.kind].push_back(&c.run);
  FewShotReport report;
  std::array<Sum, kShots.size()> all;
  for (const auto& [name, kinds] : sources) {
    FewShotScores scores;
    for (std::size_t i = 0; i < kShots.size(); ++i) {
      scores[i] = of_source(kinds, kShots[i]);
      if (scores[i].configurations == 0) continue;
      all[i].add(scores[i],
                 std::sqrt(std::min(static_cast<double>(scores[i].configurations), kMostConfigurations)));
    }
    report.sources.push_back({name, scores});
  }
  for (std::size_t i = 0; i < kShots.size(); ++i) report.all[i] = all[i].mean();
  return report;
}

}  // namespace hexaplan::validator
