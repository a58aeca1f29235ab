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

void wait_for_signal(const std::function<void(int)>& on_signal) {
  const sigset_t set = watched();
  int signal = 0;
  if (sigwait(&set, &signal) != 0 || signal == kStop) return;
  on_signal(signal);
  std::fflush(nullptr);
  _exit(128 + signal);
}

}  // namespace

Interrupts::Interrupts(std::function<void(int)> on_signal) {
  const sigset_t set = watched();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  thread_ = std::thread{[call = std::move(on_signal)] { wait_for_signal(call); }};
}

Interrupts::~Interrupts() {
  pthread_kill(thread_.native_handle(), kStop);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace hexaplan::cli
