#include "costmodel/memory/stage_memory.h"

#include <algorithm>
#include <cstddef>

namespace hexaplan::costmodel {
namespace {

/// Entries of `ledger`, each `factor` times.
template <class Visitor>
void visit_times(const TensorLedger& ledger, double factor, const Visitor& visit) {
  if (factor <= 0) return;
  for (const TensorEntry& entry : ledger) visit(entry, factor);
}

std::vector<ParameterTensor> layer_parameters(const ModelSpec& model, LayerClass kind) {
  std::vector<ParameterTensor> tensors;
  tensors.reserve(kMaxLayerTensors);
  append_layer_parameters(model, kind, tensors);
  return tensors;
}

/// Elements of one of every matrix of a layer, on one rank; experts count once.
double distinct_matrices(const Scenario& sc, const std::vector<ParameterTensor>& tensors) {
  double sum = 0;
  for (const ParameterTensor& tensor : tensors) {
    if (!tensor.matrix) continue;
    const auto all =
        static_cast<double>(elements_on_rank(tensor, sc.model, sc.layout, sc.framework.vocab_multiple));
    const double copies =
        is_expert(tensor) ? static_cast<double>(std::max<std::int64_t>(1, tensor.count / sc.layout.ep)) : 1.0;
    sum += all / copies;
  }
  return sum;
}

double working_set(const TensorLedger& transients) {
  return sum_alive(transients, kBackward).transient.value();
}

}  // namespace

MemoryModel::MemoryModel(const Scenario& sc, const Calibration& calibration)
    : scenario_{sc},
      dims_{local_dims(sc)},
      overhead_{.context = calibration.context.value() > 0 ? calibration.context : sc.framework.context,
                .communicators = communicator_bytes(sc)} {
  const std::vector<StagePlan> stages = plan_stages(sc);
  for (int c = 0; c < kLayerClasses; ++c) {
    if (!uses_class(stages, static_cast<std::size_t>(c))) continue;
    ClassLedgers& ledgers = classes_[static_cast<std::size_t>(c)];
    const LayerClass kind = layer_class_at(c);
    const auto tensors = layer_parameters(sc.model, kind);
    ledgers.elements = elements_before_sharding(sc, tensors);
    ledgers.distinct_matrices = distinct_matrices(sc, tensors);
    append_state_entries(sc, tensors, c, 1, ledgers.states);
    append_saved_entries(sc, dims_, kind, 1, ledgers.saved);
    append_checkpoint_entry(sc, dims_, kind, 1, ledgers.checkpoint);
    append_layer_transients(sc, dims_, kind, false, ledgers.transients);
    append_layer_transients(sc, dims_, kind, true, ledgers.recompute_transients);
  }
  std::vector<ParameterTensor> ends;
  append_embedding_parameters(sc.model, ends);
  embedding_elements_ = elements_before_sharding(sc, ends);
  append_state_entries(sc, ends, -1, 1, embedding_);
  ends.clear();
  append_head_parameters(sc.model, separates_ends(sc.layout), ends);
  head_elements_ = elements_before_sharding(sc, ends);
  append_state_entries(sc, ends, -1, 1, head_);
  append_loss_entries(sc, dims_, loss_);
}

/// Offloaded activations leave for host memory while the next layer runs: two layers' are there at once.
double MemoryModel::resident(double copies) const {
  return (scenario_.recipe.offload & kOffloadActivations) != 0 ? std::min(copies, 2.0) : copies;
}

StageElements MemoryModel::elements_of(const StagePlan& stage) const {
  StageElements elements;
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (stage.layers[c] == 0) continue;
    elements.all += stage.layers[c] * classes_[c].elements;
    elements.largest_layer = std::max(elements.largest_layer, classes_[c].elements);
    elements.distinct_matrices = std::max(elements.distinct_matrices, classes_[c].distinct_matrices);
  }
  elements.embedding = stage.embedding * embedding_elements_;
  elements.head = stage.head * head_elements_;
  elements.head_matrix = stage.head * static_cast<double>(dims_.vocab * dims_.hidden);
  elements.all += elements.embedding + elements.head;
  return elements;
}

template <class Visitor>
void MemoryModel::visit_layers(const StagePlan& stage, double in_flight, const Visitor& visit) const {
  int recomputed = stage.recomputed;
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    const int layers = stage.layers[c];
    if (layers == 0) continue;
    const int checkpointed = std::min(recomputed, layers);
    recomputed -= checkpointed;
    visit_times(classes_[c].states, layers, visit);
    visit_times(classes_[c].checkpoint, resident(checkpointed * in_flight), visit);
    visit_times(classes_[c].saved, resident((layers - checkpointed) * in_flight), visit);
  }
}

