#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/layer_cost.h"
#include "costmodel/step/stage_parameters.h"

// A step's time in parts that depend on different sides of a layout, so that a search prices each once: what
// layers cost, what a stage transfers, and how both make a step. estimate_step combines the same parts.
namespace hexaplan::costmodel {

/// The passes of a layer, an end or a stage for one micro-batch.
struct PassTotals {
  Seconds forward, backward, recomputed;
  Seconds weight_gradient;                                                    // share of backward
  Seconds forward_collectives, backward_collectives, recomputed_collectives;  // shares: kernels wait for them
  constexpr PassTotals& operator+=(const PassTotals& o) {
    forward += o.forward;
    backward += o.backward;
    recomputed += o.recomputed;
    weight_gradient += o.weight_gradient;
    forward_collectives += o.forward_collectives;
    backward_collectives += o.backward_collectives;
    recomputed_collectives += o.recomputed_collectives;
    return *this;
  }
  friend constexpr PassTotals operator*(const PassTotals& p, double factor) {
    return {p.forward * factor,
            p.backward * factor,
            p.recomputed * factor,
            p.weight_gradient * factor,
            p.forward_collectives * factor,
            p.backward_collectives * factor,
            p.recomputed_collectives * factor};
  }
  constexpr void scale_recomputed(double share) {
    recomputed *= share;
    recomputed_collectives *= share;
  }
  [[nodiscard]] constexpr Seconds total() const { return forward + backward + recomputed; }
  [[nodiscard]] constexpr Seconds collectives() const {
    return forward_collectives + backward_collectives + recomputed_collectives;
  }
};
[[nodiscard]] PassTotals totals_of(const LayerCost& cost);
/// Most that a micro-batch's collectives hide where its passes run in pairs with another's (runs_in_pairs):
/// of stages and chunks together it is at least what those hide by themselves. Otherwise nothing.
[[nodiscard]] Seconds hidden_in_pairs(const PassTotals& totals, const FrameworkProfile& framework,
                                      ScheduleKind schedule);

/// Prices per micro-batch of what a rank runs: independent of how layers are dealt to stages.
struct LayerPrices {
  std::array<LayerCost, kLayerClasses> layers;  // classes that `stages` do not use stay zero
  LayerCost embedding, head;
};
/// What a rank runs for one micro-batch, with times that do not depend on where its groups' ranks lie.
struct LayerWork {
  std::array<TimedOperations, kLayerClasses> layers;  // classes that are not used stay empty
  TimedOperations embedding, head;
};
[[nodiscard]] LayerWork work_of_layers(const Scenario& scenario, const LocalDims& dims, const Pricer& pricer,
                                       const std::array<bool, kLayerClasses>& used);
/// Precondition: `pricer` is one of the scenario that `work` is of, with any placement of its groups.
[[nodiscard]] LayerPrices price_layers(const LayerWork& work, const FrameworkProfile& framework,
                                       const Pricer& pricer);
[[nodiscard]] LayerPrices price_layers(const Scenario& scenario, const LocalDims& dims, const Pricer& pricer,
                                       const std::array<bool, kLayerClasses>& used);

/// Hidden states of a micro-batch as a rank has them, which it hands to the next pipeline stage; as many
/// bytes of gradients come back.
[[nodiscard]] Bytes stage_message_bytes(const Scenario& scenario, const LocalDims& dims);
/// True when tensor-parallel ranks send a slice each and gather what arrives (Megatron's scatter/gather,
/// arXiv:2104.04473 section 4.1).
[[nodiscard]] bool sends_slices(const Scenario& scenario);
/// One tensor sent to the next pipeline stage; 0 without a pipeline.  [docs/formulas.md#S4]
[[nodiscard]] Seconds message_time(const Scenario& scenario, const LocalDims& dims, const Pricer& pricer);

/// LayerPrices by their totals: what stages are summed from.
struct LayerTotals {
  std::array<PassTotals, kLayerClasses> layers;
  PassTotals embedding, head;
};
[[nodiscard]] LayerTotals totals_of(const LayerPrices& prices);
/// One micro-batch on a stage.
[[nodiscard]] PassTotals stage_totals(const LayerTotals& layers, const StagePlan& stage);

/// Collectives of one layer whose parameters are gathered layer by layer, one micro-batch: the last one, and
/// those before it where gradients wait for it.
struct LayerTransfers {
  Seconds gather, gather_again, scatter, copies;
  Seconds scatter_before, copies_before;
  double ahead = 1;  // share that is gathered ahead of what runs
};
/// What one stage does once per step, or per layer, with parameters and gradients; nothing hidden yet.
struct StageTransfers {
  Seconds reduction, gathering;  // whole stage; zero where gathered by layer
  Seconds slices;                // … what follows the update
  Seconds host;                  // of its collectives, beyond their launch
  Seconds mirror;                // DualPipe: gradients of two copies of the model are added up
  double buckets = 1;
  Seconds update;                                    // optimizer and gradient norm, by GPU and CPU
  Seconds outer_messages, outer_update;              // of outer steps, a step's share of them
  Seconds gradients_to_host;                         // of an offloaded optimizer, per micro-batch …
  Seconds gradients_to_host_once;                    // … or once per step
  std::array<LayerTransfers, kLayerClasses> layers;  // gathered by layer: of one layer …
  LayerTransfers embedding, head;                    // … and of the stage's embedding and head
};
/// [docs/formulas.md#C8, C9, T7]
[[nodiscard]] StageTransfers price_transfers(const Scenario& scenario, const Calibration& calibration,
                                             const Pricer& pricer, const ModelParameters& parameters,
                                             const StagePlan& stage);

/// What a micro-batch waits for on a stage beyond its passes: its neighbours wait for it, too.
struct PassWaits {
  Seconds gathers;     // before its forward: parameters gathered by layer
  Seconds reductions;  // behind its backward: gradients reduced in every pass, and what that gathers again
  Seconds offload;     // … and gradients on their way to the host
  [[nodiscard]] constexpr Seconds data_parallel() const { return gathers + reductions; }
  [[nodiscard]] constexpr Seconds total() const { return data_parallel() + offload; }
};

/// Of one of `pp` stages: the first and the last have one.
[[nodiscard]] constexpr int neighbours_of(int stage, int pp) {
  return stage == 0 || stage + 1 == pp ? 1 : 2;
}

/// One stage of a pipeline as its neighbours see it.
struct StageLoad {
  PassTotals totals;
  int count = 1;  // stages alike
  PassWaits waits = {};
  int neighbours = 2;  // 1: all of them are ends of the pipeline
};

/// First forward to last backward of a schedule that has no closed form, by running its order; nothing for
/// the others. `waits`: of every stage, or of none.  [docs/formulas.md#S3]
[[nodiscard]] Seconds replayed_span(const Scenario& scenario, const LayerTotals& layers,
                                    std::span<const PassWaits> waits = {});

/// What the passes of one micro-batch wait for where parameters are gathered layer by layer.
struct ShardedWait {
  Seconds forward, backward;
  constexpr ShardedWait& operator+=(const ShardedWait& o) {
    forward += o.forward;
    backward += o.backward;
    return *this;
  }
  friend constexpr ShardedWait operator*(const ShardedWait& wait, double factor) {
    return {wait.forward * factor, wait.backward * factor};
  }
};

/// What a step costs beside the passes of the stage that sets its pace.
struct StepOverheads {
  Seconds pipeline_p2p, bubble, data_parallel, offload, optimizer, host;
  [[nodiscard]] constexpr Seconds total() const {
    return pipeline_p2p + bubble + data_parallel + offload + optimizer + host;
  }
};

/// Combines parts. Holds what of the scenario the combination reads, so that the scenario may change.
class StepCombiner {
 public:
  /// `message`: message_time.
  StepCombiner(const Scenario& scenario, Seconds message);

