#include "costmodel/memory/parameter_memory.h"

#include <algorithm>
#include <cstddef>

#include "costmodel/memory/flat_units.h"
#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/optimizer_states.h"
#include "costmodel/memory/outer_states.h"
#include "costmodel/memory/unit_buffers.h"
#include "costmodel/parameters/trained_elements.h"
#include "costmodel/spec/shard_sizes.h"

namespace hexaplan::costmodel {
namespace {

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

/// Bytes beside the states while one matrix is updated in its subspace. At its choice torch.linalg.svd has an
/// fp32 copy of a 16-bit gradient, the column-major one that it overwrites, and both sets of singular vectors
/// (the solver's own workspace is not known); else there are the gradient in the subspace, its step with the
/// denominator, and the whole step before and behind its scale (jiaweizzhao/GaLore@2cc66f8
/// galore_torch/adamw.py; in adamw8bit.py the parameter is copied as well).
double bytes_of_projecting(const Scenario& sc, const LocalMatrices& m) {
  constexpr double kFp32 = bytes_per_element(DType::Fp32);
  const OptimizerTraits& traits = traits_of(sc.recipe.optimizer);
  const StateTypes types = state_types(sc);
  const double elements = m.rows * m.cols, shorter = std::min(m.rows, m.cols);
  const double gradient = bytes_per_element(types.gradient);
  const double copy = gradient < kFp32 ? elements * kFp32 : 0;
  const double svd = copy + (2 * elements + shorter * shorter) * kFp32;
  const double moment = projection_rank(sc.recipe, m.rows, m.cols) * std::max(m.rows, m.cols);
  const double saved = traits.quantised ? elements * bytes_per_element(types.parameter) : 0;
  const double step =
      moment * (gradient + 2 * bytes_per_element(types.moment)) + 2 * elements * gradient + saved;
  return traits.subspace == Subspace::Singular ? std::max(svd, step) : step;
}

/// Bytes beside the states while one matrix is preconditioned, in fp32. SOAP takes one after the other: the
/// gradient in the bases, the root of the second moment, their quotient and the step, with a product of the
/// longest side; or, as a basis is made, the product with the statistics, the sorted old one, the power
/// iteration, its decomposition and the new one (nikhilvyas/SOAP@a1e5535 soap.py step,
/// get_orthogonal_matrix_QR). Shampoo unpacks what it keeps of a block's sides, and decomposes one
/// (facebookresearch/optimizers@f606606 shampoo_preconditioner_list.py).
double bytes_of_preconditioning(const Scenario& sc, const LocalMatrices& m) {
  constexpr double kFp32 = bytes_per_element(DType::Fp32);
  const PreconditionerStates states = preconditioner_states(sc.recipe, m);
  const double square = states.largest_side * states.largest_side;
  if (traits_of(sc.recipe.optimizer).precondition == Precondition::InverseRoot) return 4 * square * kFp32;
  return std::max(4 * m.rows * m.cols + square, 5 * square) * kFp32;
}
/// … of all matrices: Shampoo's step is made in lists of them (distributed_shampoo.py
/// _compute_search_directions): momentum with its bias corrected, directions, and Adam's that they are
/// grafted to.
double bytes_of_lists(const Scenario& sc, double elements) {
  constexpr double kLists = 3;
  const bool lists = traits_of(sc.recipe.optimizer).precondition == Precondition::InverseRoot;
  return lists ? kLists * elements * bytes_per_element(DType::Fp32) : 0;
}

struct UpdateBytes {
  double largest = 0, listed = 0;
};
UpdateBytes bytes_of_updates(const Scenario& sc, const std::vector<ParameterTensor>& tensors) {
  const OptimizerTraits& traits = traits_of(sc.recipe.optimizer);
  UpdateBytes out;
  if (!traits.projects() && !traits.preconditions()) return out;
  for (const ParameterTensor& tensor : tensors) {
    if (!is_updated_by_matrix(sc, tensor, true)) continue;
    const auto elements =
        static_cast<double>(elements_on_rank(tensor, sc.model, sc.layout, sc.framework.vocab_multiple));
    const LocalMatrices matrices = local_matrices(sc.layout, tensor, elements);
    out.largest = std::max(out.largest, traits.projects() ? bytes_of_projecting(sc, matrices)
                                                          : bytes_of_preconditioning(sc, matrices));
    out.listed += bytes_of_lists(sc, elements);
  }
  return out;
}

/// Elements of one layer on one rank that have gradients, that its unit reduces when sharded, and those of
/// the gather's type that take the room of the gathered layer: adapters come to the base's, which 4 bits make
/// smaller. Tensors that stay whole are not gathered.
struct LayerElements {
  double trained = 0, reduced = 0, gathered = 0, largest_module = 0, persistent = 0;
};

/// Elements of `tensors` that stay whole.
double persistent_elements(const Scenario& sc, const std::vector<ParameterTensor>& tensors) {
  double sum = 0;
  for (const ParameterTensor& tensor : tensors) {
    if (stays_whole(sc, elements_of_module(tensor)))
      sum += static_cast<double>(elements_on_rank(tensor, sc.model, sc.layout, sc.framework.vocab_multiple));
  }
  return sum;
}
LayerElements layer_elements(const Scenario& sc, const std::vector<ParameterTensor>& tensors) {
  LayerElements sum;
  const TrainedElements trained_elements{sc, tensors, true};
  const double gather_type = bytes_per_element(gathered_dtype(sc));
  for (const ParameterTensor& tensor : tensors) {
    const auto elements =
        static_cast<double>(elements_on_rank(tensor, sc.model, sc.layout, sc.framework.vocab_multiple));
    const double own = trained_elements.own(tensor, elements), both = trained_elements.of(tensor, elements);
    const bool quantised = is_kept_quantised(sc, tensor, true);
    sum.trained += in_state_types(sc, both, own);
    sum.reduced += in_gradient_types(sc, both, own) + (reduces_frozen_weights(sc) ? elements - own : 0);
    sum.gathered += both - own;
    if (stays_whole(sc, elements_of_module(tensor))) continue;
    const double type = quantised ? quantised_bytes_per_element(sc.recipe, tensor) / gather_type : 1;
    sum.gathered += elements * type;
    sum.largest_module = std::max(sum.largest_module, elements_of_module(tensor) * type);
  }
  sum.persistent = persistent_elements(sc, tensors);
  return sum;
}

/// States of `tensors` that the host has for one rank.
Bytes offloaded_bytes(const Scenario& sc, const std::vector<ParameterTensor>& tensors, int layer_class) {
  const bool outer = outer_states_on_host(sc.recipe.outer) > 0;
  if ((sc.recipe.offload & (kOffloadOptimizer | kOffloadParameters)) == 0 && !outer) return {};
  TensorLedger ledger;
  append_state_entries(sc, tensors, layer_class, 1, ledger, StatePlace::Host);
  return size_of(ledger);
}

}  // namespace

ParameterMemory::TrainedEnd ParameterMemory::trained_of_end(const Scenario& sc,
                                                            const std::vector<ParameterTensor>& tensors) {
  const TrainedElements trained_elements{sc, tensors, false};
  double own = 0;
  for (const ParameterTensor& tensor : tensors) {
    const auto elements =
        static_cast<double>(elements_on_rank(tensor, sc.model, sc.layout, sc.framework.vocab_multiple));
    own += trained_elements.own(tensor, elements);
  }
  return {.trained = in_state_types(sc, own, own), .reduced = in_gradient_types(sc, own, own)};
}

ParameterMemory::ParameterMemory(const Scenario& sc, const std::array<bool, kLayerClasses>& used) {
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (!used[c]) continue;
    const auto tensors = layer_parameters(sc.model, layer_class_at(sc.model, static_cast<int>(c)));
    classes_[c].elements = elements_before_sharding(sc, tensors);
    classes_[c].distinct_matrices = distinct_matrices(sc, tensors);
    const UpdateBytes updates = bytes_of_updates(sc, tensors);
    classes_[c].matrix_update_bytes = updates.largest;
    classes_[c].listed_update_bytes = updates.listed;
    const LayerElements of_layer = layer_elements(sc, tensors);
    classes_[c].trained = of_layer.trained;
    classes_[c].reduced = of_layer.reduced;
    classes_[c].gathered = of_layer.gathered;
    classes_[c].largest_module = of_layer.largest_module;
    classes_[c].persistent = of_layer.persistent;
    append_state_entries(sc, tensors, static_cast<int>(c), 1, classes_[c].states.ledger);
    classes_[c].offloaded = offloaded_bytes(sc, tensors, static_cast<int>(c));
    if (sc.framework.replays_parameters)
      append_shard_padding(sc, {layer_unit(sc, layer_class_at(sc.model, static_cast<int>(c)))},
                           static_cast<int>(c), 1, classes_[c].states.ledger);
  }
  std::vector<ParameterTensor> ends;
  append_embedding_parameters(sc.model, ends);
  embedding_elements_ = elements_before_sharding(sc, ends);
  persistent_embedding_ = persistent_elements(sc, ends);
  trained_embedding_ = trained_of_end(sc, ends);
  append_state_entries(sc, ends, -1, 1, embedding_.ledger);
  offloaded_embedding_ = offloaded_bytes(sc, ends, -1);
  ends.clear();
  append_last_stage_parameters(sc, ends);
  head_elements_ = elements_before_sharding(sc, ends);
  persistent_head_ = persistent_elements(sc, ends);
  trained_head_ = trained_of_end(sc, ends);
  append_state_entries(sc, ends, -1, 1, head_.ledger);
  offloaded_head_ = offloaded_bytes(sc, ends, -1);
  if (sc.framework.replays_parameters) {
    append_shard_padding(sc, {end_unit(sc, UnitRole::Embedding)}, -1, 1, embedding_.ledger);
    for (const UnitRole role : last_stage_units(sc))
      append_shard_padding(sc, {end_unit(sc, role)}, -1, 1, head_.ledger);
  }
  head_matrix_ = static_cast<double>(local_dims(sc).vocab * sc.model.hidden);
  if (gathers_tied_table(sc)) tied_head_ = head_matrix_;
}

