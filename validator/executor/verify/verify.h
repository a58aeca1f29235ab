#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/units/quantity.h"
#include "validator/executor/communicator/run_ranks.h"
#include "validator/executor/device/device.h"
#include "validator/executor/report/execution_report.h"

namespace hexaplan::validator {

/// One number that the cost model predicts and the executor shows.
struct Mismatch {
  int rank = -1;  // −1: of the whole job
  std::string what;
  double predicted = 0, executed = 0;
};

/// A scenario's step executed and held against its prediction and against the step of a single rank.
struct Verification {
  costmodel::Scenario scenario;
  std::int64_t ranks = 0;
  std::int64_t compared = 0;  // numbers
  std::vector<Mismatch> mismatches;
  std::string fault;  // what a rank failed with; nothing behind it was compared

  // What was executed, for people.
  costmodel::MemoryBreakdown predicted_memory;  // of the rank that has most
  std::int64_t most_bytes = 0;                  // allocated by it
  std::int64_t messages = 0;                    // of all ranks
  costmodel::Bytes communicated;
  costmodel::Flops flops;
  double loss = 0;
  double loss_error = 0, norm_error = 0, parameter_error = 0;  // relative, against the single rank

  [[nodiscard]] bool equal() const { return mismatches.empty() && fault.empty(); }
};

struct VerifyOptions {
  std::uint64_t seed = 1;
  std::int64_t steps = 2;  // the second sees what the first updated
  RankOptions ranks;
  std::function<std::unique_ptr<Device>(int rank)> make_device;  // float64; required
};

/// Bound of the relative differences between sharded and single rank in float64.
inline constexpr double kSameNumbers = 1e-10;

/// Bounds of the relative differences of loss and gradient norm. Of gradients that qgZ reduces: in every
/// exchange a number is off by at most 1/8 of its block's largest, most by half a step of 16, as often up as
/// down.
struct SameNumbers {
  double loss = kSameNumbers, norm = kSameNumbers;
};
[[nodiscard]] SameNumbers same_numbers(const costmodel::Scenario& scenario);

/// Steps after which parameters are still those of one rank; none where messages are quantised. Optimizers
/// that act on what a rank holds together come to other numbers where that is something else: blocks of 8-bit
/// moments, which are zero before the first step, matrices that Muon orthogonalises as tensor parallelism
/// cuts them, and subspaces of GaLore's and bases and roots of SOAP's and Shampoo's that follow what rounding
/// makes of small singular values.
[[nodiscard]] std::int64_t updates_as_on_one_rank(const costmodel::Scenario& scenario);

/// Runs the scenario on ranks of `backend` with experts filled in turn, as the cost model counts them, and
/// once more alone; mixtures of experts also with their routers' own choice. Alone, tokens beyond an expert's
/// capacity are dropped as each of the ranks drops its own (RunOptions::drops_as). Compares
///   loss and gradient norm with those of one rank, as far apart as same_numbers allows, and every updated
///   parameter, ≤ kSameNumbers apart, as far as updates_as_on_one_rank; under qwZ the one rank computes its
///   first step with the parameters that the ranks gather, rounded block by block of their shards;
///   bytes by kind at each rank's peak with the estimate's and at every instant with the replay's, on the
///   device and, of what is offloaded, on the host; messages and bytes of every collective, copies over the
///   host's link, FLOPs of every operation with the prediction, exactly.
/// Precondition: rules and executor accept the scenario. A rank's fault is a difference, too.
[[nodiscard]] Verification verify(const costmodel::Scenario& scenario, const VerifyOptions& options,
                                  RankBackend& backend);

/// Only the counts: adds to `out` how a report of `steps` steps differs from the prediction for `scenario`.
void compare_with_prediction(const costmodel::Scenario& scenario, const ExecutionReport& report,
                             std::int64_t steps, Verification& out);

/// The same model and recipe on one rank, which recomputes and offloads nothing, pads no expert, and updates
/// when all gradients are there.
[[nodiscard]] costmodel::Scenario on_one_rank(costmodel::Scenario scenario);

}  // namespace hexaplan::validator
