#include "cli/commands/estimate.h"

#include "costmodel/parameters/parameter_tensors.h"

namespace hexaplan::cli {

namespace {

constexpr std::size_t kExplained = 15;

Explanation explain(const EstimateReport& report) {
  const auto& peak = report.estimate.peak();
  return {
      .stage = peak.stage,
      .instant = peak.instant,
      .tensors = costmodel::largest_tensors(report.question.scenario, peak.stage, peak.instant, kExplained),
      .operations = costmodel::largest_operations(report.question.scenario, report.question.calibration,
                                                  peak.stage, kExplained)};
}

}  // namespace

void suggest_changes(EstimateReport& report) {
  if (report.priced() && (!report.fits() || report.at_risk()))
    report.changes =
        planner::fitting_changes(report.question.scenario, report.question.calibration, kSuggestedChanges);
}

EstimateReport run_estimate(const EstimateOptions& options) {
  EstimateReport report;
  report.question = ask(options.question);
  const costmodel::Scenario& scenario = report.question.scenario;
  const costmodel::Calibration& calibration = report.question.calibration;
  report.parameters = costmodel::count_parameters(scenario.model).total;
  report.estimate = costmodel::estimate_step(scenario, calibration);
  if (!report.priced()) return report;
  if (scenario.recipe.tokens > 0) report.training = costmodel::training_cost(scenario, report.estimate);
  if (options.suggest) suggest_changes(report);
  if (options.explain) report.explanation = explain(report);
  return report;
}

}  // namespace hexaplan::cli
