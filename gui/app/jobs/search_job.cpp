#include "gui/app/jobs/search_job.h"

#include <exception>
#include <new>
#include <utility>

namespace hexaplan::gui {

namespace {

/// What went wrong, for want of memory above all; empty: nothing.
QString searchInto(SearchResult& result, const planner::SearchOptions& options) {
  try {
    result.ranking = planner::search(result.problem, options);
    return {};
  } catch (const std::exception& error) {
    result.ranking = {};
    const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    return memory ? SearchJob::tr("out of memory") : QString::fromUtf8(error.what());
  }
}

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

SearchJob::SearchJob(QObject* parent) : QObject{parent} {}

SearchJob::~SearchJob() {
  stop_.request_stop();
  for (const auto& thread : threads_) thread->wait();
}

// The depth is that of closures: what the thread runs, what it reports, what the window then does.
// NOLINTNEXTLINE(readability-function-size)
void SearchJob::start(EvaluationPtr evaluation, planner::SearchProblem problem) {
  stop_.request_stop();
  std::erase_if(threads_, [](const auto& thread) { return thread->isFinished(); });
  stop_ = {};
  running_ = true;
  const int number = ++number_;
  auto question = std::make_shared<SearchResult>();
  question->evaluation = std::move(evaluation);
  question->problem = std::move(problem);
  threads_.emplace_back(QThread::create([this, number, question, stop = stop_.get_token()] {
    planner::SearchOptions options;
    // A core is left to the window.
    options.threads = std::max(1, QThread::idealThreadCount() - 1);
    options.stop = stop;
    options.progress = [this, number](const planner::SearchProgress& progress) {
      QMetaObject::invokeMethod(this, [this, number, progress] {
        if (number == number_) emit progressed(progress.share, progress.priced);
      });
    };
    question->failure = searchInto(*question, options);
    QMetaObject::invokeMethod(this, [this, number, question] { deliver(number, question); });
  }));
  threads_.back()->start();
}

void SearchJob::cancel() {
  stop_.request_stop();
}

void SearchJob::deliver(int number, const SearchResultPtr& result) {
  if (number != number_) return;
  running_ = false;
  result_ = result;
  emit found();
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
