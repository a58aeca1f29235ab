#pragma once
#include <algorithm>
#include <array>

#include "costmodel/memory/memory_load.h"
#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::costmodel {

/// What a rank holds because micro-batches pass through its stage: saved activations, working sets, logits
/// and the buffers sized by a micro-batch. Does not depend on data parallelism, nor on how many layers are
/// recomputed: that is the stage's.
class ActivationMemory {
 public:
  /// Classes outside `used` stay empty.
  ActivationMemory(const Scenario& scenario, const LocalDims& dims,
                   const std::array<bool, kLayerClasses>& used);
  /// Sums the ledgers, for `load`.
  void sum();

  /// Calls `visit(entry, times)` for every entry of the stage; `in_flight` micro-batches in units of the
  /// stage's layers.
  template <class Visitor>
  void visit(const StagePlan& stage, double in_flight, const Visitor& visit) const {
    visit_parts(stage, in_flight, [&](const Part& part, double times) {
      for (const TensorEntry& entry : part.ledger) visit(entry, times);
    });
  }
  /// … for those that are there however many are in flight and whatever runs.
  template <class Visitor>
  void visit_buffers(const Visitor& visit) const {
    for (const TensorEntry& entry : streams_.ledger) visit(entry, 1.0);
  }
  /// The same, summed. Precondition: sum(). No allocation. Never decreases with in_flight.
  [[nodiscard]] LiveLoad load(const StagePlan& stage, double in_flight) const;
  [[nodiscard]] Bytes unreclaimed(const StagePlan& stage, double in_flight) const;
  /// What the layers of a chunk have left of one micro-batch when its forward has run. Precondition: sum();
  /// no activations are offloaded.
  [[nodiscard]] Bytes kept(const StagePlan& chunk) const;
  /// Activations of one rank of the stage that the host has at most.
  [[nodiscard]] Bytes offloaded(const StagePlan& stage, double in_flight) const;

 private:
  struct Part {
    TensorLedger ledger;
    LiveLoad load;
  };
  struct WorkingSet {
    Part part;
    Bytes size;
  };
  struct ClassPart {
    Part saved;       // one layer, one micro-batch
    Part checkpoint;  // … fully recomputed
    // Of its forward and its backward, without and with recomputation.
    std::array<WorkingSet, 2> forward, backward;
  };
  /// Copies of one layer's kept activations on the device, of `copies` = layers × micro-batches in flight on
  /// `stage`. Offloaded ones leave for host memory while the next layer runs: two layers' are there at once.
  /// The executor waits until they have left; of layers that differ the replay alone knows which they are.
  [[nodiscard]] double resident(const StagePlan& stage, double copies) const {
    const double share = offloaded_layers(offload_, stage.total_layers()), leaving = copies * share;
    if (!keeps_what_is_read_) return copies - leaving + std::min(leaving, 2.0);
    const auto differ =
        std::count(stage.layers.begin(), stage.layers.end(), 0) < std::ssize(stage.layers) - 1;
    return share > 0 && differ ? 0 : copies - leaving;
  }
  static void append_layer(const Scenario& scenario, const LocalDims& dims, LayerClass kind, ClassPart& part);
  /// The largest working set of a pass among the classes of the stage and, forward, the embedding; nullptr
  /// without them. Where the embedding is a chunk of its own, all layers' activations are there beside it.
  [[nodiscard]] const Part* largest(const StagePlan& stage, std::array<WorkingSet, 2> ClassPart::*pass) const;

  /// Calls `visit(part, copies)` for what layers keep, on the device or offloaded.
  template <class Visitor>
  void visit_kept(const StagePlan& stage, double in_flight, const Visitor& visit) const {
    for (std::size_t c = 0; c < kLayerClasses; ++c) {
      const int layers = stage.layers[c], checkpointed = stage.recomputed[c];
      if (checkpointed > 0) visit(classes_[c].checkpoint, checkpointed * in_flight);
      if (layers > checkpointed) visit(classes_[c].saved, (layers - checkpointed) * in_flight);
    }
  }
  template <class Visitor>
  void visit_parts(const StagePlan& stage, double in_flight, const Visitor& visit) const {
    visit_kept(stage, in_flight,
               [&](const Part& part, double copies) { visit(part, resident(stage, copies)); });
    for (const auto pass : {&ClassPart::forward, &ClassPart::backward}) {
      if (const Part* transients = largest(stage, pass)) visit(*transients, 1.0);
    }
    if (stage.head > 0) visit(loss_, stage.head);
    visit(streams_, 1.0);
    visit(receives_, 1.0);
    // The running micro-batch's is part of its working set; others wait where all forwards come first.
    if (stage.head > 0 && forwards_first_) visit(waiting_loss_, stage.head * std::max(0.0, in_flight - 1));
    if (keeps_what_is_read_ && stage.embedding > 0) visit(ids_, stage.embedding);
  }

  std::array<ClassPart, kLayerClasses> classes_;
  WorkingSet embedding_;  // forward
  Part loss_, streams_, receives_, ids_;
  Part waiting_loss_;  // of a micro-batch whose backward has not run
  bool keeps_what_is_read_ = false;
  bool forwards_first_ = false;    // GPipe
  Recipe offload_;                 // what of it says which activations are offloaded
  Bytes unreclaimed_per_forward_;  // of one layer
};

}  // namespace hexaplan::costmodel
