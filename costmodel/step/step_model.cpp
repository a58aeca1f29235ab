#include "costmodel/step/step_model.h"

#include <algorithm>
#include <cstddef>

#include "costmodel/communication/overlap.h"
#include "costmodel/compute/kernel_time.h"
#include "costmodel/compute/transformer_operations.h"
#include "costmodel/step/step_operations.h"

namespace hexaplan::costmodel {
StepModel::StepModel(const Scenario& sc, const Calibration& calibration, const std::vector<StagePlan>& stages)
    : sc_{sc},
      calibration_{calibration},
      stages_{stages},
      dims_{local_dims(sc)},
      pricer_{sc, calibration},
      parameters_{sc, stages},
      microbatches_{static_cast<double>(microbatches_per_step(sc))} {
  std::vector<Operation> operations;
  operations.reserve(96);
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (!uses_class(stages, c)) continue;
    operations.clear();
    append_layer_operations(sc, dims_, layer_class_at(static_cast<int>(c)), operations);
    layers_[c] = pricer_.price(operations, sc.framework.layer_host_forward, sc.framework.layer_host_backward);
  }
  operations.clear();
  append_embedding_operations(sc, dims_, operations);
  embedding_ = pricer_.price(operations);
  operations.clear();
  append_head_operations(sc, dims_, operations);
  head_ = pricer_.price(operations);
}

LayerCost StepModel::stage_cost(const StagePlan& stage) const {
  LayerCost cost;
  const double share = rerun_share(sc_.recipe.recompute, stage);
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (stage.layers[c] == 0) continue;
    LayerCost layers = layers_[c] * stage.layers[c];
    layers.rerun = layers.rerun * share;
    layers.rerun_flops *= share;
    cost += layers;
  }
  cost += embedding_ * stage.embedding;
  cost += head_ * stage.head;
  return cost;
}

/// Time the slowest stage waits: filling and draining the pipeline through the others.  [docs/formulas.md#S3]
Seconds StepModel::bubble(const std::vector<LayerCost>& costs, std::size_t slowest) const {
  const auto stages = static_cast<double>(costs.size());
  if (costs.size() == 1) return {};
  Seconds others, weights;
  for (std::size_t s = 0; s < costs.size(); ++s) {
    if (s == slowest) continue;
    others += costs[s].total();
    weights += costs[s].weight_gradient;
  }
  const Seconds forward = costs[slowest].forward.total();
  switch (sc_.layout.schedule) {
    case ScheduleKind::ZbH1:
      return larger(others - 2.0 * weights, forward * (stages - 1));
    case ScheduleKind::Zb2p:
      return Seconds{};
    case ScheduleKind::Zbv:
      return forward * (stages - 1) / 2.0;
    case ScheduleKind::VHalf:
      return others / 2.0;
    case ScheduleKind::DualPipe:
      return larger(Seconds{}, (stages / 2 - 1) / (stages - 1) * (others - 3.0 * weights));
    case ScheduleKind::DualPipeV:
      return larger(Seconds{}, 0.5 * (others - 3.0 * weights));
    case ScheduleKind::GPipe:
    case ScheduleKind::OneFOneB:
    case ScheduleKind::Interleaved:
      break;
  }
  return others / static_cast<double>(sc_.layout.vpp);
}

/// Sends between stages that nothing hides: once down and up the pipeline, and in every micro-batch for
/// schedules that wait for them.  [docs/formulas.md#S4]
Seconds StepModel::pipeline_messages() const {
  if (sc_.layout.pp == 1) return {};
  const double element = bytes_per_element(activation_dtype(sc_.recipe.precision));
  const Bytes payload{static_cast<double>(dims_.sp_tokens * dims_.hidden) * element};
  const bool sliced = sc_.framework.pipeline_scatter_gather && !sc_.layout.sp && sc_.layout.tp > 1;
  const Seconds send =
      sliced ? pricer_.collective(CollectiveKind::SendRecv, payload / sc_.layout.tp, Group::Pipeline) +
                   pricer_.collective(CollectiveKind::AllGather, payload, Group::Tensor)
             : pricer_.collective(CollectiveKind::SendRecv, payload, Group::Pipeline);
  const double chunks = chunks_per_stage(sc_.layout);
  const double hops = sc_.layout.pp - 1;
  const double fill = 2.0 * hops;
  const double steady = 2.0 * (microbatches_ - 1) * chunks * (1 - sc_.framework.pipeline_overlap);
  // A stage serves its neighbours one after the other; while the pipeline fills and drains, one at a time.
  const double waits = hops + std::min(2.0, hops) * (microbatches_ - 1) * chunks;
  return send * (fill + steady) + sc_.framework.pipeline_wait * waits;
}

Seconds StepModel::total(const std::vector<Operation>& operations, Pass pass) const {
  Seconds sum;
  for (const Operation& op : operations) sum += op.pass == pass ? pricer_.time_of(op) : Seconds{};
  return sum;
}

