#include "validator/measure/accuracy/family_error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <string_view>

namespace hexaplan::validator {
namespace {

constexpr double kMostFamilies = 100;  // beyond them a source weighs no more

/// Means over the runs of a family, later over the families of a source.
struct FamilyMeans {
  double weight = 0, error = 0, within_10 = 0, within_25 = 0, covered = 0;
  void add(const FamilyMeans& o, double w) {
    weight += w;
    error += w * o.error, covered += w * o.covered;
    within_10 += w * o.within_10, within_25 += w * o.within_25;
  }
  [[nodiscard]] FamilyMeans mean() const {
    return weight > 0
               ? FamilyMeans{1, error / weight, within_10 / weight, within_25 / weight, covered / weight}
               : FamilyMeans{};
  }
};

FamilyMeans of_run(const TimedRun& run) {
  const double ratio = run.predicted / run.measured;
  const auto within = [&](double limit) { return std::abs(ratio - 1) <= limit ? 1.0 : 0.0; };
  return {1, capped(std::log(ratio)), within(0.10), within(0.25),
          run.low <= run.measured && run.measured <= run.high ? 1.0 : 0.0};
}

using RunsOfFamily = std::vector<const TimedRun*>;
using FamiliesOfSource = std::map<std::string_view, RunsOfFamily>;

FamilyMeans of_source(const FamiliesOfSource& families) {
  FamilyMeans source;
  for (const auto& [name, runs] : families) {
    FamilyMeans family;
    for (const TimedRun* run : runs) family.add(of_run(*run), 1);
    source.add(family.mean(), 1);
  }
  return source.mean();
}

/// What the best constant of a configuration, the median, leaves; over those measured more than once.
struct Floor {
  double log_error = 0;
  std::size_t families = 0;
};
Floor floor_of(const FamiliesOfSource& families) {
  Floor floor;
  for (const auto& [name, runs] : families) {
    if (runs.size() < 2) continue;
    std::vector<double> logs;
    for (const TimedRun* run : runs) logs.push_back(std::log(run->measured));
    std::sort(logs.begin(), logs.end());
    const double median = (logs[(logs.size() - 1) / 2] + logs[logs.size() / 2]) / 2;
    double sum = 0;
    for (const double log : logs) sum += capped(log - median);
    floor.log_error += sum / static_cast<double>(logs.size());
    ++floor.families;
  }
  return floor;
}

double weight_of(std::size_t families) {
  return std::sqrt(std::min(static_cast<double>(families), kMostFamilies));
}

}  // namespace

double capped(double log_error) {
  return std::min(std::abs(log_error), std::numbers::ln2);
}

FamilyErrors summarise_families(const std::vector<TimedRun>& runs) {
  FamilyErrors summary{.rows = runs.size()};
  std::map<std::string_view, FamiliesOfSource> sources;
  for (const TimedRun& run : runs) {
    sources[run.source][run.family].push_back(&run);
    if (std::abs(std::log(run.predicted / run.measured)) > std::numbers::ln2)
      summary.beyond_double.push_back(run.id);
  }
  FamilyMeans all;
  double floor_weight = 0;
  for (const auto& [name, families] : sources) {
    FamilyMeans source = of_source(families);
    source.error = std::expm1(source.error);
    all.add(source, weight_of(families.size()));
    summary.families += families.size();
    const Floor floor = floor_of(families);
    if (floor.families == 0) continue;
    const double weight = weight_of(floor.families);
    summary.repeated += floor.families;
    summary.noise_floor += weight * std::expm1(floor.log_error / static_cast<double>(floor.families));
    floor_weight += weight;
  }
  if (floor_weight > 0) summary.noise_floor /= floor_weight;
  const FamilyMeans mean = all.mean();
  summary.typical_error = mean.error;
  summary.within_10_percent = mean.within_10;
  summary.within_25_percent = mean.within_25;
  summary.covered = mean.covered;
  return summary;
}

ChanceSummary summarise_chances(const std::vector<StatedChance>& chances) {
  constexpr std::size_t kBins = 10;
  struct Bin {
    double chances = 0, happened = 0;
  };
  std::array<Bin, kBins> bins{};
  ChanceSummary summary{.rows = chances.size()};
  if (chances.empty()) return summary;
  for (const StatedChance& c : chances) {
    const double outcome = c.happened ? 1 : 0;
    summary.brier += (c.chance - outcome) * (c.chance - outcome);
    Bin& bin = bins[std::min(kBins - 1, static_cast<std::size_t>(c.chance * static_cast<double>(kBins)))];
    bin.chances += c.chance, bin.happened += outcome;
  }
  for (const Bin& bin : bins) summary.reliability_gap += std::abs(bin.chances - bin.happened);
  const auto rows = static_cast<double>(chances.size());
  summary.brier /= rows;
  summary.reliability_gap /= rows;
  return summary;
}

}  // namespace hexaplan::validator
