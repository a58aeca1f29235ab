#include "costmodel/step/stage_parameters.h"

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

}  // namespace

StageParameters& StageParameters::operator+=(const StageParameters& other) {
  dense += other.dense;
  expert += other.expert;
  tensors += other.tensors;
  return *this;
}

StageParameters operator*(StageParameters p, double factor) {
  return {p.dense * factor, p.expert * factor, p.tensors * factor};
}

ModelParameters::ModelParameters(const Scenario& sc, const std::vector<StagePlan>& stages) {
  std::vector<ParameterTensor> tensors;
  tensors.reserve(kMaxLayerTensors);
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (!uses_class(stages, c)) continue;
    tensors.clear();
    append_layer_parameters(sc.model, layer_class_at(static_cast<int>(c)), tensors);
    layers_[c] = count(sc, tensors);
  }
  tensors.clear();
  append_embedding_parameters(sc.model, tensors);
  embedding_ = count(sc, tensors);
  tensors.clear();
  append_head_parameters(sc.model, separates_ends(sc.layout), tensors);
  head_ = count(sc, tensors);
}

StageParameters ModelParameters::of(const StagePlan& stage) const {
  StageParameters sum;
  for (std::size_t c = 0; c < kLayerClasses; ++c) sum += layers_[c] * stage.layers[c];
  sum += embedding_ * stage.embedding;
  sum += head_ * stage.head;
  return sum;
}

}  // namespace hexaplan::costmodel
