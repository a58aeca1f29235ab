#include "cli/commands/interrupts.h"

#include <pthread.h>
#include <unistd.h>

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

void wait_for_signals(const std::function<void(int)>& on_signal, AfterSignal after) {
  const sigset_t set = watched();
  int signal = 0;
  if (sigwait(&set, &signal) != 0 || signal == kStop) return;
  on_signal(signal);
  if (after == AfterSignal::End) std::fflush(nullptr);
  if (after == AfterSignal::GoOn && (sigwait(&set, &signal) != 0 || signal == kStop)) return;
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
