#pragma once
#include <QFutureWatcher>
#include <QThreadPool>
#include <QtConcurrent/QtConcurrentRun>
#include <functional>
#include <optional>
#include <utility>

namespace hexaplan::gui {

/// Answers questions on one worker thread, the newest first: a question that was overtaken while it waited is
/// never started, so that a slider may ask faster than answers come. Answers are delivered in the thread that
/// owns the job. Answer is a whole immutable result; work must not throw.
template <class Question, class Answer>
class LatestJob {
 public:
  using Work = std::function<Answer(const Question&)>;
  using Deliver = std::function<void(Answer)>;

  LatestJob(Work work, Deliver deliver) : work_{std::move(work)}, deliver_{std::move(deliver)} {
    pool_.setMaxThreadCount(1);
    QObject::connect(&watcher_, &QFutureWatcherBase::finished, [this] { finish(); });
  }
  ~LatestJob() {
    watcher_.disconnect();
    pool_.waitForDone();
  }
  LatestJob(const LatestJob&) = delete;
  LatestJob& operator=(const LatestJob&) = delete;

  void ask(Question question) {
    waiting_ = std::move(question);
    if (!running_) start();
  }
  /// Forgets the question that waits, and drops the answer to the one that runs.
  void forget() {
    waiting_.reset();
    dropped_ = running_;
  }
  [[nodiscard]] bool busy() const { return running_; }

 private:
  void start() {
    running_ = true;
    dropped_ = false;
    watcher_.setFuture(QtConcurrent::run(
        &pool_, [work = work_, question = std::move(*waiting_)] { return work(question); }));
    waiting_.reset();
  }
  void finish() {
    Answer answer = watcher_.result();
    const bool drop = dropped_;
    running_ = false;
    if (waiting_) start();
    if (!drop) deliver_(std::move(answer));
  }

  Work work_;
  Deliver deliver_;
  QThreadPool pool_;
  QFutureWatcher<Answer> watcher_;
  std::optional<Question> waiting_;
  bool running_ = false;
  bool dropped_ = false;
};

}  // namespace hexaplan::gui
