#include "costmodel/parameters/trained_elements.h"

#include <algorithm>
#include <cmath>

#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel {
namespace {

/// Outputs of the linear layers of a matrix that have adapters.
double adapted_outputs(const Scenario& sc, const ParameterTensor& tensor) {
  const auto adapted = static_cast<double>(adapted_parts(sc, tensor.name, tensor.parts));
  return static_cast<double>(tensor.rows * tensor.count) * adapted / tensor.parts;
}
/// Inputs and outputs of them: what one rank of the adapters adds.
double adapted_sides(const Scenario& sc, const ParameterTensor& tensor) {
  const std::int64_t adapters = adapters_beside(sc, tensor.name, tensor.parts);
  return adapted_outputs(sc, tensor) + static_cast<double>(adapters * tensor.cols * tensor.count);
}
/// What they learn of them beside matrices of a rank.
double learned_magnitudes(const Scenario& sc, const ParameterTensor& tensor) {
  return learns_magnitudes(sc.recipe) ? adapted_outputs(sc, tensor) : 0;
}

/// Elements of those linear layers.
double adapted_elements(const Scenario& sc, const ParameterTensor& tensor) {
  if (!tensor.matrix) return 0;
  return static_cast<double>(tensor.elements() * adapted_parts(sc, tensor.name, tensor.parts)) / tensor.parts;
}

}  // namespace

TrainedElements::TrainedElements(const Scenario& sc, const std::vector<ParameterTensor>& tensors,
                                 bool in_layer)
    : sc_{sc}, adapters_{trains_adapters(sc.recipe)}, in_layer_{in_layer} {
  if (!adapters_ || !in_layer) return;
  for (const ParameterTensor& tensor : tensors) matrix_elements_ += adapted_elements(sc, tensor);
}

double TrainedElements::own(const ParameterTensor& tensor, double on_rank) const {
  return on_rank * own_share(sc_, tensor.name);
}

double TrainedElements::of(const ParameterTensor& tensor, double on_rank) const {
  return adapters_ ? own(tensor, on_rank) + beside(tensor, on_rank) : on_rank;
}

/// Of its adapter.
double TrainedElements::beside(const ParameterTensor& tensor, double on_rank) const {
  if (!in_layer_ || adapted_elements(sc_, tensor) <= 0) return 0;
  if (adapters_are_operations(sc_)) return adapter_elements_on_rank(sc_, tensor);
  return adapter(tensor) * on_rank / static_cast<double>(tensor.elements());
}

/// Of the whole tensor. LoRA adds r·(inputs + outputs) to every linear layer (arXiv:2106.09685 §4.1), where
/// q, k, v, gate and up are layers of their own (huggingface/peft target_modules "all-linear") unless the
/// code that runs has packed them (packed_layers). DoRA has a magnitude per output beside (arXiv:2402.09353
/// §4.1; huggingface/peft src/peft/tuners/lora/dora.py). IA³ scales keys, values and the second matrix's
/// input (arXiv:2205.05638 §3.3; huggingface/peft src/peft/utils/constants.py
/// TRANSFORMERS_MODELS_TO_IA3_TARGET_MODULES_MAPPING). A total that is given is spread over the layers'
/// matrices by their size.
double TrainedElements::adapter(const ParameterTensor& tensor) const {
  const Recipe& recipe = sc_.recipe;
  if (recipe.trainable_parameters > 0) {
    const double whole = static_cast<double>(sc_.model.layers) * matrix_elements_;
    return static_cast<double>(recipe.trainable_parameters) * adapted_elements(sc_, tensor) / whole;
  }
  if (recipe.fine_tune == FineTune::Ia3) {
    const std::int64_t scaled = tensor.ia3 == Ia3Scale::Outputs  ? tensor.rows
                                : tensor.ia3 == Ia3Scale::Inputs ? tensor.cols
                                                                 : 0;
    return static_cast<double>(scaled * tensor.count);
  }
  return static_cast<double>(adapter_rank(sc_)) * adapted_sides(sc_, tensor) +
         learned_magnitudes(sc_, tensor);
}

double mean_adapter_rank(const Scenario& sc) {
  const Recipe& recipe = sc.recipe;
  if (recipe.trainable_parameters <= 0) return static_cast<double>(adapter_rank(sc));
  double sides = 0;       // of all adapted layers of the model: parameters per unit of rank
  double magnitudes = 0;  // beside them
  std::vector<ParameterTensor> tensors;
  for (std::int64_t layer = 0; layer < sc.model.layers; ++layer) {
    tensors.clear();
    append_layer_parameters(sc.model, class_of_layer(sc.model, layer), tensors);
    for (const ParameterTensor& t : tensors) {
      if (!t.matrix) continue;
      sides += adapted_sides(sc, t);
      magnitudes += learned_magnitudes(sc, t);
    }
  }
  const double matrices = static_cast<double>(recipe.trainable_parameters) - magnitudes;
  return sides > 0 ? std::max(0.0, matrices) / sides : 0;
}

LocalMatrices local_matrices(const Layout& layout, const ParameterTensor& tensor, double elements) {
  const double experts = tensor.count > 1 ? std::ceil(static_cast<double>(tensor.count) / layout.ep) : 1;
  const bool inputs_cut = tensor.cut == Cut::Row || tensor.cut == Cut::ExpertRow;
  const double rows =
      inputs_cut ? static_cast<double>(tensor.rows) : elements / (experts * static_cast<double>(tensor.cols));
  return {.count = experts * tensor.parts, .rows = rows / tensor.parts, .cols = elements / (experts * rows)};
}

FactoredSums factored_sums(const Layout& layout, const ParameterTensor& tensor, double elements) {
  if (!decays(tensor)) return {.columns = elements};
  const LocalMatrices m = local_matrices(layout, tensor, elements);
  FactoredSums sums{.rows = m.count * m.rows, .columns = m.count * m.cols};
  if (mutant("factors-are-not-summed-over-tensor-ranks")) return sums;
  if (cuts_rows(tensor.cut)) sums.shared = sums.columns;
  if (cuts_columns(tensor.cut)) sums.shared = sums.rows;
  return sums;
}

}  // namespace hexaplan::costmodel
