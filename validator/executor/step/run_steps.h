#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "costmodel/spec/scenario.h"
#include "costmodel/spec/verdict.h"
#include "validator/executor/communicator/run_ranks.h"
#include "validator/executor/device/device.h"
#include "validator/executor/optimizer/optimizer_step.h"
#include "validator/executor/parallel/data.h"
#include "validator/executor/report/execution_report.h"
#include "validator/executor/step/token_source.h"

namespace hexaplan::validator {

class Stage;

/// What a caller may look at, or change, on every rank: on the rank's own thread, all ranks at the same time.
struct RankView {
  Rank& rank;
  /// Calls the visitor for all that the rank keeps of `state`, its shard of each parameter.
  std::function<void(State, const std::function<void(const OwnedPart&)>&)> visit_state;
  /// After parameters were changed from outside: the compute copies follow the masters, on all ranks.
  std::function<void()> state_changed;
  std::int64_t step = 0;  // steps that were run, over checkpoints
  bool last = false;      // the run ends after this step
};

/// A step whose loss or gradient norm is not finite: what comes after it is worthless.
struct NotFinite : std::runtime_error, PlacedError {
  NotFinite(const std::string& what, StepPlace where)
      : std::runtime_error{what}, PlacedError{std::move(where)} {}
};

struct RunOptions {
  std::int64_t steps = 1;       // measured ones
  std::int64_t warm_up = 0;     // steps before them that nothing but the memory's peak counts
  bool profile = false;         // one step more, for timing calls, where that would slow a measured one
  std::int64_t first_step = 0;  // steps that were run before, of a checkpoint
  std::uint64_t seed = 1;
  Routing routing = Routing::Learned;
  /// For one rank: of its tokens, each of the ranks that this layout would cut them over drops what is beyond
  /// its experts' capacity, so that both drop the same. Unset: the rank drops of all together.
  std::optional<costmodel::Layout> drops_as;
  InitialValues initial = InitialValues::Model;
  OptimizerOptions optimizer;
  LearningRate learning_rate;
  /// Token stream; unset: random from the seed.
  std::optional<TokenSource> tokens;
  RankOptions ranks;
  /// One per rank, given its place in the world; called on the rank's thread. Required.
  std::function<std::unique_ptr<Device>(int rank)> make_device;
  int host_threads = 1;           // of a rank, for states that are offloaded to the host
  std::int64_t memory_limit = 0;  // bytes per rank; 0 = none
  bool keep_timeline = false;
  /// Loss and gradient norm mean something: a step where one of them is not finite ends the run with
  /// NotFinite. False where parameters or messages are made up.
  bool checks_numbers = true;
  /// Hooks, all optional. `loaded` may fill in the state before the first step, `stepped` sees every step's
  /// end, unless its numbers are not finite, both on every rank; `progress` is called by the leading rank
  /// alone, with everything up to the last step.
  std::function<void(const RankView&)> loaded, stepped;
  std::function<void(const ExecutionReport& so_far)> progress;
  /// Asked on every rank during every step; when one says yes, that step is the last on all of them.
  std::function<bool()> stop;
};

/// What the executor cannot run of what the cost model can price, or nothing.
[[nodiscard]] std::optional<costmodel::Rejected> first_not_executable(const costmodel::Scenario& scenario);

/// Runs real training steps of the scenario on ranks of `backend`, every rank on a device of its own.
/// Preconditions: the rules accept the scenario and first_not_executable names nothing. Throws RankFault when
/// a rank does.
/// `complete` is false when `stop` ended it.
[[nodiscard]] ExecutionReport run_steps(const costmodel::Scenario& scenario, const RunOptions& options,
                                        RankBackend& backend);
/// The same of one rank, inside a rank program. Reports of all ranks on all ranks.
[[nodiscard]] ExecutionReport run_rank_steps(const costmodel::Scenario& scenario, const RunOptions& options,
                                             Communicator& world);

}  // namespace hexaplan::validator
