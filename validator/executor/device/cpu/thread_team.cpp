#include "validator/executor/device/cpu/thread_team.h"

#include <algorithm>
#include <system_error>
#include <utility>

#ifdef __linux__
#include <sched.h>
#endif

namespace hexaplan::validator {

ThreadTeam::~ThreadTeam() {
  {
    const std::scoped_lock lock{mutex_};
    stops_ = true;
  }
  begun_.notify_all();
  others_.clear();
}

void ThreadTeam::start() {
  try {
    for (int thread = 1; thread < threads_; ++thread) others_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {  // those that there are do the same pieces
    threads_ = static_cast<int>(others_.size()) + 1;
  }
}

void ThreadTeam::take_pieces() {
  try {
    for (std::int64_t piece = next_++; piece < pieces_; piece = next_++) call_(with_, piece);
  } catch (...) {
    next_ = pieces_;
    const std::scoped_lock lock{mutex_};
    if (!thrown_) thrown_ = std::current_exception();
  }
}

/// Who wakes up after a call has ended goes back to sleep: nobody waits for a thread that has no processor.
void ThreadTeam::work() {
  std::int64_t seen = 0;
  std::unique_lock lock{mutex_};
  while (true) {
    begun_.wait(lock, [&] { return stops_ || (open_ && round_ != seen); });
    if (stops_) return;
    seen = round_;
    ++inside_;
    lock.unlock();
    take_pieces();
    lock.lock();
    if (--inside_ == 0) ended_.notify_one();
  }
}

void ThreadTeam::share(std::int64_t pieces, Call call, const void* with) {
  if (others_.empty()) start();
  {
    const std::scoped_lock lock{mutex_};
    call_ = call;
    with_ = with;
    pieces_ = pieces;
    next_ = 0;
    open_ = true;
    ++round_;
  }
  begun_.notify_all();
  take_pieces();
  std::unique_lock lock{mutex_};
  open_ = false;
  ended_.wait(lock, [&] { return inside_ == 0; });
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

int threads_per_rank(std::int64_t ranks) {
  std::int64_t processors = std::max(1U, std::thread::hardware_concurrency());
#ifdef __linux__
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) processors = CPU_COUNT(&mask);
#endif
  return static_cast<int>(std::max<std::int64_t>(1, processors / std::max<std::int64_t>(1, ranks)));
}

}  // namespace hexaplan::validator
