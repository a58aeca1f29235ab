#include "cli/commands/interrupts.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

namespace hexaplan::cli {
namespace {

constexpr int kStop = SIGUSR2;  // from the destructor

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, kStop}) sigaddset(&set, signal);
  return set;
}

/// A job's launcher signals all its processes, and a rank's supervisor passes on what it got: what comes so
/// soon behind the first is the same one.
constexpr std::chrono::milliseconds kSameSignal{500};

void wait_for_signals(const std::function<void(int)>& on_signal, AfterSignal after) {
  const sigset_t set = watched();
  int signal = 0;
  if (sigwait(&set, &signal) != 0 || signal == kStop) return;
  const auto first = std::chrono::steady_clock::now();
  on_signal(signal);
  if (after == AfterSignal::End) std::fflush(nullptr);
  while (after == AfterSignal::GoOn) {
    if (sigwait(&set, &signal) != 0 || signal == kStop) return;
    if (std::chrono::steady_clock::now() - first > kSameSignal) break;
  }
  _exit(128 + signal);
}

}  // namespace

std::string_view name_of_signal(int signal) {
  return signal == SIGINT ? "Ctrl-C" : "SIGTERM";
}

Interrupts::Interrupts(std::function<void(int)> on_signal, AfterSignal after) {
  const sigset_t set = watched();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  thread_ = std::thread{[call = std::move(on_signal), after] { wait_for_signals(call, after); }};
}

Interrupts::~Interrupts() {
  pthread_kill(thread_.native_handle(), kStop);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace hexaplan::cli
