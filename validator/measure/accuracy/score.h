#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "validator/measure/accuracy/family_error.h"
#include "validator/measure/accuracy/measured_case.h"
#include "validator/measure/accuracy/statistics.h"

namespace hexaplan::validator {

/// How well one set of cases was predicted.
struct Scores {
  ErrorSummary time;
  FamilyErrors families;                          // of the same times, every configuration once
  FamilyErrors with_disturbed;                    // … and of those that their source calls disturbed
  std::array<ErrorSummary, kMemoryKinds> memory;  // by MemoryKind
  OutOfMemorySummary out_of_memory;
  ChanceSummary chance_of_running_out;
  RankingSummary ranking;
};

struct SourceScores {
  std::string source;
  Scores scores;
};
struct AccuracyReport {
  Scores all;
  std::vector<SourceScores> sources;  // by name; only those with something to score
};

/// Prediction beside measurement of one case, for lists of rows.
struct ComparedMemory {
  MemoryKind kind = MemoryKind::Allocated;
  double predicted = 0, measured = 0, error = 0;  // bytes, bytes, relative
};
struct ComparedCase {
  std::string id, source;
  std::string reason;  // why nothing was predicted; empty otherwise
  std::string family;
  std::optional<Residual> time;
  bool disturbed = false;    // the time is not scored
  double low = 0, high = 0;  // 90 % interval of the step time, seconds
  costmodel::StepTime by_cause;
  std::vector<ComparedMemory> memory;
  std::optional<bool> predicted_out_of_memory, measured_out_of_memory;
  double chance_of_running_out = 0;
  double device_bytes = 0, capacity_bytes = 0;  // of the worst rank, where it is asked whether it fits
};

[[nodiscard]] ComparedCase compare(const PredictedCase& c);
/// Scores every case; cases without anything to score are left out, cases without a prediction count as
/// skipped.
[[nodiscard]] AccuracyReport score(const std::vector<PredictedCase>& cases);

}  // namespace hexaplan::validator
