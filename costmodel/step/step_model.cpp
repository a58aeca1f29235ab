#include "costmodel/step/step_model.h"

#include <algorithm>
#include <cstddef>

#include "costmodel/communication/overlap.h"
#include "costmodel/compute/kernel_time.h"
#include "costmodel/compute/transformer_operations.h"
#include "costmodel/parameters/parameter_tensors.h"

namespace hexaplan::costmodel {
namespace {

StageParameters count(const Scenario& sc, const std::vector<ParameterTensor>& tensors) {
  StageParameters sum;
  for (const ParameterTensor& tensor : tensors) {
    const auto elements =
        static_cast<double>(elements_on_rank(tensor, sc.model, sc.layout, sc.framework.vocab_multiple));
    (is_expert(tensor) ? sum.expert : sum.dense) += elements;
    sum.tensors += 1;
  }
  return sum;
}

StageParameters operator*(StageParameters p, double factor) {
  return {p.dense * factor, p.expert * factor, p.tensors * factor};
}
StageParameters& operator+=(StageParameters& a, const StageParameters& b) {
  a.dense += b.dense;
  a.expert += b.expert;
  a.tensors += b.tensors;
  return a;
}

double bytes_of(DType dtype) {
  return bits_per_element(dtype) / 8.0;
}

}  // namespace

StepModel::StepModel(const Scenario& sc, const Calibration& calibration, const std::vector<StagePlan>& stages)
    : sc_{sc}, calibration_{calibration}, stages_{stages}, dims_{local_dims(sc)}, pricer_{sc, calibration} {
  std::vector<Operation> operations;
  std::vector<ParameterTensor> tensors;
  operations.reserve(96);
  tensors.reserve(kMaxLayerTensors);
  for (int c = 0; c < kLayerClasses; ++c) {
    const auto index = static_cast<std::size_t>(c);
    const bool used =
        std::any_of(stages.begin(), stages.end(), [&](const StagePlan& s) { return s.layers[index] > 0; });
    if (!used) continue;
    operations.clear();
    tensors.clear();
    append_layer_operations(sc, dims_, layer_class_at(c), operations);
    append_layer_parameters(sc.model, layer_class_at(c), tensors);
    layers_[index] =
        pricer_.price(operations, sc.framework.layer_host_forward, sc.framework.layer_host_backward);
    layer_parameters_[index] = count(sc, tensors);
  }
  operations.clear();
  append_embedding_operations(sc, dims_, operations);
  embedding_ = pricer_.price(operations);
  operations.clear();
  append_head_operations(sc, dims_, operations);
  head_ = pricer_.price(operations);
  tensors.clear();
  append_embedding_parameters(sc.model, tensors);
  embedding_parameters_ = count(sc, tensors);
  tensors.clear();
  append_head_parameters(sc.model, sc.layout.pp > 1, tensors);
  head_parameters_ = count(sc, tensors);
  microbatches_ =
      static_cast<double>(sc.recipe.global_batch) / static_cast<double>(sc.recipe.micro_batch * sc.layout.dp);
}

double StepModel::recomputed_share(const StagePlan& stage) const {
  const Recompute& recompute = sc_.recipe.recompute;
  if (recompute.mode != RecomputeMode::Layers || stage.total_layers() == 0) return 1;
  return static_cast<double>(std::min(recompute.layers, stage.total_layers())) / stage.total_layers();
}

LayerCost StepModel::stage_cost(const StagePlan& stage) const {
  LayerCost cost;
  const double rerun_share = recomputed_share(stage);
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (stage.layers[c] == 0) continue;
    LayerCost layers = layers_[c] * stage.layers[c];
    layers.rerun = layers.rerun * rerun_share;
    layers.rerun_flops *= rerun_share;
    cost += layers;
  }
  cost += embedding_ * stage.embedding;
  cost += head_ * stage.head;
  return cost;
}