/// What one rank still waits for after its last backward, and before its first forward. [docs/formulas.md#C8]
Seconds StepModel::data_parallel(const LayerCost& slowest, const StageParameters& p) const {
  const FrameworkProfile& f = sc_.framework;
  std::vector<Operation> reduction, gathering;
  append_gradient_reduction(sc_, p, reduction);
  append_parameter_gather(sc_, p, gathering);
  if (reduction.empty() && gathering.empty()) return {};
  const double buckets = gradient_buckets(sc_, p);
  const bool sharded = sc_.layout.sharding.stage >= 1;
  const bool every = f.gradient_overlap == GradientOverlap::EveryMicrobatch && sc_.layout.sharding.stage >= 2;
  const double times = every ? microbatches_ : 1;
  const Seconds gradients = times * total(reduction, Pass::Step);
  const Seconds hidden = times * (slowest.backward.total() + slowest.rerun.total()) / f.overlap_slowdown;
  const Seconds exposed =
      reduces_beside_backward(sc_) ? larger(gradients / buckets, gradients - hidden) : gradients;
  const Seconds gather = total(gathering, Pass::Step);
  const Seconds exposed_gather =
      f.parameter_gather_overlap
          ? larger(gather / buckets, gather - slowest.forward.total() / f.overlap_slowdown)
          : gather;
  return exposed + exposed_gather + (sharded ? slices(p) : Seconds{});
}

/// Copies between parameters and the buffers of the gather after a ZeRO-1 step: by the device, or as long as
/// the host takes to cut every tensor into its ranks' slices.
Seconds StepModel::slices(const StageParameters& p) const {
  const FrameworkProfile& f = sc_.framework;
  const int ranks = sc_.layout.shard_ranks();
  if (ranks <= 1 || f.gather_copy_bytes <= 0) return {};
  return larger(memory_bound_time(Bytes{p.all() * f.gather_copy_bytes}, sc_.cluster.gpu, calibration_),
                f.gather_slice_host * (p.tensors * ranks));
}

/// ZeRO-3 / FSDP: every layer is gathered before its forward and its backward and its gradient scattered, per
/// micro-batch; each transfer runs beside the layer before it, which it slows down. Copies in and out of the
/// buffers follow one another on the device.  [docs/formulas.md#C9]
Seconds StepModel::sharded_layer(const StageParameters& p, Seconds forward, Seconds backward) const {
  const FrameworkProfile& f = sc_.framework;
  std::vector<Operation> operations;
  append_layer_sharding(sc_, p, operations);
  const auto beside = [&](Seconds transfer, Seconds compute) {
    return overlap(compute, transfer, 1.0, f.overlap_slowdown).exposed;
  };
  const Seconds again = total(operations, Pass::BackwardData);
  const Seconds scatter = total(operations, Pass::BackwardWeight);
  const Seconds waiting =
      f.backward_gather_overlap ? beside(again + scatter, backward) : again + beside(scatter, backward);
  return beside(total(operations, Pass::Forward), forward) + waiting + total(operations, Pass::Step);
}

Seconds StepModel::sharded_parameters(const StagePlan& stage) const {
  Seconds exposed;
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (stage.layers[c] == 0) continue;
    const Seconds backward =
        layers_[c].backward.total() + layers_[c].rerun.total() * rerun_share(sc_.recipe.recompute, stage);
    exposed += stage.layers[c] * sharded_layer(parameters_.layer(c), layers_[c].forward.total(), backward);
  }
  exposed += sharded_layer(parameters_.embedding() * stage.embedding, {}, {});
  exposed += sharded_layer(parameters_.head() * stage.head, head_.forward.total(), head_.backward.total());
  return exposed * microbatches_;
}

/// Memory traffic of the update and of the gradient norm.  [docs/formulas.md#T7]
Seconds StepModel::optimizer(const StageParameters& p) const {
  std::vector<Operation> update;
  append_update(sc_, p, update);
  return total(update, Pass::Step);
}

/// The slowest stage sets the pace, with what it does once per step: taking the stage by its compute alone
/// would let a faster GPU lengthen the step by moving the choice to a stage with more to reduce.
StepTime StepModel::time() const {
  std::vector<LayerCost> costs;
  costs.reserve(stages_.size());
  for (const StagePlan& stage : stages_) costs.push_back(stage_cost(stage));
  StepTime longest;
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    if (stage > 0 && stages_[stage] == stages_[stage - 1]) continue;
    const StepTime time = time_paced_by(costs, stage);
    if (time.total() > longest.total()) longest = time;
  }
  return longest;
}

StepTime StepModel::time_paced_by(const std::vector<LayerCost>& costs, std::size_t slowest) const {
  const LayerCost& cost = costs[slowest];
  const StageParameters parameters = parameters_.of(stages_[slowest]);
  PassCost passes = cost.forward;
  passes += cost.backward;
  StepTime t;
  t.gemm = passes.gemm * microbatches_;
  t.attention = passes.attention * microbatches_;
  t.memory_bound = passes.memory_bound * microbatches_;
  t.launch = passes.launch * microbatches_;
  t.recompute = cost.rerun.total() * microbatches_;
  t.tensor_parallel = passes.tensor * microbatches_;
  t.context_parallel = passes.context * microbatches_;
  t.expert_parallel = passes.expert * microbatches_;
  t.pipeline_p2p = pipeline_messages();
  t.bubble = bubble(costs, slowest);
  t.data_parallel =
      gathers_by_layer(sc_) ? sharded_parameters(stages_[slowest]) : data_parallel(cost, parameters);
  t.optimizer = optimizer(parameters);
  t.host = sc_.framework.step_overhead + sc_.framework.microbatch_overhead * microbatches_;
  return t;
}

/// Stages differ, the ranks of one stage do not.
Flops StepModel::hardware_flops() const {
  Flops sum;
  for (const StagePlan& stage : stages_) {
    const LayerCost cost = stage_cost(stage);
    sum += (cost.flops + cost.rerun_flops) * microbatches_;
  }
  return sum * static_cast<double>(sc_.layout.dp) * sc_.layout.tp * sc_.layout.cp;
}

}  // namespace hexaplan::costmodel
