#include "gui/app/jobs/search_job.h"

#include <utility>

namespace hexaplan::gui {

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
    question->ranking = planner::search(question->problem, options);
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

planner::SearchProblem problemOf(const Evaluation& evaluation) {
  planner::SearchProblem problem;
  problem.base = evaluation.scenario;
  problem.machines.push_back({evaluation.scenario.cluster, evaluation.calibration->calibration});
  return problem;
}

}  // namespace hexaplan::gui