void ParameterMemory::sum() {
  for (ClassPart& of_class : classes_) of_class.states.load = load_of(of_class.states.ledger);
  embedding_.load = load_of(embedding_.ledger);
  head_.load = load_of(head_.ledger);
}

Bytes ParameterMemory::offloaded(const Scenario& sc, const StagePlan& stage) const {
  Bytes sum = offloaded_embedding_ * stage.embedding + offloaded_head_ * stage.head;
  for (std::size_t c = 0; c < kLayerClasses; ++c)
    sum += classes_[c].offloaded * static_cast<double>(stage.layers[c]);
  if (secondary_on_host(sc))
    sum += Bytes{secondary_elements(sc, elements_of(stage)) * bytes_per_element(gathered_dtype(sc))};
  return sum;
}

StageElements ParameterMemory::elements_of(const StagePlan& stage) const {
  StageElements elements;
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (stage.layers[c] == 0) continue;
    elements.all += stage.layers[c] * classes_[c].elements;
    elements.largest_layer = std::max(elements.largest_layer, classes_[c].elements);
    elements.trained += stage.layers[c] * classes_[c].trained;
    elements.reduced += stage.layers[c] * classes_[c].reduced;
    elements.largest_reduced = std::max(elements.largest_reduced, classes_[c].reduced);
    elements.gathered_layers += stage.layers[c] * classes_[c].gathered;
    elements.largest_gathered = std::max(elements.largest_gathered, classes_[c].gathered);
    elements.largest_module = std::max(elements.largest_module, classes_[c].largest_module);
    elements.persistent += stage.layers[c] * classes_[c].persistent;
    elements.distinct_matrices = std::max(elements.distinct_matrices, classes_[c].distinct_matrices);
    elements.matrix_update_bytes = std::max(elements.matrix_update_bytes, classes_[c].matrix_update_bytes);
    elements.listed_update_bytes += stage.layers[c] * classes_[c].listed_update_bytes;
  }
  elements.embedding = stage.embedding * embedding_elements_;
  elements.head = stage.head * head_elements_;
  elements.head_matrix = stage.head * head_matrix_;
  elements.tied_head = stage.head * tied_head_;
  elements.gathered_head = stage.head * (head_elements_ - persistent_head_) + elements.tied_head;
  elements.persistent += stage.embedding * persistent_embedding_ + stage.head * persistent_head_;
  elements.all += elements.embedding + elements.head;
  elements.reduced_embedding = stage.embedding * trained_embedding_.reduced;
  elements.reduced_head = stage.head * trained_head_.reduced;
  elements.reduced += elements.reduced_embedding + elements.reduced_head;
  elements.trained += stage.embedding * trained_embedding_.trained + stage.head * trained_head_.trained;
  return elements;
}

