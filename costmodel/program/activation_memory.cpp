#include "costmodel/program/activation_memory.h"

#include <cstddef>
#include <cstdint>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/unit_buffers.h"
#include "costmodel/program/working_sets.h"

namespace hexaplan::costmodel {
namespace {

/// Streams that the host, running ahead, leaves to collectives of their own stream in one layer's forward.
Bytes unreclaimed_streams(const Scenario& sc, const LocalDims& dims) {
  if (!sc.layout.sp) return {};
  const double stream = static_cast<double>(dims.tokens * dims.hidden) * (1 + 2.0 / sc.layout.tp);
  return Bytes{sc.framework.unreclaimed_streams * stream *
               bytes_per_element(activation_dtype(sc.recipe.precision))};
}

}  // namespace

ActivationMemory::ActivationMemory(const Scenario& sc, const LocalDims& dims,
                                   const std::array<bool, kLayerClasses>& used)
    : keeps_what_is_read_{sc.framework.keeps_what_backward_reads},
      forwards_first_{sc.layout.schedule == ScheduleKind::GPipe},
      offload_{sc.recipe},
      unreclaimed_per_forward_{unreclaimed_streams(sc, dims)} {
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (!used[c]) continue;
    ClassPart& part = classes_[c];
    const LayerClass kind = layer_class_at(sc.model, static_cast<int>(c));
    LayerClass own = kind;
    own.mtp = false;
    const auto like = static_cast<std::size_t>(index_of(own));
    if (!kind.mtp || !used[like]) {
      append_layer(sc, dims, kind, part);
      continue;
    }
    // A module has what leads to its layer besides.
    part = classes_[like];
    TensorLedger before;
    program::append_kept_before_layer(sc, dims, kind, false, before);
    part.saved.ledger.insert(part.saved.ledger.begin(), before.begin(), before.end());
    program::append_kept_before_layer(sc, dims, kind, true, part.checkpoint.ledger);
    const auto name = [&](Part& of) {
      for (TensorEntry& entry : of.ledger) entry.layer_class = static_cast<std::int8_t>(c);
    };
    for (Part* of : {&part.saved, &part.checkpoint}) name(*of);
    for (auto* sets : {&part.forward, &part.backward})
      for (WorkingSet& set : *sets) name(set.part);
  }
  append_stream_buffers(sc, dims, streams_.ledger);
  append_receive_buffers(sc, dims, receives_.ledger);
  program::append_gather_buffers(sc, dims, streams_.ledger);
  if (!keeps_what_is_read_) {
    append_loss_entries(sc, dims, loss_.ledger);
    append_waiting_loss_entries(sc, dims, waiting_loss_.ledger);
    program::append_embedding_working_set(sc, dims, embedding_.part.ledger);
    embedding_.size = size_of(embedding_.part.ledger);
    return;
  }
  program::append_head_working_sets(sc, dims, loss_.ledger);
  append_step_targets(sc, dims, loss_.ledger);
  append_step_ids(sc, dims, ids_.ledger);
  program::append_head_gradient(sc, dims, waiting_loss_.ledger);
}

void ActivationMemory::append_layer(const Scenario& sc, const LocalDims& dims, LayerClass kind,
                                    ClassPart& part) {
  append_checkpoint_entry(sc, dims, kind, 1, part.checkpoint.ledger);
  program::append_kept_before_layer(sc, dims, kind, true, part.checkpoint.ledger);
  program::append_kept_before_layer(sc, dims, kind, false, part.saved.ledger);
  program::append_kept_values(sc, dims, kind, part.saved.ledger);
  for (const std::size_t recomputed : {std::size_t{0}, std::size_t{1}}) {
    TensorLedger out;
    program::append_working_sets(sc, dims, kind, recomputed != 0, out);
    for (const TensorEntry& entry : out) {
      WorkingSet& set = ((entry.alive & kForward) != 0 ? part.forward : part.backward)[recomputed];
      set.part.ledger.push_back(entry);
      set.size += entry.size();
    }
  }
}

void ActivationMemory::sum() {
  const auto sum_part = [](Part& part) { part.load = live_load_of(part.ledger); };
  for (ClassPart& part : classes_) {
    sum_part(part.saved);
    sum_part(part.checkpoint);
    for (const std::size_t recomputed : {std::size_t{0}, std::size_t{1}}) {
      sum_part(part.forward[recomputed].part);
      sum_part(part.backward[recomputed].part);
    }
  }
  sum_part(embedding_.part);
  sum_part(loss_);
  sum_part(streams_);
  sum_part(receives_);
  sum_part(ids_);
  sum_part(waiting_loss_);
}

/// Only one layer runs at a time: the class with the largest working set binds.
const ActivationMemory::Part* ActivationMemory::largest(const StagePlan& stage,
                                                        std::array<WorkingSet, 2> ClassPart::*pass) const {
  // Where a layer that keeps everything runs backward first, that is when most is alive.
  const std::size_t recomputed = stage.total_recomputed() == stage.total_layers() ? 1 : 0;
  const bool embeds = stage.embedding > 0 && pass == &ClassPart::forward && embedding_.size > Bytes{};
  const WorkingSet* largest = embeds ? &embedding_ : nullptr;
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    const WorkingSet& set = (classes_[c].*pass)[recomputed];
    if (stage.layers[c] > 0 && (largest == nullptr || set.size > largest->size)) largest = &set;
  }
  return largest != nullptr ? &largest->part : nullptr;
}

LiveLoad ActivationMemory::load(const StagePlan& stage, double in_flight) const {
  LiveLoad sum;
  visit_parts(stage, in_flight, [&](const Part& part, double times) {
    for (std::size_t i = 0; i < kInstants; ++i) sum.at[i] += part.load.at[i] * times;
  });
  sum.unreclaimed = unreclaimed(stage, in_flight);
  return sum;
}

Bytes ActivationMemory::kept(const StagePlan& chunk) const {
  Bytes kept;
  visit_kept(chunk, 1,
             [&](const Part& part, double copies) { kept += part.load.at[index_of(kForward)] * copies; });
  return kept;
}

Bytes ActivationMemory::offloaded(const StagePlan& stage, double in_flight) const {
  Bytes sum;
  if ((offload_.offload & kOffloadActivations) == 0) return sum;
  visit_kept(stage, in_flight, [&](const Part& part, double copies) {
    sum += size_of(part.ledger) * (copies - resident(stage, copies));
  });
  return sum;
}

/// What the caching allocator takes beside the live tensors because it cannot reuse in time what was freed.
Bytes ActivationMemory::unreclaimed(const StagePlan& stage, double in_flight) const {
  return unreclaimed_per_forward_ * (std::max(1.0, in_flight - 1) * stage.total_layers());
}

}  // namespace hexaplan::costmodel