StageParameters StepModel::stage_parameters(const StagePlan& stage) const {
  StageParameters sum;
  for (std::size_t c = 0; c < kLayerClasses; ++c) sum += layer_parameters_[c] * stage.layers[c];
  sum += embedding_parameters_ * stage.embedding;
  sum += head_parameters_ * stage.head;
  return sum;
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
  const double element = bits_per_element(activation_dtype(sc_.recipe.precision)) / 8.0;
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

/// ZeRO-1/2: updated parameters from their owners, all at once or one broadcast per owner.
Seconds StepModel::updated_parameters(const StageParameters& p) const {
  const double element = bytes_of(sc_.framework.gather_dtype);
  const Bytes dense{p.dense * element};
  const double owners = sc_.layout.shard_ranks();
  return (sc_.framework.gather_by_broadcasts
              ? owners * pricer_.collective(CollectiveKind::Broadcast, dense / owners, Group::Shard)
              : pricer_.collective(CollectiveKind::AllGather, dense, Group::Shard)) +
         pricer_.collective(CollectiveKind::AllGather, Bytes{p.expert * element}, Group::ExpertData);
}

/// What one rank still waits for after its last backward, and before its first forward. [docs/formulas.md#C8]
Seconds StepModel::data_parallel(const LayerCost& slowest, const StageParameters& p) const {
  const FrameworkProfile& f = sc_.framework;
  const Sharding& sharding = sc_.layout.sharding;
  if (trains_adapters(sc_.recipe)) return {};
  const double reduce = bytes_of(sc_.recipe.gradient_dtype.value_or(f.reduce_dtype));
  const bool sharded = sharding.stage >= 1;
  const auto both = [&](CollectiveKind kind, double element) {
    return pricer_.collective(kind, Bytes{p.dense * element}, Group::DataContext) +
           pricer_.collective(kind, Bytes{p.expert * element}, Group::ExpertData);
  };
  Seconds gradients =
      both(sharded && f.reduce_scatter_gradients ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce,
           reduce);
  const Seconds gather = sharded ? updated_parameters(p) : Seconds{};
  const bool overlaps = f.gradient_overlap != GradientOverlap::None && !(sharded && f.sharding_ends_overlap);
  Seconds hidden = overlaps ? slowest.backward.total() + slowest.rerun.total() : Seconds{};
  if (f.gradient_overlap == GradientOverlap::EveryMicrobatch && sharding.stage >= 2) {
    gradients *= microbatches_;
    hidden *= microbatches_;
  }
  const double buckets = std::max(
      1.0, p.all() / std::max(1.0, f.gradient_bucket_elements + f.gradient_bucket_per_rank * sc_.layout.dp));
  const Seconds last_bucket = gradients / buckets;
  const Seconds exposed = larger(last_bucket, gradients - hidden / f.overlap_slowdown);
  const Seconds gather_hidden = f.parameter_gather_overlap ? slowest.forward.total() : Seconds{};
  return (overlaps ? exposed : gradients) + (sharded ? slices(p) : Seconds{}) +
         larger(f.parameter_gather_overlap ? gather / buckets : gather,
                gather - gather_hidden / f.overlap_slowdown);
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
Seconds StepModel::sharded_parameters(const LayerCost& slowest, const StagePlan& stage) const {
  const FrameworkProfile& f = sc_.framework;
  const bool hybrid = sc_.layout.shard_ranks() < sc_.layout.dp * sc_.layout.cp;
  const double reduce = bytes_of(sc_.recipe.gradient_dtype.value_or(f.reduce_dtype));
  const bool reshards = f.reshard_after_forward && sc_.layout.sharding.stage >= 3;
  Seconds exposed;
  const auto layer = [&](const StageParameters& p, Seconds forward, Seconds backward, double times) {
    const Seconds gather = pricer_.collective(CollectiveKind::AllGather,
                                              Bytes{p.dense * bytes_of(f.gather_dtype)}, Group::Shard) +
                           pricer_.collective(CollectiveKind::AllGather,
                                              Bytes{p.expert * bytes_of(f.gather_dtype)}, Group::ExpertData);
    Seconds scatter =
        pricer_.collective(CollectiveKind::ReduceScatter, Bytes{p.dense * reduce}, Group::Shard) +
        pricer_.collective(CollectiveKind::ReduceScatter, Bytes{p.expert * reduce}, Group::ExpertData);
    if (hybrid) {
      scatter += pricer_.collective(CollectiveKind::AllReduce,
                                    Bytes{p.dense * reduce / sc_.layout.shard_ranks()}, Group::Replica);
    }
    const Seconds again = reshards ? gather : Seconds{};
    const auto beside = [&](Seconds transfer, Seconds compute) {
      return overlap(compute, transfer, 1.0, f.overlap_slowdown).exposed;
    };
    const Seconds waiting =
        f.backward_gather_overlap ? beside(again + scatter, backward) : again + beside(scatter, backward);
    const double gathers = reshards ? 2 : 1;
    const Bytes copied{p.all() * (gathers * f.gather_copy_bytes + f.reduce_copy_bytes)};
    const Seconds copies =
        copied.value() > 0 ? memory_bound_time(copied, sc_.cluster.gpu, calibration_) : Seconds{};
    exposed += times * (beside(gather, forward) + waiting + copies);
  };
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (stage.layers[c] == 0) continue;
    layer(layer_parameters_[c], layers_[c].forward.total(),
          layers_[c].backward.total() + layers_[c].rerun.total() * recomputed_share(stage),
          stage.layers[c] * microbatches_);
  }
  layer(embedding_parameters_ * stage.embedding, {}, {}, microbatches_);
  layer(head_parameters_ * stage.head, head_.forward.total(), head_.backward.total(), microbatches_);
  (void)slowest;
  return exposed;
}

/// Memory traffic of the update and of the gradient norm.  [docs/formulas.md#T7]
Seconds StepModel::optimizer(const StageParameters& p) const {
  const int stage = sc_.layout.sharding.stage;
  const double dense = stage >= 1 ? p.dense / sc_.layout.shard_ranks() : p.dense;
  const double expert = stage >= 1 ? p.expert / std::max(1, sc_.layout.expert_data()) : p.expert;
  const double trained = trains_adapters(sc_.recipe) ? 0 : dense + expert;
  const double whole = trains_adapters(sc_.recipe) || stage >= 3 ? 0 : p.all();
  return memory_bound_time(Bytes{trained * sc_.framework.optimizer_passes_bytes +
                                 whole * sc_.framework.whole_gradient_passes_bytes},
                           sc_.cluster.gpu, calibration_);
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
  const StageParameters parameters = stage_parameters(stages_[slowest]);
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
  const int sharding = sc_.layout.sharding.stage;
  const bool by_layer = sharding >= 3 || (sharding == 2 && sc_.framework.zero2_gathers_layers);
  t.data_parallel = by_layer ? sharded_parameters(cost, stages_[slowest]) : data_parallel(cost, parameters);
  t.optimizer = optimizer(parameters);
  t.host = sc_.framework.step_overhead + sc_.framework.microbatch_overhead * microbatches_;
  return t;
}

/// FLOPs of one rank's share, summed over stages and tensor- and context-parallel ranks by the caller's world
/// size.
Flops StepModel::hardware_flops() const {
  Flops sum;
  for (const StagePlan& stage : stages_) {
    const LayerCost cost = stage_cost(stage);
    sum += (cost.flops + cost.rerun_flops) * microbatches_;
  }
  return sum * static_cast<double>(sc_.layout.dp) * sc_.layout.tp * sc_.layout.cp;
}

}  // namespace hexaplan::costmodel
