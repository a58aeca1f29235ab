#include "costmodel/step/step_parts.h"

#include <algorithm>
#include <cmath>

#include "costmodel/compute/kernel_time.h"
#include "costmodel/compute/operations.h"
#include "costmodel/memory/layer_ledger.h"
#include "costmodel/schedule/replay.h"
#include "costmodel/spec/shard_sizes.h"
#include "costmodel/step/execution.h"
#include "costmodel/step/offload_operations.h"
#include "costmodel/step/optimizer_operations.h"
#include "costmodel/step/outer_operations.h"
#include "costmodel/step/step_operations.h"
#include "costmodel/units/overlap.h"

namespace hexaplan::costmodel {
namespace {

/// Time of the operations of one pass by where they run: the GPU with its network, the link to the host, the
/// CPU. Those of one place run one after the other.
struct PassByPlace {
  Seconds device, copies, host;
  [[nodiscard]] Seconds longest() const { return larger(device, larger(copies, host)); }
};
PassByPlace by_place(const std::vector<Operation>& operations, Pass pass, const Pricer& pricer) {
  PassByPlace sum;
  for (const Operation& op : operations) {
    if (op.pass != pass) continue;
    (op.kind == OpKind::Copy         ? sum.copies
     : op.kind == OpKind::HostUpdate ? sum.host
                                     : sum.device) += pricer.time_of(op);
  }
  return sum;
}
Seconds total(const std::vector<Operation>& operations, Pass pass, const Pricer& pricer) {
  return by_place(operations, pass, pricer).device;
}

LayerTransfers layer_transfers(const Scenario& sc, ShardedUnit unit, const StageParameters& p,
                               const Pricer& pricer) {
  std::vector<Operation> operations;
  append_layer_sharding(sc, unit, MicrobatchOf::Last, p, operations);
  // What comes from the host is gathered piece by piece while the rest is copied (arXiv:2104.07857
  // section 6.2).
  // Where GPUs gather over PCIe, both arrive by the same lanes.
  const bool one_link = !sc.cluster.levels.empty() && sc.cluster.levels.front().fabric == Fabric::Pcie;
  const auto gathered = [&](Pass pass) {
    const PassByPlace sum = by_place(operations, pass, pricer);
    return one_link ? sum.device + sum.copies : sum.longest();
  };
  LayerTransfers transfers{.gather = gathered(Pass::Forward),
                           .gather_again = gathered(Pass::BackwardData),
                           .scatter = total(operations, Pass::BackwardWeight, pricer),
                           .copies = total(operations, Pass::Step, pricer)};
  const double elements = p.gathered.all() / bytes_per_element(gathered_dtype(sc));
  transfers.ahead = std::min(1.0, prefetched_layers(sc, elements, p.modules));
  transfers.scatter_before = transfers.scatter, transfers.copies_before = transfers.copies;
  if (gradient_reduction(sc) == GradientReduction::Every) return transfers;
  operations.clear();
  append_layer_sharding(sc, unit, MicrobatchOf::BeforeLast, p, operations);
  transfers.scatter_before = total(operations, Pass::BackwardWeight, pricer);
  transfers.copies_before = total(operations, Pass::Step, pricer);
  return transfers;
}

/// Copies between parameters and the buffers of the gather after a ZeRO-1 step: by the device, or as long as
/// the host takes to cut every tensor into its ranks' slices.
Seconds slices(const Scenario& sc, const Calibration& calibration, const StageParameters& p) {
  const FrameworkProfile& f = sc.framework;
  const int ranks = sc.layout.shard_ranks();
  if (sc.layout.sharding.stage < 1 || ranks <= 1 || f.gather_copy_bytes <= 0) return {};
  return larger(memory_bound_time(Bytes{p.trained.all() * f.gather_copy_bytes}, sc.cluster.gpu, calibration),
                f.gather_slice_host * (p.tensors * ranks));
}

}  // namespace

Bytes stage_message_bytes(const Scenario& sc, const LocalDims& dims) {
  return Bytes{static_cast<double>(dims.sp_tokens * dims.hidden) *
               bytes_per_element(activation_dtype(sc.recipe.precision))};
}

bool sends_slices(const Scenario& sc) {
  return sc.framework.pipeline_scatter_gather && !sc.layout.sp && sc.layout.tp > 1;
}

Seconds message_time(const Scenario& sc, const LocalDims& dims, const Pricer& pricer) {
  if (sc.layout.pp == 1) return {};
  const Bytes payload = stage_message_bytes(sc, dims);
  return sends_slices(sc)
             ? pricer.collective(CollectiveKind::SendRecv, payload / sc.layout.tp, Group::Pipeline) +
                   pricer.collective(CollectiveKind::AllGather, payload, Group::Tensor)
             : pricer.collective(CollectiveKind::SendRecv, payload, Group::Pipeline);
}

PassTotals totals_of(const LayerCost& cost) {
  const auto collectives = [](const PassCost& pass) { return pass.total() - pass.compute(); };
  return {.forward = cost.forward.total(),
          .backward = cost.backward.total(),
          .recomputed = cost.recomputed.total(),
          .weight_gradient = cost.weight_gradient,
          .forward_collectives = collectives(cost.forward),
          .backward_collectives = collectives(cost.backward),
          .recomputed_collectives = collectives(cost.recomputed)};
}

/// Kernels and collectives beside each other take as long as the longer of two sums that grow with both:
/// together at most as long as apart.
Seconds hidden_in_pairs(const PassTotals& totals, const FrameworkProfile& framework, ScheduleKind schedule) {
  if (!runs_in_pairs(schedule)) return {};
  const Seconds collectives = totals.collectives(), kernels = totals.total() - collectives;
  return totals.total() - overlap(kernels, collectives, 1, framework.overlap_slowdown).total;
}

LayerWork work_of_layers(const Scenario& sc, const LocalDims& dims, const Pricer& pricer,
                         const std::array<bool, kLayerClasses>& used) {
  constexpr std::size_t kUsualOperations = 96;
  LayerWork work;
  const auto timed = [&](auto&&... append) {
    std::vector<Operation> operations;
    operations.reserve(kUsualOperations);
    (append(operations), ...);
    return pricer.timed(std::move(operations));
  };
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (!used[c]) continue;
    const LayerClass kind = layer_class_at(sc.model, static_cast<int>(c));
    work.layers[c] = timed([&](auto& out) { append_layer_operations(sc, dims, kind, out); },
                           [&](auto& out) { append_activation_copies(sc, dims, kind, out); });
  }
  work.embedding = timed([&](auto& out) { append_embedding_operations(sc, dims, out); });
  work.head = timed([&](auto& out) { append_head_operations(sc, dims, out); });
  return work;
}

