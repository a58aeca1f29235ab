#pragma once
#include <array>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/memory/parameter_memory.h"
#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/program/activation_memory.h"
#include "costmodel/program/replay_memory.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/estimate.h"

namespace hexaplan::costmodel {

/// Everything the memory of all stages is computed from, built once per scenario: ledgers of one layer of
/// each class and of the two ends.
class MemoryModel {
 public:
  MemoryModel(const Scenario& scenario, const Calibration& calibration, const std::vector<StagePlan>& stages);

  /// The ledger of one rank of `stage`; `microbatches_in_flight` in units of the stage's layers.
  [[nodiscard]] TensorLedger ledger(const StagePlan& stage, double microbatches_in_flight) const;
  /// The ledger of one rank of stage number `index`, of which the replay's kinds are rows where it is
  /// replayed.
  [[nodiscard]] TensorLedger printed_ledger(const StagePlan& stage, int index,
                                            double microbatches_in_flight) const;
  /// What the passes do not hold, by instant, where the replay has the passes alone; else nothing.
  [[nodiscard]] std::array<MemoryBreakdown, kInstants> beside_passes(const StagePlan& stage) const;
  /// The same as `ledger`, summed at its peak: replayed where the ledger does not hold every instant exactly
  /// (needs_replay).  [docs/formulas.md#M7]
  [[nodiscard]] StageMemory peak(const StagePlan& stage, int index, double microbatches_in_flight) const;
  /// … of every stage: what those of equal content have alike is summed once.
  [[nodiscard]] std::vector<StageMemory> peaks(const std::vector<StagePlan>& stages,
                                               const std::vector<double>& microbatches_in_flight) const;

 private:
  /// What a stage has because of its parameters, by instant.
  struct States {
    std::array<MemoryBreakdown, kInstants> at{};
    Bytes optimizer_only, unreclaimed;
  };
  [[nodiscard]] States states_of(const StagePlan& stage) const;
  [[nodiscard]] StageMemory peak(const StagePlan& stage, int index, double in_flight,
                                 const States& states) const;
  /// By instant, beside what the allocator cannot reclaim.
  [[nodiscard]] std::array<MemoryBreakdown, kInstants> sums(const States& states, const StagePlan& stage,
                                                            double in_flight, MemoryLoad& load) const;
  /// True where states and buffers are the ledger's, and the passes the replay's.
  [[nodiscard]] bool replays_passes() const {
    return !replayed_.empty() && !scenario_.framework.replays_parameters;
  }
  /// True where the replay says what the host has.
  [[nodiscard]] bool replays_host() const {
    return !replayed_.empty() && scenario_.framework.replays_parameters;
  }
  [[nodiscard]] std::array<MemoryBreakdown, kInstants> replayed(const StagePlan& stage, int index,
                                                                double in_flight, MemoryLoad& load) const;
  template <class Visitor>
  void visit_beside_passes(const StagePlan& stage, const Visitor& visit) const;
  /// Calls `visit(entry, times)` for every ledger entry of the stage.
  template <class Visitor>
  void visit_entries(const StagePlan& stage, double in_flight, const Visitor& visit) const;

  const Scenario& scenario_;
  ParameterMemory parameters_;
  ActivationMemory activations_;
  TensorLedger device_;
  std::vector<ReplayedMemory> replayed_;  // by stage; empty where the ledger says all
};

/// What the passes of every stage have alive, replayed, with the buffers beside them; the rest of a stage is
/// its parameters' load. The same under every ZeRO stage that runs the same operations. `activations`: of the
/// scenario. Precondition: needs_replay(scenario), under another profile than the executor's.
[[nodiscard]] std::vector<LiveLoad> replayed_live(const Scenario& scenario,
                                                  const ActivationMemory& activations);
/// What `scenario` needs at its fullest stage, as MemoryModel::peak has it, without ledgers.
/// Precondition: needs_replay(scenario).
[[nodiscard]] Bytes replayed_need(const Scenario& scenario, const Calibration& calibration);

}  // namespace hexaplan::costmodel
