#pragma once
#include <csignal>
#include <functional>
#include <thread>

namespace hexaplan::cli {

/// While it lives, SIGINT and SIGTERM are received by a thread of its own, which calls `on_signal` and ends
/// the process with 130 or 143: files can be finished, which a signal handler may not do. Make it before
/// other threads are started, so that none of them receives the signals.
class Interrupts {
 public:
  explicit Interrupts(std::function<void(int)> on_signal);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  sigset_t before_{};
  std::thread thread_;
};

}  // namespace hexaplan::cli
