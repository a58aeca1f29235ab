#include "gui/app/jobs/sweep_job.h"

#include <utility>

#include "gui/app/document/evaluator.h"
#include "gui/app/document/messages.h"
#include "gui/app/setup/fields.h"
#include "planner/search/search.h"
#include "presets/json/input_error.h"

namespace hexaplan::gui {
namespace {

/// The question of one cell, answered; `nothing` of the cell says what is wrong with it.
void askCell(Evaluator& evaluator, const Evaluation& now, const SweepResult& sweep,
             const std::array<QString, 2>& values, SweptCell& cell) {
  presets::ScenarioRequest request = now.request;
  try {
    for (std::size_t axis = 0; axis < values.size(); ++axis) {
      const Field* field = findField(sweep.axes[axis].field);
      field->write(request, values[axis].toStdString(), now);
      if (field->check != nullptr) field->check(request);
    }
  } catch (const presets::InputError& error) {
    cell.nothing = problemText(error.problem);
    return;
  }
  cell.evaluation = evaluator.evaluate(request, Detail::Question);
  if (cell.evaluation->problem) cell.nothing = problemText(*cell.evaluation->problem);
}

/// Every pair of values with its question.
void askCells(SweepResult& sweep, const Evaluation& now, const std::stop_token& stop) {
  Evaluator evaluator;
  for (const QString& first : sweep.axes[0].values) {
    for (const QString& second : sweep.axes[1].values) {
      SweptCell& cell = sweep.cells.emplace_back();
      if (!stop.stop_requested()) askCell(evaluator, now, sweep, {first, second}, cell);
    }
  }
}

/// Every cell's question, then all their searches together.
void sweepInto(SweepResult& sweep, const Evaluation& now, const ProblemOf& problem_of,
               const planner::SearchOptions& how) {
  askCells(sweep, now, how.stop);
  std::vector<planner::SearchProblem> problems;
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < sweep.cells.size(); ++i) {
    const SweptCell& cell = sweep.cells[i];
    if (!cell.evaluation || !cell.evaluation->calibration || !cell.nothing.isEmpty()) continue;
    problems.push_back(problem_of(*cell.evaluation));
    asked.push_back(i);
  }
  const std::vector<planner::Ranking> rankings = planner::search_each(problems, how);
  sweep.stopped = how.stop.stop_requested();
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    SweptCell& cell = sweep.cells[asked[i]];
    if (rankings[i].plans.empty()) {
      cell.nothing = QString::fromStdString(planner::reason_for_nothing(rankings[i]));
    } else {
      cell.best = rankings[i].plans.front().plan;
    }
  }
}

}  // namespace

SweepJob::SweepJob(QObject* parent) : QObject{parent}, thread_{*this} {}

void SweepJob::start(const EvaluationPtr& now, std::array<SweptField, 2> axes, const ProblemOf& problem) {
  auto sweep = std::make_shared<SweepResult>();
  sweep->axes = std::move(axes);
  thread_.start(
      [sweep, now, problem](const planner::SearchOptions& how) { sweepInto(*sweep, *now, problem, how); },
      [this](const planner::SearchProgress& progress) { emit progressed(progress.share); },
      [this, sweep](const QString& failure) {
        sweep->failure = failure;
        result_ = sweep;
        emit found();
      });
}

}  // namespace hexaplan::gui
