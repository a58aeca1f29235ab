#pragma once
#include <QObject>
#include <QString>
#include <QThread>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "planner/search/search.h"

namespace hexaplan::gui {

/// Runs one piece of searching at a time in a thread of its own. A new one cancels the one before, whose
/// answer is dropped.
class SearchThread {
 public:
  using Work = std::function<void(const planner::SearchOptions& how)>;
  using Progressed = std::function<void(const planner::SearchProgress&)>;
  using Done = std::function<void(const QString& failure)>;

  /// `owner` has it as a member.
  explicit SearchThread(QObject& owner) : owner_{owner} {}
  ~SearchThread();
  SearchThread(const SearchThread&) = delete;
  SearchThread& operator=(const SearchThread&) = delete;

  /// `work` runs in the new thread, with a core left to the window. `progressed` and `done` are called in the
  /// owner's thread; `failure` says what `work` threw, and is empty otherwise.
  void start(const Work& work, const Progressed& progressed, const Done& done);
  /// What `work` has found until then is still delivered.
  void cancel() { stop_.request_stop(); }
  /// Cancels; nothing of it is delivered any more.
  void drop();
  [[nodiscard]] bool running() const { return running_; }

 private:
  /// In the owner's thread, unless another one was started or this one dropped meanwhile.
  void tell(int number, const std::function<void()>& what);

  QObject& owner_;
  std::vector<std::unique_ptr<QThread>> threads_;  // the last one, and cancelled ones that still stop
  std::stop_source stop_;
  int number_ = 0;
  bool running_ = false;
};

}  // namespace hexaplan::gui
