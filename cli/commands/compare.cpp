#include "cli/commands/compare.h"

#include <filesystem>

namespace hexaplan::cli {
namespace {

bool is_scenario_file(const std::string& side) {
  return side.ends_with(".json") || side == "-" || std::filesystem::is_regular_file(side);
}

EstimateOptions question_of(const CompareOptions& options, const std::string& side) {
  EstimateOptions asked{.question = options.question};
  (is_scenario_file(side) ? asked.question.scenario : asked.question.layout) = side;
  return asked;
}

}  // namespace

CompareReport run_compare(const CompareOptions& options) {
  CompareReport report;
  for (const std::string& side : options.sides)
    report.sides.push_back({side, run_estimate(question_of(options, side))});
  return report;
}

}  // namespace hexaplan::cli
