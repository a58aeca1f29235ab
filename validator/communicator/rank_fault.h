#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace hexaplan::validator {

/// What a rank was doing in its communication when a fault was noticed.
struct LastCall {
  int rank = 0;           // of the world
  std::string operation;  // "attention.qkv"; empty: has not communicated yet
  std::string what;       // "all-reduce", "receive"
  int layer = -1;
  int microbatch = -1;
  std::int64_t calls = 0;  // communication calls that it has begun
  bool inside = false;     // still waits in it
  bool answered = true;    // false: nothing is known, the rank did not answer
};

enum class FaultCause : std::uint8_t { Threw, TimedOut, Died, Mismatch };

/// Why all ranks stop: one for the whole job, equal on every rank that can still say so.
struct RankFault : std::runtime_error {
  RankFault(FaultCause why, int at_rank, LastCall during, std::string reason,
            std::vector<LastCall> all_ranks);

  FaultCause cause;
  int rank;  // world rank where it began; -1: not known
  LastCall call;
  std::vector<LastCall> last_calls;  // of every rank that is known
};

/// "attention.qkv (all-reduce), layer 3, micro-batch 1".
[[nodiscard]] std::string describe(const LastCall& call);

}  // namespace hexaplan::validator
