#pragma once
#include <optional>
#include <vector>

#include "cli/options.h"
#include "validator/measure/accuracy/score.h"
#include "validator/measure/runs/few_shot.h"

namespace hexaplan::cli {

/// Everything `hexaplan accuracy` has to say.
struct AccuracyResult {
  validator::AccuracyReport report;
  std::vector<validator::ComparedCase>
      cases;  // every case with something to score, in the order of the tables
  std::vector<validator::FewShotCase> configurations;  // that --few-shot learned from, in that order
  std::optional<validator::FewShotReport> few_shot;    // with --few-shot
};

/// False where no row of the tables could be predicted.
[[nodiscard]] bool scores_anything(const AccuracyResult& result);

/// Predicts and scores every row of the tables. InputError when a table cannot be read; a row that cannot be
/// predicted is listed with the reason.
[[nodiscard]] AccuracyResult run_accuracy(const AccuracyOptions& options);

}  // namespace hexaplan::cli