LayerPrices price_layers(const LayerWork& work, const FrameworkProfile& framework, const Pricer& pricer) {
  LayerPrices prices;
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (!work.layers[c].operations.empty())
      prices.layers[c] =
          pricer.price(work.layers[c], framework.layer_host_forward, framework.layer_host_backward);
  }
  prices.embedding = pricer.price(work.embedding);
  prices.head = pricer.price(work.head);
  return prices;
}

LayerPrices price_layers(const Scenario& sc, const LocalDims& dims, const Pricer& pricer,
                         const std::array<bool, kLayerClasses>& used) {
  return price_layers(work_of_layers(sc, dims, pricer, used), sc.framework, pricer);
}

LayerTotals totals_of(const LayerPrices& prices) {
  LayerTotals totals{.embedding = totals_of(prices.embedding), .head = totals_of(prices.head)};
  for (std::size_t c = 0; c < kLayerClasses; ++c) totals.layers[c] = totals_of(prices.layers[c]);
  return totals;
}

PassTotals stage_totals(const LayerTotals& layers, const StagePlan& stage) {
  PassTotals sum;
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (stage.layers[c] == 0) continue;
    PassTotals of_class = layers.layers[c] * stage.layers[c];
    of_class.scale_recomputed(stage.recomputed_share(c));
    sum += of_class;
  }
  sum += layers.embedding * stage.embedding;
  sum += layers.head * stage.head;
  return stage.copies == 1 ? sum : sum * (1.0 / stage.copies);
}

