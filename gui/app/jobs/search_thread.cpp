#include "gui/app/jobs/search_thread.h"

#include <algorithm>
#include <exception>

#include "gui/app/document/messages.h"

namespace hexaplan::gui {
namespace {

/// What went wrong, for want of memory above all; empty: nothing.
QString failureOf(const SearchThread::Work& work, const planner::SearchOptions& how) {
  try {
    work(how);
    return {};
  } catch (const std::exception& error) {
    return problemText(error);
  }
}

}  // namespace

SearchThread::~SearchThread() {
  stop_.request_stop();
  for (const auto& thread : threads_) thread->wait();
}

void SearchThread::start(const Work& work, const Progressed& progressed, const Done& done) {
  stop_.request_stop();
  std::erase_if(threads_, [](const auto& thread) { return thread->isFinished(); });
  stop_ = {};
  running_ = true;
  const int number = ++number_;
  planner::SearchOptions how;
  how.threads = std::max(1, QThread::idealThreadCount() - 1);  // a core is left to the window
  how.stop = stop_.get_token();
  how.progress = [this, number, progressed](const planner::SearchProgress& progress) {
    tell(number, [progressed, progress] { progressed(progress); });
  };
  threads_.emplace_back(QThread::create([this, number, how, work, done] {
    const QString failure = failureOf(work, how);
    tell(number, [this, done, failure] {
      running_ = false;
      done(failure);
    });
  }));
  threads_.back()->start();
}

void SearchThread::drop() {
  stop_.request_stop();
  ++number_;
  running_ = false;
}

void SearchThread::tell(int number, const std::function<void()>& what) {
  QMetaObject::invokeMethod(&owner_, [this, number, what] {
    if (number == number_) what();
  });
}

}  // namespace hexaplan::gui
