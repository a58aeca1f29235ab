#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace hexaplan::validator {

/// A device's stream without a device: tasks one after the other on a thread of its own.
class FakeStream {
 public:
  using Task = std::function<void()>;
  FakeStream() : thread_{[this] { work(); }} {}
  ~FakeStream() {
    give({});
    thread_.join();
  }
  FakeStream(const FakeStream&) = delete;
  FakeStream& operator=(const FakeStream&) = delete;

  void give(Task task) {
    const std::scoped_lock lock{mutex_};
    tasks_.push_back(std::move(task));
    ++given_;
    changed_.notify_all();
  }
  std::uint64_t given() {
    const std::scoped_lock lock{mutex_};
    return given_;
  }
  bool has_done(std::uint64_t position) {
    const std::scoped_lock lock{mutex_};
    return done_ >= position;
  }
  void wait_for(std::uint64_t position) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return done_ >= position; });
  }

 private:
  void work() {
    for (bool ends = false; !ends;) {
      std::unique_lock lock{mutex_};
      changed_.wait(lock, [&] { return !tasks_.empty(); });
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      ends = !task;
      if (task) task();
      task = nullptr;  // with what it keeps alive
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::uint64_t given_ = 0, done_ = 0;
  std::thread thread_;
};
using StreamHandle = std::shared_ptr<FakeStream>;

/// A point in a stream; without one: of the host, passed.
struct FakeMark {
  StreamHandle stream;
  std::uint64_t position = 0;

  static FakeMark at_end_of(const StreamHandle& stream) { return {stream, stream->given()}; }
  [[nodiscard]] bool passed() const { return stream == nullptr || stream->has_done(position); }
  void wait() const {
    if (stream != nullptr) stream->wait_for(position);
  }
  /// What `later` is given from here on waits.
  void hold_up(FakeStream& later) const {
    if (stream != nullptr) later.give([mark = *this] { mark.wait(); });
  }
};

}  // namespace hexaplan::validator
