#include "cli/commands/report.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "cli/commands/compare.h"
#include "cli/commands/estimate.h"
#include "cli/options/command_row.h"
#include "cli/version.h"
#include "presets/models/model_dimensions.h"
#include "presets/scenario/scenario_page.h"

namespace hexaplan::cli {

namespace {

/// As another machine can read it: a model's file travels along.
presets::ScenarioRequest portable_request(const presets::ScenarioRequest& request) {
  const auto* model = request.model.get_if<std::string>();
  const bool of_a_file = model != nullptr && presets::names_a_file(*model);
  return presets::portable(request, of_a_file ? presets::model_config(request.model) : presets::JsonValue{});
}

}  // namespace

report::Answer answer_of(EstimateReport estimated, std::string name) {
  Question& question = estimated.question;
  return {.name = std::move(name),
          .request = portable_request(question.request),
          .resolved = {std::move(question.scenario), std::move(question.calibration),
                       std::move(question.notes), std::move(question.fabric)},
          .estimate = std::move(estimated.estimate),
          .changes = std::move(estimated.changes)};
}

namespace {

std::vector<report::Answer> answers_of(const ReportOptions& options) {
  std::vector<report::Answer> answers;
  if (options.sides.empty()) {
    answers.push_back(answer_of(run_estimate({.question = options.question}), {}));
    return answers;
  }
  const std::vector<EstimateOptions> questions = questions_of_sides(options.question, options.sides);
  for (std::size_t i = 0; i < questions.size(); ++i)
    answers.push_back(answer_of(run_estimate(questions[i]), options.sides[i]));
  return answers;
}

void simulate_first(report::PlanReport& page) {
  const report::Answer& first = page.answers.front();
  if (!first.priced()) return;
  const costmodel::Scenario& scenario = first.resolved.scenario;
  if (const auto refused = costmodel::too_large_to_simulate(scenario)) {
    page.not_simulated = refused->reason + "; " + refused->advice;
  } else {
    page.simulation = costmodel::simulate_step(scenario, first.resolved.calibration);
  }
}

/// Around the question; of a comparison, around its first side. Its plans train on the batch of the page's
/// plan, also where nobody said one: else they would not compare.
report::Found search_around(const ReportOptions& options, const report::Answer& first, bool quiet) {
  SearchOptions search{.question =
                           options.sides.empty()
                               ? options.question
                               : questions_of_sides(options.question, options.sides).front().question};
  const std::int64_t batch = first.resolved.scenario.recipe.global_batch;
  search.question.recipe.push_back({"global_batch", "--global-batch", std::to_string(batch)});
  search.question.layout.clear();
  search.question.save_scenario.clear();
  search.max_risk = options.max_risk;
  search.top = options.top;
  SearchReport found = run_search(search, quiet);
  return {std::move(found.problem), std::move(found.ranking)};
}

}  // namespace

report::PlanReport page_of(std::vector<report::Answer> answers, bool simulated) {
  report::PlanReport page{.program = "hexaplan " + version_text(), .answers = std::move(answers)};
  if (simulated) simulate_first(page);
  return page;
}

report::PlanReport run_report(const ReportOptions& options, bool quiet) {
  report::PlanReport page = page_of(answers_of(options), !options.no_simulate);
  if (options.search) page.found = search_around(options, page.answers.front(), quiet);
  return page;
}

report::PlanReport report_of(const SearchReport& search) {
  EstimateReport best{.question = search.question};
  if (!search.ranking.plans.empty()) {
    const planner::RankedPlan& first = search.ranking.plans.front();
    best.question.request = request_of(search, first.plan);
    best.question.scenario = planner::scenario_of(search.problem, first.plan);
    best.question.calibration = search.problem.hardware[first.plan.hardware].calibration;
    best.estimate = first.estimate;
  } else {
    best.estimate = costmodel::estimate_step(best.question.scenario, best.question.calibration);
  }
  report::PlanReport page = page_of({answer_of(std::move(best), {})}, !search.ranking.plans.empty());
  page.found = report::Found{search.problem, search.ranking, search.sensitivity};
  return page;
}

report::SweepReport report_of(const SweepReport& sweep) {
  const planner::SearchProblem& first = sweep.cells.front().problem;
  report::SweepReport page{
      .program = "hexaplan " + version_text(),
      .asked = fmt::format("{} on {}", first.base.model.name, first.hardware.front().cluster.gpu.name),
      .fields = {},
      .cells = {},
      .fastest = {},
      .stopped = sweep.stopped()};
  for (const SweepAxis& axis : sweep.axes) page.fields.push_back({std::string{axis.word()}, axis.values});
  const planner::Plan* fastest = nullptr;
  for (const SearchReport& cell : sweep.cells) {
    if (cell.ranking.plans.empty()) {
      page.cells.push_back({.best = {}, .nothing = planner::reason_for_nothing(cell.ranking)});
      continue;
    }
    const planner::Plan& best = cell.ranking.plans.front().plan;
    page.cells.push_back({.best = best, .nothing = {}});
    const auto speed = [](const planner::Plan& plan) { return plan.price.tokens_per_second_per_gpu; };
    if (fastest != nullptr && speed(best) <= speed(*fastest)) continue;
    fastest = &best;
    page.fastest = portable_request(request_of(cell, best));
  }
  return page;
}

}  // namespace hexaplan::cli