TensorLedger ParameterMemory::buffers(const Scenario& sc, const StagePlan& stage) const {
  TensorLedger out;
  out.reserve(16);
  if (sc.framework.replays_parameters) {
    append_unit_buffers(sc, stage, out);
  } else {
    append_parameter_buffers(sc, elements_of(stage), out);
  }
  return out;
}

MemoryLoad ParameterMemory::load(const Scenario& sc, const StagePlan& stage) const {
  MemoryLoad sum = load_of(buffers(sc, stage));
  visit_parts(stage, [&](const Part& part, double times) { sum += part.load * times; });
  sum.unreclaimed = unreclaimed(sc, stage);
  return sum;
}

/// Gradients that each backward pass makes anew and for which freed activations leave no room.
Bytes ParameterMemory::unreclaimed(const Scenario& sc, const StagePlan& stage) const {
  const FrameworkProfile& f = sc.framework;
  const Layout& layout = sc.layout;
  const bool bucketed =
      f.gradient_copies_are_buckets && layout.dp * layout.cp > 1 && layout.sharding.stage == 0;
  if (bucketed || layout.sharding.stage >= 3 || trains_adapters(sc.recipe)) return {};
  return Bytes{f.fresh_gradient_share * elements_of(stage).all * bytes_per_element(f.parameter_dtype)};
}

}  // namespace hexaplan::costmodel