Seconds replayed_span(const Scenario& sc, const LayerTotals& layers, std::span<const PassWaits> waits) {
  const auto microbatches = static_cast<int>(microbatches_per_step(sc));
  if (sc.layout.pp == 1 || has_closed_form(sc.layout, microbatches)) return {};
  const auto chunks = plan_chunks(sc);
  std::vector<ChunkSeconds> seconds;
  seconds.reserve(chunks.size());
  const auto per_stage = static_cast<std::size_t>(chunks_per_stage(sc.layout));
  const double of_chunk = static_cast<double>(model_copies(sc.layout.schedule)) / chunks_per_stage(sc.layout);
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const PassTotals t = stage_totals(layers, chunks[c]);
    const PassWaits stage = waits.empty() ? PassWaits{} : waits[c / per_stage];
    seconds.push_back({.forward = t.forward,
                       .backward_input = t.backward - t.weight_gradient + t.recomputed,
                       .backward_weight = t.weight_gradient,
                       .forward_collectives = t.forward_collectives,
                       .backward_collectives = t.backward_collectives + t.recomputed_collectives,
                       .waits_before = stage.gathers * of_chunk,
                       .waits_behind = (stage.reductions + stage.offload) * of_chunk});
  }
  return pipeline_time(sc.layout.schedule, sc.layout.pp, microbatches, sc.layout.vpp, seconds,
                       sc.framework.overlap_slowdown);
}

namespace {
/// The CPU updates in pieces that are copied back while it updates the next (arXiv:2101.06840 section 4.1);
/// the GPU updates its share meanwhile.
void price_host_update(const Scenario& sc, const StageParameters& p, const Pricer& pricer,
                       StageTransfers& transfers) {
  std::vector<Operation> gradients, operations;
  append_gradient_copies(sc, p, gradients);
  transfers.gradients_to_host = by_place(gradients, Pass::BackwardWeight, pricer).copies;
  transfers.gradients_to_host_once = by_place(gradients, Pass::Step, pricer).copies;
  append_host_update(sc, p, operations);
  transfers.update = larger(transfers.update, by_place(operations, Pass::Step, pricer).longest());
}

/// What the host keeps of outer steps comes, and goes when it has been updated.
void price_outer_steps(const Scenario& sc, const StageParameters& p, const Pricer& pricer,
                       StageTransfers& transfers) {
  std::vector<Operation> messages, update;
  append_outer_messages(sc, p, messages);
  append_outer_update(sc, p, update);
  transfers.outer_messages = total(messages, Pass::Step, pricer);
  const PassByPlace places = by_place(update, Pass::Step, pricer);
  transfers.outer_update = places.device + places.copies;
}
}  // namespace

StageTransfers price_transfers(const Scenario& sc, const Calibration& calibration, const Pricer& pricer,
                               const ModelParameters& parameters, const StagePlan& stage) {
  const StageParameters p = parameters.of(stage);
  StageTransfers transfers;
  std::vector<Operation> operations;
  append_update(sc, p, operations);
  transfers.update = total(operations, Pass::Step, pricer);
  operations.clear();
  append_mirror_reduction(sc, p, operations);
  transfers.mirror = total(operations, Pass::Step, pricer);
  if (offloaded_update(sc.recipe) > 0) price_host_update(sc, p, pricer, transfers);
  if (sc.recipe.outer.taken()) price_outer_steps(sc, p, pricer, transfers);
  if (gathers_layers(sc)) {
    for (std::size_t c = 0; c < kLayerClasses; ++c) {
      if (stage.layers[c] > 0)
        transfers.layers[c] = layer_transfers(sc, ShardedUnit::Layer, parameters.layer(c), pricer);
    }
    transfers.embedding =
        layer_transfers(sc, ShardedUnit::End, parameters.embedding() * stage.embedding, pricer);
    transfers.head = layer_transfers(sc, ShardedUnit::Head, parameters.head_unit() * stage.head, pricer);
    operations.clear();
    append_persistent_gather(sc, p, operations);
    transfers.slices = total(operations, Pass::Step, pricer);
    return transfers;
  }
  std::vector<Operation> reduction, gathering;
  append_gradient_reduction(sc, p, reduction);
  append_parameter_gather(sc, p, gathering);
  if (reduction.empty() && gathering.empty()) return transfers;
  transfers.reduction = total(reduction, pass_of_reduction(sc), pricer);
  transfers.gathering = total(gathering, Pass::Step, pricer);
  transfers.buckets = std::max(1.0, std::round(p.buckets));
  transfers.slices = slices(sc, calibration, p);
  for (const auto* operations_of : {&reduction, &gathering})
    for (const Operation& op : *operations_of) transfers.host += pricer.collective_host(op);
  return transfers;
}

