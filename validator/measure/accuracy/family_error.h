#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace hexaplan::validator {

/// One measured time beside its prediction. Precondition: both positive.
struct TimedRun {
  std::string id, source;
  std::string family;  // runs of one configuration share it
  double predicted = 0, measured = 0;
  double low = 0, high = 0;  // 90 % interval of the prediction
};

/// How well times were predicted where every configuration counts once, however often it was measured, and
/// ×½ costs as much as ×2. Of several sources, weighted by √min(families, 100).
struct FamilyErrors {
  std::size_t rows = 0, families = 0;
  /// T = Σ w_s · exp(mean over the families of source s of min(|ln predicted/measured|, ln 2)) − 1: one
  /// disturbed run cannot decide it.
  double typical_error = 0;
  double within_10_percent = 0, within_25_percent = 0;  // share of the weight, |error| at most that
  double covered = 0;                                   // share of the weight inside the 90 % interval
  std::vector<std::string> beyond_double;  // ids of runs predicted at less than half or more than twice
  /// typical_error of the best constant per configuration, over those measured at least twice (`repeated` of
  /// them): no prediction from these inputs does better.
  double noise_floor = 0;
  std::size_t repeated = 0;
};
[[nodiscard]] FamilyErrors summarise_families(const std::vector<TimedRun>& runs);

/// |ln predicted/measured|, at most ln 2: what is off by more counts as off by half or double.
[[nodiscard]] double capped(double log_error);

/// How good stated chances were. Precondition of each pair: 0 <= chance <= 1.
struct ChanceSummary {
  std::size_t rows = 0;
  double brier = 0;            // mean (chance − outcome)²; 0.25 for a coin, 0 for an oracle
  double reliability_gap = 0;  // mean |chance − share that happened| over tenths of the chance, by rows
};
struct StatedChance {
  double chance = 0;
  bool happened = false;
};
[[nodiscard]] ChanceSummary summarise_chances(const std::vector<StatedChance>& chances);

}  // namespace hexaplan::validator
