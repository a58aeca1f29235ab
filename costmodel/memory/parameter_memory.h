#pragma once
#include <array>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/memory_load.h"
#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::costmodel {

/// What a rank holds because of the parameters of its stage: states and the buffers sized by them. Depends on
/// how the layout cuts parameters, not on micro-batches or recomputation.
class ParameterMemory {
 public:
  /// Classes outside `used` stay empty.
  ParameterMemory(const Scenario& scenario, const std::array<bool, kLayerClasses>& used);
  /// Sums the ledgers, for `load`.
  void sum();

  /// Calls `visit(entry, times)` for every entry of the stage. `scenario` is the constructor's.
  template <class Visitor>
  void visit(const Scenario& scenario, const StagePlan& stage, const Visitor& visit) const {
    visit_parts(stage, [&](const Part& part, double times) {
      for (const TensorEntry& entry : part.ledger) visit(entry, times);
    });
    for (const TensorEntry& entry : buffers(scenario, stage)) visit(entry, 1.0);
  }
  // The same by where it belongs, once each: states of a layer and of either end, and what is one per stage.
  [[nodiscard]] const TensorLedger& layer_states(std::size_t layer_class) const {
    return classes_[layer_class].states.ledger;
  }
  [[nodiscard]] const TensorLedger& embedding_states() const { return embedding_.ledger; }
  [[nodiscard]] const TensorLedger& head_states() const { return head_.ledger; }
  [[nodiscard]] TensorLedger buffers(const Scenario& scenario, const StagePlan& stage) const;
  /// The same, summed. Precondition: sum().
  [[nodiscard]] MemoryLoad load(const Scenario& scenario, const StagePlan& stage) const;
  [[nodiscard]] Bytes unreclaimed(const Scenario& scenario, const StagePlan& stage) const;
  /// Offloaded states of one rank of the stage.  [docs/formulas.md#M1]
  [[nodiscard]] Bytes offloaded(const Scenario& scenario, const StagePlan& stage) const;

 private:
  struct Part {
    TensorLedger ledger;
    MemoryLoad load;
  };
  struct ClassPart {
    double elements = 0;                        // of one layer on one rank, before ZeRO
    double trained = 0;                         // … that have gradients
    double reduced = 0;                         // … that its unit reduces when it is sharded
    double gathered = 0;                        // … once gathered, in elements of the gather's type
    double largest_module = 0, persistent = 0;  // StageElements
    double matrix_update_bytes = 0, listed_update_bytes = 0, distinct_matrices = 0;
    Part states;      // one layer
    Bytes offloaded;  // … of its states, that the host has
  };
  template <class Visitor>
  void visit_parts(const StagePlan& stage, const Visitor& visit) const {
    for (std::size_t c = 0; c < kLayerClasses; ++c) {
      if (stage.layers[c] > 0) visit(classes_[c].states, static_cast<double>(stage.layers[c]));
    }
    if (stage.embedding > 0) visit(embedding_, stage.embedding);
    if (stage.head > 0) visit(head_, stage.head);
  }
  [[nodiscard]] StageElements elements_of(const StagePlan& stage) const;

  std::array<ClassPart, kLayerClasses> classes_;
  Part embedding_, head_;
  Bytes offloaded_embedding_, offloaded_head_;
  double embedding_elements_ = 0, head_elements_ = 0, head_matrix_ = 0, tied_head_ = 0;
  double persistent_embedding_ = 0, persistent_head_ = 0;
  /// Elements of embedding or head that have gradients.
  struct TrainedEnd {
    double trained = 0, reduced = 0;  // StageElements
  };
  static TrainedEnd trained_of_end(const Scenario& scenario, const std::vector<ParameterTensor>& tensors);
  TrainedEnd trained_embedding_, trained_head_;
};

}  // namespace hexaplan::costmodel
