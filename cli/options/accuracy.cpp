#include <memory>

#include "cli/options/command_row.h"

namespace hexaplan::cli {
namespace {

constexpr int kMostRows = 999999;

struct AccuracyWords {
  std::string worst;
  AccuracyOptions options;
};

Command checked_accuracy(AccuracyWords words) {
  if (words.options.tables.empty())
    throw UsageError{"accuracy: no table, as in 'hexaplan accuracy TABLE.csv'"};
  if (!words.worst.empty()) words.options.worst = whole_number(words.worst, "--worst", kMostRows);
  return words.options;
}

}  // namespace

CommandRow accuracy_row() {
  const auto words = std::make_shared<AccuracyWords>();
  return {.name = "accuracy",
          .help = "Predict every row of tables of published measurements and score the predictions",
          .options = {{"tables", "TABLE.csv", "CSV files with the normalised columns (docs/accuracy.md)",
                       &words->options.tables},
                      {"--rows", "", "Every row: predicted, measured, error, and why it was not scored",
                       &words->options.rows},
                      {"--few-shot", "",
                       "Also what is left after learning from 1 and 3 runs of a source, as 'calibrate "
                       "--from-runs' does; twice the time",
                       &words->options.few_shot},
                      {"--worst", "N", "Rows with the largest errors to list. Default: 10", &words->worst}},
          .finish = [words] { return checked_accuracy(*words); }};
}

}  // namespace hexaplan::cli
