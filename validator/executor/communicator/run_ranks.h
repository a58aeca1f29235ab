#pragma once
#include <functional>
#include <string>

#include "costmodel/units/quantity.h"

namespace hexaplan::validator {

class Communicator;

struct RankOptions {
  int ranks = 1;
  /// Which run of its job this is, in a few words: the same on all processes, and others than those of the
  /// runs before and after it, so that a process that is ahead waits for the others.
  std::string run = "the run";
  /// How long a rank waits for another in one call before the job is given up.
  costmodel::Seconds timeout{120};
  /// After a fault: how long ranks have to notice it and end.
  costmodel::Seconds grace{5};
};

/// What one rank does; gets the communicator of all ranks. Ranks of threads run it at the same time.
using RankProgram = std::function<void(Communicator& world)>;

/// A way of having ranks.
class RankBackend {
 public:
  virtual ~RankBackend() = default;
  RankBackend() = default;
  RankBackend(const RankBackend&) = delete;
  RankBackend& operator=(const RankBackend&) = delete;
  /// Runs `program` on every rank that lives in this process, all options.ranks of them or one, and returns
  /// when they have ended. Throws RankFault, on every process that can, when any rank of the job threw, died
  /// or did not arrive. When RankFault::ranks_left_behind is set a rank could not be stopped: it may still
  /// touch what `program` refers to, and the process has to end.
  virtual void run(const RankOptions& options, const RankProgram& program) = 0;
  /// Ranks of the job when something outside decides it (mpirun); 0: as many as asked for.
  [[nodiscard]] virtual int fixed_ranks() const { return 0; }
  /// World rank of the first rank that lives in this process: the one with rank 0 speaks to people. 0 where
  /// all ranks do or are imitated.
  [[nodiscard]] virtual int first_local_rank() const { return 0; }
  /// Whether a rank lives, or is imitated, in this process.
  [[nodiscard]] virtual bool holds(int /*world_rank*/) const { return true; }
  /// Which of this machine's GPUs a rank of this process takes, counted from 0; taken modulo their number.
  [[nodiscard]] virtual int gpu_of(int /*world_rank*/) const { return 0; }
};

}  // namespace hexaplan::validator