/// Only one layer runs at a time: the class with the largest working set binds.
const TensorLedger* MemoryModel::largest_transients(const StagePlan& stage) const {
  const bool recomputed = stage.recomputed > 0;
  const TensorLedger* largest = nullptr;
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (stage.layers[c] == 0) continue;
    const TensorLedger& ledger = recomputed ? classes_[c].recompute_transients : classes_[c].transients;
    if (largest == nullptr || working_set(ledger) > working_set(*largest)) largest = &ledger;
  }
  return largest;
}

template <class Visitor>
void MemoryModel::visit_entries(const StagePlan& stage, double in_flight, const Visitor& visit) const {
  visit_layers(stage, in_flight, visit);
  if (const TensorLedger* transients = largest_transients(stage)) visit_times(*transients, 1, visit);
  visit_times(embedding_, stage.embedding, visit);
  visit_times(head_, stage.head, visit);
  visit_times(loss_, stage.head, visit);
  TensorLedger buffers;
  buffers.reserve(16);
  append_buffer_entries(scenario_, dims_, elements_of(stage), overhead_, buffers);
  visit_times(buffers, 1, visit);
}

TensorLedger MemoryModel::ledger(const StagePlan& stage, double in_flight) const {
  TensorLedger out;
  visit_entries(stage, in_flight, [&](TensorEntry entry, double factor) {
    entry.count *= factor;
    out.push_back(entry);
  });
  return out;
}

/// What the caching allocator takes beside the live tensors because it cannot reuse in time what was freed.
Bytes MemoryModel::unreclaimed(const StagePlan& stage, double in_flight) const {
  const FrameworkProfile& f = scenario_.framework;
  const Layout& layout = scenario_.layout;
  Bytes lost;
  if (layout.sp) {
    const double stream = static_cast<double>(dims_.tokens * dims_.hidden) * (1 + 2.0 / layout.tp);
    const double forwards = std::max(1.0, in_flight - 1) * stage.total_layers();
    lost += Bytes{f.unreclaimed_streams * stream * forwards *
                  bytes_per_element(activation_dtype(scenario_.recipe.precision))};
  }
  const bool bucketed =
      f.gradient_copies_are_buckets && layout.dp * layout.cp > 1 && layout.sharding.stage == 0;
  if (!bucketed && layout.sharding.stage < 3 && !trains_adapters(scenario_.recipe)) {
    lost += Bytes{f.fresh_gradient_share * elements_of(stage).all * bytes_per_element(f.parameter_dtype)};
  }
  return lost;
}

StageMemory MemoryModel::peak(const StagePlan& stage, int index, double in_flight) const {
  std::array<MemoryBreakdown, kInstants> at{};
  Bytes flat;  // what the optimizer step adds to the reserved peak
  const bool flat_buffers = scenario_.framework.flat_optimizer_buffers;
  visit_entries(stage, in_flight, [&](const TensorEntry& entry, double factor) {
    const Bytes size = entry.size() * factor;
    if (flat_buffers && entry.alive == kOptimizer) flat += size;
    for (std::size_t i = 0; i < kInstants; ++i) {
      if ((entry.alive & instant_at(static_cast<int>(i))) != 0) at[i].of(entry.kind) += size;
    }
  });
  const auto binding = static_cast<std::size_t>(
      std::max_element(at.begin(), at.end(),
                       [](const auto& a, const auto& b) { return a.total() < b.total(); }) -
      at.begin());
  StageMemory memory;
  memory.stage = index;
  memory.layers = stage.total_layers();
  memory.microbatches_in_flight = in_flight;
  memory.at_peak = at[binding];
  memory.instant = instant_at(static_cast<int>(binding));
  memory.allocated = at[binding].allocated();
  const Bytes states = at[binding].parameters + at[binding].gradients + at[binding].optimizer;
  Bytes passes;
  for (std::size_t i = 0; i < kInstants; ++i) {
    if (instant_at(static_cast<int>(i)) != kOptimizer) passes = larger(passes, at[i].allocated());
  }
  const Bytes live = larger(memory.allocated, passes + flat);
  memory.reserved =
      states + (live - states) * scenario_.framework.reserved_ratio + unreclaimed(stage, in_flight);
  memory.device = memory.reserved + at[binding].communication + at[binding].overhead;
  memory.update = at[index_of(kOptimizer)].allocated();
  memory.idle = at[index_of(kIdle)].allocated();
  return memory;
}

}  // namespace hexaplan::costmodel
