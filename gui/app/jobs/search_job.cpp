#include "gui/app/jobs/search_job.h"

#include <utility>

namespace hexaplan::gui {

namespace {

/// The layout's settings that no search varies.
costmodel::Layout keptBySearch(const costmodel::Layout& layout) {
  costmodel::Layout kept;
  kept.vocab = layout.vocab;
  kept.partition_activations = layout.partition_activations;
  kept.sharding.hpz = layout.sharding.hpz;
  kept.sharding.quantized_weights = layout.sharding.quantized_weights;
  kept.sharding.quantized_gradients = layout.sharding.quantized_gradients;
  return kept;
}

/// The recipe without what the search varied, and without what no plan depends on.
costmodel::Recipe keptBySearch(const costmodel::Recipe& recipe, const planner::SearchSpace& space) {
  costmodel::Recipe kept = recipe;
  if (space.micro_batch.empty()) kept.micro_batch = 1;
  if (space.recompute.empty()) kept.recompute = {};
  kept.tokens = 0;
  return kept;
}

}  // namespace

SearchJob::SearchJob(QObject* parent) : QObject{parent}, thread_{*this} {}

void SearchJob::start(EvaluationPtr evaluation, planner::SearchProblem problem) {
  auto question = std::make_shared<SearchResult>();
  question->evaluation = std::move(evaluation);
  question->problem = std::move(problem);
  thread_.start(
      [question](const planner::SearchOptions& how) {
        question->ranking = planner::search(question->problem, how);
      },
      [this](const planner::SearchProgress& progress) { emit progressed(progress.share, progress.priced); },
      [this, question](const QString& failure) {
        question->failure = failure;
        result_ = question;
        emit found();
      });
}

bool stillAsked(const SearchResult& result, const Evaluation& now) {
  const Evaluation& was = *result.evaluation;
  const auto& a = was.request;
  const auto& b = now.request;
  const planner::SearchSpace& space = result.problem.space;
  return a.model == b.model && a.cluster == b.cluster && a.framework == b.framework &&
         a.calibration == b.calibration && a.fabric == b.fabric && a.price_per_hour == b.price_per_hour &&
         keptBySearch(was.scenario.recipe, space) == keptBySearch(now.scenario.recipe, space) &&
         keptBySearch(was.scenario.layout) == keptBySearch(now.scenario.layout);
}

planner::SearchProblem problemOf(const Evaluation& evaluation) {
  planner::SearchProblem problem;
  problem.base = evaluation.scenario;
  problem.hardware.push_back({evaluation.scenario.cluster, evaluation.calibration->calibration});
  return problem;
}

}  // namespace hexaplan::gui
