#pragma once
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/estimate.h"

namespace hexaplan::costmodel {

/// Everything the memory of all stages is computed from, built once per scenario: ledgers of one layer of
/// each class and of the two ends.
class MemoryModel {
 public:
  MemoryModel(const Scenario& scenario, const Calibration& calibration);

  /// The ledger of one rank of `stage`; `microbatches_in_flight` in units of the stage's layers.
  [[nodiscard]] TensorLedger ledger(const StagePlan& stage, double microbatches_in_flight) const;
  /// The same, summed at its peak.  [docs/formulas.md#M7]
  [[nodiscard]] StageMemory peak(const StagePlan& stage, int index, double microbatches_in_flight) const;

 private:
  struct ClassLedgers {
    double elements = 0;  // of one layer on one rank, before ZeRO
    double distinct_matrices = 0;
    TensorLedger states;      // one layer
    TensorLedger saved;       // one layer, one micro-batch
    TensorLedger checkpoint;  // one layer, one micro-batch, fully recomputed
    TensorLedger transients;  // the largest working set
    TensorLedger recompute_transients;
  };
  /// Calls `visit(entry, times)` for every ledger entry of the stage.
  template <class Visitor>
  void visit_entries(const StagePlan& stage, double in_flight, const Visitor& visit) const;
  template <class Visitor>
  void visit_layers(const StagePlan& stage, double in_flight, const Visitor& visit) const;
  [[nodiscard]] Bytes unreclaimed(const StagePlan& stage, double in_flight) const;
  [[nodiscard]] const TensorLedger* largest_transients(const StagePlan& stage) const;
  /// Copies of one layer's kept activations on the device, of `layers` × micro-batches in flight.
  [[nodiscard]] double resident(double copies) const;
  [[nodiscard]] StageElements elements_of(const StagePlan& stage) const;

  const Scenario& scenario_;
  LocalDims dims_;
  DeviceOverhead overhead_;
  std::array<ClassLedgers, kLayerClasses> classes_;
  TensorLedger embedding_, head_, loss_;
  double embedding_elements_ = 0, head_elements_ = 0;
};

}  // namespace hexaplan::costmodel