  /// What one micro-batch waits for on `stage`, whose passes are `totals`.
  [[nodiscard]] PassWaits waits(const LayerTotals& layers, const StagePlan& stage,
                                const StageTransfers& transfers, const PassTotals& totals) const;

  /// A step paced by stages[slowest], which transfers what `transfers` says. `span`: replayed_span of the
  /// scenario; nothing gives a bound from below that no bubble adds to. No allocation. Precondition: the
  /// loads have their waits.  [docs/formulas.md#T8]
  [[nodiscard]] StepOverheads overheads(const StageTransfers& transfers, std::span<const StageLoad> stages,
                                        std::size_t slowest, Seconds span) const;

  /// What a stage waits for messages, and its host for its neighbours.  [docs/formulas.md#S4]
  [[nodiscard]] Seconds messages(int neighbours) const {
    return messages_[static_cast<std::size_t>(neighbours - 1)];
  }

  /// False where the bubble takes a replayed span.
  [[nodiscard]] bool has_closed_form() const { return closed_form_; }
  /// True where parameters and gradients are waited for layer by layer.
  [[nodiscard]] bool waits_by_layer() const { return by_layer_; }

  /// What the backward of one micro-batch, `totals`, waits for its gradients' copies to the host.
  [[nodiscard]] static Seconds offload_wait(const PassTotals& totals, const StageTransfers& transfers) {
    return larger(Seconds{}, transfers.gradients_to_host - totals.backward - totals.recomputed);
  }

  /// ZeRO-3 / FSDP: what one micro-batch waits for on `stage`, or on some of its layers.
  /// [docs/formulas.md#C9]
  [[nodiscard]] ShardedWait sharded_wait(const LayerTotals& layers, const StagePlan& stage,
                                         const StageTransfers& transfers) const;

 private:
  /// Less than nothing where passes run in pairs: what of the stage's collectives hides.
  [[nodiscard]] Seconds bubble(std::span<const StageLoad> stages, std::size_t slowest, Seconds span) const;
  [[nodiscard]] Seconds pipeline_messages(Seconds message, int neighbours) const;
  /// Gradients of one micro-batch that are reduced in its backward.
  [[nodiscard]] Seconds reduced_in_pass(const PassTotals& totals, const StageTransfers& transfers) const;
  [[nodiscard]] Seconds once_per_step(const PassTotals& slowest, const StageTransfers& transfers) const;
  /// Mean over micro-batches.
  [[nodiscard]] ShardedWait sharded_layer(const LayerTransfers& transfers, Seconds forward,
                                          Seconds backward) const;
  [[nodiscard]] ShardedWait sharded_layer(const LayerTransfers& transfers, Seconds scatter, Seconds copies,
                                          Seconds forward, Seconds backward) const;

  const FrameworkProfile* framework_;
  ScheduleKind schedule_;
  int pp_, vpp_;
  int chunks_;  // of a stage that a micro-batch crosses
  int copies_;  // of the model
  double microbatches_;
  bool closed_form_, by_layer_, reduction_waits_, reduces_every_pass_, reduces_beside_backward_,
      gathers_beside_forward_;
  double pipeline_overlap_;
  std::array<Seconds, 2> messages_;  // of a stage with one neighbour, and with two
};

}  // namespace hexaplan::costmodel