StepCombiner::StepCombiner(const Scenario& sc, Seconds message)
    : framework_{&sc.framework},
      schedule_{sc.layout.schedule},
      pp_{sc.layout.pp},
      vpp_{sc.layout.vpp},
      chunks_{chunks_per_stage(sc.layout) / model_copies(sc.layout.schedule)},
      copies_{model_copies(sc.layout.schedule)},
      microbatches_{static_cast<double>(microbatches_per_step(sc))},
      closed_form_{costmodel::has_closed_form(sc.layout, static_cast<int>(microbatches_per_step(sc)))},
      by_layer_{gathers_layers(sc)},
      reduction_waits_{gradient_reduction(sc) != GradientReduction::Every},
      reduces_every_pass_{costmodel::reduces_every_pass(sc)},
      reduces_beside_backward_{overlaps_gradients(sc)},
      gathers_beside_forward_{overlaps_parameter_gather(sc)},
      pipeline_overlap_{costmodel::pipeline_overlap(sc)},
      messages_{pipeline_messages(message, closed_form_ ? 1 : 2), pipeline_messages(message, 2)} {}

/// Time the slowest stage waits: filling and draining the pipeline through the others, whose passes wait for
/// what they gather and reduce.  [docs/formulas.md#S3]
Seconds StepCombiner::bubble(std::span<const StageLoad> stages, std::size_t slowest, Seconds span) const {
  if (pp_ == 1) return {};
  if (!closed_form_) {
    const PassTotals& work = stages[slowest].totals;
    const Seconds hidden = hidden_in_pairs(work, *framework_, schedule_);
    const Seconds busy = work.total() + stages[slowest].waits.total();
    return larger(Seconds{} - hidden * microbatches_, span - busy * microbatches_);
  }
  Seconds others;
  for (std::size_t s = 0; s < stages.size(); ++s)
    others +=
        (stages[s].totals.total() + stages[s].waits.total()) * (stages[s].count - (s == slowest ? 1 : 0));
  return others / static_cast<double>(vpp_);
}

/// Sends between stages that nothing hides: once down and up the pipeline, and in every micro-batch for
/// schedules that wait for them.  [docs/formulas.md#S4]
Seconds StepCombiner::pipeline_messages(Seconds message, int neighbours) const {
  if (pp_ == 1) return {};
  const double hops = pp_ - 1;
  const double fill = 2.0 * hops;
  const double steady = 2.0 * (microbatches_ - 1) * chunks_ * (1 - pipeline_overlap_);
  // A stage serves its neighbours one after the other, in every micro-batch; while the pipeline fills and
  // drains, the others do, one at a time. Interleaved, the ends are neighbours as well: all but the first and
  // the last chunk of the model have one on either side.
  const double served = std::min<double>(neighbours, hops);
  const bool interleaved = schedule_ == ScheduleKind::Interleaved;
  const double by_microbatch = interleaved ? 2 * chunks_ + std::min(0.0, served - 2) : served * chunks_;
  const double waits = by_microbatch * microbatches_ + (hops - served);
  return message * (fill + steady) + framework_->pipeline_wait * waits;
}

/// A rank that keeps no more than its shard adds to it what a backward has reduced, and waits for that: CUDA
/// streams at its end (deepspeedai/DeepSpeed@edaa722 runtime/zero/stage_1_and_2.py
/// independent_gradient_partition_epilogue; NVIDIA/Megatron-LM@d98e8a6 core/distributed/fsdp
/// _root_post_backward).  [docs/formulas.md#C8]
Seconds StepCombiner::reduced_in_pass(const PassTotals& totals, const StageTransfers& transfers) const {
  const Seconds reduction = transfers.reduction * (1.0 / copies_);
  if (!reduces_beside_backward_) return reduction;
  const bool split = splits_backward(schedule_) && !runs_in_pairs(schedule_);
  const Seconds beside = split ? totals.weight_gradient : totals.backward + totals.recomputed;
  return exposed_in_buckets(beside, reduction,
                            std::max(1.0, std::round(transfers.buckets / (chunks_ * copies_))),
                            framework_->overlap_slowdown);
}

