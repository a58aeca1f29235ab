#pragma once
#include <csignal>
#include <cstdint>
#include <functional>
#include <string_view>
#include <thread>

namespace hexaplan::cli {

/// SIGINT and SIGTERM as people call them: "Ctrl-C", "SIGTERM".
[[nodiscard]] std::string_view name_of_signal(int signal);

/// What follows on_signal: the end of the process with 130 or 143, or what its owner makes of it; then a
/// second signal is the end.
enum class AfterSignal : std::uint8_t { End, GoOn };

/// While it lives, SIGINT and SIGTERM are received by a thread of its own, which calls `on_signal`: files can
/// be finished, which a signal handler may not do. Make it before other threads are started, so that none of
/// them receives the signals, and no two at a time.
class Interrupts {
 public:
  explicit Interrupts(std::function<void(int)> on_signal, AfterSignal after = AfterSignal::End);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  sigset_t before_{};
  std::thread thread_;
};

}  // namespace hexaplan::cli
