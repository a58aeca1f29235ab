#pragma once
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "validator/executor/memory/step_place.h"

namespace hexaplan::validator {

struct Call;

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

  /// The rank begins `call`, an "all-reduce".
  void begin(const Call& call, std::string_view kind);
};

enum class FaultCause : std::uint8_t { Threw, TimedOut, Died, Mismatch };
/// "threw", "timed out", "died", "mismatch".
[[nodiscard]] std::string name_of(FaultCause cause);

/// What is known of a fault.
struct Fault {
  FaultCause cause = FaultCause::Threw;
  int rank = 0;                           // world rank where it lies
  LastCall call;                          // of that rank
  std::string reason;                     // "what() of its error", "did not arrive within 30 s"
  std::optional<StepPlace> place = {};    // where the error says it lies: `reason` has the words
  std::vector<LastCall> last_calls = {};  // of every rank, where known
};

/// Why all ranks stop: one for the whole job.
///   rank 2 in mlp.down (all-reduce), layer 3: did not come …
///   rank 2: mlp.up of layer 3 (forward, micro-batch 0): mlp.up needs … bytes …
struct RankFault : std::runtime_error {
  explicit RankFault(Fault what_is_known);

  Fault fault;
  std::exception_ptr original;     // what the rank threw, if it lives in this process
  bool ranks_left_behind = false;  // RankBackend::run
};

/// "mlp.down (all-reduce), layer 3, micro-batch 1".
[[nodiscard]] std::string describe(const LastCall& call);
/// Where the error says that it lies: a PlacedError.
[[nodiscard]] std::optional<StepPlace> place_of(const std::exception_ptr& error);

}  // namespace hexaplan::validator
