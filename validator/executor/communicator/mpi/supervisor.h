#pragma once
#include <functional>
#include <string>

#include "validator/executor/communicator/rank_fault.h"

namespace hexaplan::validator {

/// How a rank's process came to its end without saying why.
struct RankDeath {
  int rank = -1;  // -1: died before it knew
  std::string host;
  int process = 0;
  int signal = 0;  // 0: it left by itself, with exit code 0
  LastCall last;
  /// "rank 2 (host a, process 17) was killed by signal 9 (Killed) in mlp.down (all-reduce), layer 3".
  [[nodiscard]] std::string text() const;
};

/// Runs `rank` in a child process and passes its exit code on. A process that is killed says nothing; its
/// parent does: `on_death` is called in the parent and returns the exit code instead. The child ends with its
/// parent; SIGINT and SIGTERM go to the child. Call before any thread is started.
[[nodiscard]] int run_supervised(const std::function<int()>& rank,
                                 const std::function<int(const RankDeath&)>& on_death);

/// What this process's rank is doing, where its supervisor can read it after its death; nothing without one.
void tell_supervisor(const LastCall& call);

}  // namespace hexaplan::validator
