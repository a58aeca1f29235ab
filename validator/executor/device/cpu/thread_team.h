#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace hexaplan::validator {

/// Threads that do the pieces of one call after the other, whoever of them is free. What a piece is never
/// depends on how many threads there are, so that numbers do not, either. They start with the first call that
/// has more pieces than one, in the process that makes it (ranks of MPI are forked), and sleep between calls.
class ThreadTeam {
 public:
  /// `threads`: with the caller's own, at least 1.
  explicit ThreadTeam(int threads) : threads_{threads} {}
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  ~ThreadTeam();
  /// Fewer than were asked for once the system has refused to make more.
  [[nodiscard]] int threads() const { return threads_; }

  /// Calls run(piece) for every piece in [0, pieces), and returns when all have returned. Rethrows what the
  /// first to throw threw; further pieces are left out then. Not from within a piece.
  template <class Run>
  void for_each(std::int64_t pieces, const Run& run) {
    if (threads_ == 1 || pieces <= 1) {
      for (std::int64_t piece = 0; piece < pieces; ++piece) run(piece);
    } else {
      share(
          pieces, [](const void* with, std::int64_t piece) { (*static_cast<const Run*>(with))(piece); },
          &run);
    }
  }

 private:
  using Call = void (*)(const void* with, std::int64_t piece);
  void share(std::int64_t pieces, Call call, const void* with);
  void start();
  void work();
  void take_pieces();

  int threads_;
  std::vector<std::jthread> others_;
  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  // Under the mutex.
  std::int64_t round_ = 0;  // calls that were shared
  int inside_ = 0;          // others who may still run pieces of it
  bool open_ = false;       // more may come
  bool stops_ = false;
  std::exception_ptr thrown_;
  // Of the open call: written before it opens.
  Call call_ = nullptr;
  const void* with_ = nullptr;
  std::int64_t pieces_ = 0;
  std::atomic<std::int64_t> next_{0};
};

/// Threads that each of `ranks` ranks on this host may have: processors that this process may run on, dealt
/// out; at least 1.
[[nodiscard]] int threads_per_rank(std::int64_t ranks);

}  // namespace hexaplan::validator
