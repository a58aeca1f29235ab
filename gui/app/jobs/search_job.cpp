#include "gui/app/jobs/search_job.h"

#include "gui/app/jobs/search_limits.h"

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

void SearchJob::start(const EvaluationPtr& evaluation, const SearchTerms& terms) {
  auto question = std::make_shared<SearchResult>();
  question->evaluation = evaluation;
  question->terms = terms;
  question->problem = problemOf(*evaluation, terms);
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

bool stillAsked(const Evaluation& asked, const planner::SearchSpace& space, const Evaluation& now) {
  const auto& a = asked.request;
  const auto& b = now.request;
  return a.model == b.model && a.cluster == b.cluster && a.framework == b.framework &&
         a.calibration == b.calibration && a.fabric == b.fabric && a.price_per_hour == b.price_per_hour &&
         keptBySearch(asked.scenario.recipe, space) == keptBySearch(now.scenario.recipe, space) &&
         keptBySearch(asked.scenario.layout) == keptBySearch(now.scenario.layout);
}

bool stillAsked(const SearchResult& result, const Evaluation& now) {
  return stillAsked(*result.evaluation, result.problem.space, now);
}

planner::SearchProblem problemOf(const Evaluation& evaluation, const SearchTerms& terms) {
  planner::SearchProblem problem;
  problem.base = evaluation.scenario;
  problem.hardware.push_back({evaluation.scenario.cluster, evaluation.calibration->calibration});
  narrow(problem, evaluation, terms.limits);
  problem.objective = terms.objective;
  problem.constraints.max_risk = terms.max_risk;
  problem.constraints.memory_share = terms.memory_share;
  problem.top = terms.top;
  if (terms.keep_micro_batch) problem.space.micro_batch = {evaluation.scenario.recipe.micro_batch};
  if (terms.keep_recompute) problem.space.recompute = {evaluation.scenario.recipe.recompute};
  return problem;
}

}  // namespace hexaplan::gui
