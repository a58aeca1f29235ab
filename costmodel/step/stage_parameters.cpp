#include "costmodel/step/stage_parameters.h"

#include <algorithm>

namespace hexaplan::costmodel {
namespace {

/// Gradients arrive in backward order; a bucket takes whole tensors and is full once it holds its size, so
/// that one large matrix fills one bucket. What a layer leaves open the next one goes on filling.
double filled_buckets(const std::vector<double>& elements, double bucket) {
  double full = 0, open = 0;
  for (auto tensor = elements.rbegin(); tensor != elements.rend(); ++tensor) {
    open += *tensor;
    if (open < bucket) continue;
    full += 1;
    open = 0;
  }
  return full + open / bucket;
}

StageParameters count(const Scenario& sc, const std::vector<ParameterTensor>& tensors) {
  StageParameters sum;
  std::vector<double> sizes;
  sizes.reserve(tensors.size());
  for (const ParameterTensor& tensor : tensors) {
    const auto elements =
        static_cast<double>(elements_on_rank(tensor, sc.model, sc.layout, sc.framework.vocab_multiple));
    (is_expert(tensor) ? sum.expert : sum.dense) += elements;
    sum.tensors += 1;
    sizes.push_back(elements);
  }
  const FrameworkProfile& f = sc.framework;
  const double bucket = f.gradient_bucket_elements + f.gradient_bucket_per_rank * sc.layout.dp;
  sum.buckets = filled_buckets(sizes, std::max(1.0, bucket));
  return sum;
}

}  // namespace

StageParameters& StageParameters::operator+=(const StageParameters& other) {
  dense += other.dense;
  expert += other.expert;
  tensors += other.tensors;
  buckets += other.buckets;
  return *this;
}

StageParameters operator*(StageParameters p, double factor) {
  return {p.dense * factor, p.expert * factor, p.tensors * factor, p.buckets * factor};
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