PassWaits StepCombiner::waits(const LayerTotals& layers, const StagePlan& stage,
                              const StageTransfers& transfers, const PassTotals& totals) const {
  PassWaits waits{.gathers = {}, .reductions = {}, .offload = offload_wait(totals, transfers)};
  if (by_layer_) {
    const ShardedWait wait = sharded_wait(layers, stage, transfers);
    waits.gathers = wait.forward;
    waits.reductions = wait.backward;
  } else if (reduces_every_pass_) {
    waits.reductions = reduced_in_pass(totals, transfers);
  }
  return waits;
}

/// What one rank still waits for after its last backward, and before its first forward. [docs/formulas.md#C8]
Seconds StepCombiner::once_per_step(const PassTotals& slowest, const StageTransfers& transfers) const {
  if (by_layer_) return transfers.slices;
  const auto exposed = [&](bool hides, Seconds compute, Seconds transfer) {
    return hides ? exposed_in_buckets(compute, transfer, transfers.buckets, framework_->overlap_slowdown)
                 : transfer;
  };
  const Seconds gradients =
      reduces_every_pass_
          ? Seconds{}
          : exposed(reduces_beside_backward_, slowest.backward + slowest.recomputed, transfers.reduction);
  return gradients + exposed(gathers_beside_forward_, slowest.forward, transfers.gathering) +
         transfers.slices + transfers.host;
}

/// ZeRO-3 / FSDP: every layer is gathered before its forward and its backward and its gradient scattered, per
/// micro-batch; each transfer runs beside the layer before it, which it slows down. Copies in and out of the
/// buffers follow one another on the device.  [docs/formulas.md#C9]
ShardedWait StepCombiner::sharded_layer(const LayerTransfers& transfers, Seconds forward,
                                        Seconds backward) const {
  const double last = reduction_waits_ ? 1 / microbatches_ : 1;
  ShardedWait wait = sharded_layer(transfers, transfers.scatter, transfers.copies, forward, backward) * last;
  if (reduction_waits_)
    wait += sharded_layer(transfers, transfers.scatter_before, transfers.copies_before, forward, backward) *
            (1 - last);
  return wait;
}

ShardedWait StepCombiner::sharded_layer(const LayerTransfers& transfers, Seconds scatter, Seconds copies,
                                        Seconds forward, Seconds backward) const {
  const FrameworkProfile& f = *framework_;
  const auto beside = [&](Seconds transfer, Seconds compute) {
    return overlap(compute, transfer, reduces_beside_backward_ ? 1.0 : 0.0, f.overlap_slowdown).exposed;
  };
  // What is not gathered ahead waits for the host to reach it.
  const double ahead = transfers.ahead;
  const Seconds again_ahead = transfers.gather_again * (f.backward_gather_overlap ? ahead : 0.0);
  const Seconds waiting = transfers.gather_again - again_ahead + beside(again_ahead + scatter, backward);
  return {transfers.gather * (1 - ahead) + beside(transfers.gather * ahead, forward), waiting + copies};
}

ShardedWait StepCombiner::sharded_wait(const LayerTotals& layers, const StagePlan& stage,
                                       const StageTransfers& transfers) const {
  ShardedWait wait;
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (stage.layers[c] == 0) continue;
    const PassTotals& layer = layers.layers[c];
    const Seconds backward = layer.backward + layer.recomputed * stage.recomputed_share(c);
    wait += sharded_layer(transfers.layers[c], layer.forward, backward) * stage.layers[c];
  }
  wait += sharded_layer(transfers.embedding, {}, {});
  wait += sharded_layer(transfers.head, layers.head.forward * stage.head, layers.head.backward * stage.head);
  return wait * (1.0 / stage.copies);
}

StepOverheads StepCombiner::overheads(const StageTransfers& transfers, std::span<const StageLoad> stages,
                                      std::size_t slowest, Seconds span) const {
  const StageLoad& paces = stages[slowest];
  return {.pipeline_p2p = messages(paces.neighbours),
          .bubble = bubble(stages, slowest, span),
          .data_parallel = paces.waits.data_parallel() * microbatches_ +
                           once_per_step(paces.totals, transfers) + transfers.mirror +
                           transfers.outer_messages,
          .offload = transfers.gradients_to_host_once + paces.waits.offload * microbatches_,
          .optimizer = transfers.update + transfers.outer_update,
          .host = framework_->step_overhead + framework_->microbatch_overhead * microbatches_};
}

}  // namespace hexaplan::costmodel
