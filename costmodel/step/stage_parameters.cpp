#include "costmodel/step/stage_parameters.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/optimizer_states.h"
#include "costmodel/parameters/trained_elements.h"
#include "costmodel/spec/optimizer_traits.h"
#include "costmodel/spec/shard_sizes.h"

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

/// `tensor` as this rank holds it.
MultipliedMatrices matrices_of(const Scenario& sc, const ParameterTensor& tensor, double elements) {
  const LocalMatrices m = local_matrices(sc.layout, tensor, elements);
  if (traits_of(sc.recipe.optimizer).preconditions()) {
    const PreconditionerStates sides = preconditioner_states(sc.recipe, m);
    return {.elements = elements,
            .count = m.count,
            .flops = 2 * sides.products,
            .side_squares = sides.squares,
            .side_cubes = sides.cubes,
            .side_fourths = sides.fourths};
  }
  const bool projects = traits_of(sc.recipe.optimizer).projects();
  const double rank = projects ? projection_rank(sc.recipe, m.rows, m.cols) : 0;
  const double flops =
      m.count * (projects ? 2 * m.rows * m.cols * rank : newton_schulz_flops(m.rows, m.cols));
  const double shorter = std::min(m.rows, m.cols), longer = std::max(m.rows, m.cols);
  return {.elements = elements,
          .count = m.count,
          .flops = flops,
          .shorter_by_flops = flops * shorter,
          .longer_by_flops = flops * longer,
          .rank_by_flops = flops * rank,
          .projection = m.count * rank * shorter,
          .moment = m.count * rank * longer,
          .svd_flops = m.count * svd_flops(m.rows, m.cols)};
}

StageParameters count(const Scenario& sc, const std::vector<ParameterTensor>& tensors, bool in_layer) {
  StageParameters sum;
  const TrainedElements trained_elements{sc, tensors, in_layer};
  const double gathered = bytes_per_element(gathered_dtype(sc));
  const bool mixes_frozen = in_layer && reduces_frozen_weights(sc);
  std::vector<double> sizes;
  sizes.reserve(tensors.size());
  for (const ParameterTensor& tensor : tensors) {
    const auto elements =
        static_cast<double>(elements_on_rank(tensor, sc.model, sc.layout, sc.framework.vocab_multiple));
    const double own = trained_elements.own(tensor, elements);
    const double both = trained_elements.of(tensor, elements);
    const double adapter = both - own, trained = in_state_types(sc, both, own);
    const double gradients = in_gradient_types(sc, both, own);
    // 4-bit weights travel as they are kept (AnswerDotAI/fsdp_qlora README: quantised weights are sharded).
    const double element =
        is_kept_quantised(sc, tensor, in_layer) ? quantised_bytes_per_element(sc.recipe, tensor) : gathered;
    const bool expert = is_expert(tensor);
    const bool persistent = stays_whole(sc, elements_of_module(tensor));
    DenseAndExpert& whole = persistent ? sum.persistent : sum.gathered;
    (expert ? whole.expert : whole.dense) += elements * element;
    (expert ? sum.gathered.expert : sum.gathered.dense) += adapter * gathered;
    sum.modules += persistent ? 0 : std::max(1.0, elements / elements_of_module(tensor));
    if (trained <= 0 && !mixes_frozen) continue;
    (expert ? sum.reduced.expert : sum.reduced.dense) += gradients + (mixes_frozen ? elements - own : 0);
    if (trained <= 0) continue;
    (expert ? sum.trained.expert : sum.trained.dense) += trained;
    sum.tensors += 1;
    sizes.push_back(gradients);
    if (is_updated_by_matrix(sc, tensor, in_layer)) sum.matrices += matrices_of(sc, tensor, trained);
  }
  const FrameworkProfile& f = sc.framework;
  const double bucket = shard_sizes(sc).reduce_bucket + f.gradient_bucket_per_rank * sc.layout.dp;
  sum.buckets = filled_buckets(sizes, std::max(1.0, bucket));
  return sum;
}

}  // namespace

DenseAndExpert& DenseAndExpert::operator+=(const DenseAndExpert& other) {
  dense += other.dense;
  expert += other.expert;
  return *this;
}

DenseAndExpert operator*(DenseAndExpert quantity, double factor) {
  return {quantity.dense * factor, quantity.expert * factor};
}

double of_shard(const Layout& layout, const DenseAndExpert& quantity) {
  return quantity.dense / layout.shard_ranks() + quantity.expert / std::max(1, layout.expert_data());
}

namespace {

constexpr double MultipliedMatrices::*kMatrixSums[] = {
    &MultipliedMatrices::elements,        &MultipliedMatrices::count,
    &MultipliedMatrices::flops,           &MultipliedMatrices::shorter_by_flops,
    &MultipliedMatrices::longer_by_flops, &MultipliedMatrices::rank_by_flops,
    &MultipliedMatrices::projection,      &MultipliedMatrices::moment,
    &MultipliedMatrices::svd_flops,       &MultipliedMatrices::side_squares,
    &MultipliedMatrices::side_cubes,      &MultipliedMatrices::side_fourths};
static_assert(sizeof(MultipliedMatrices) == std::size(kMatrixSums) * sizeof(double), "all are sums");

}  // namespace

std::int64_t MultipliedMatrices::mean(double MultipliedMatrices::*by_flops) const {
  return std::max<std::int64_t>(1, std::llround(this->*by_flops / flops));
}

MultipliedMatrices& MultipliedMatrices::operator+=(const MultipliedMatrices& other) {
  if (other.count == 0) return *this;  // most optimizers multiply none
  for (double MultipliedMatrices::*sum : kMatrixSums) this->*sum += other.*sum;
  return *this;
}

MultipliedMatrices operator*(MultipliedMatrices m, double factor) {
  if (m.count == 0) return m;
  for (double MultipliedMatrices::*sum : kMatrixSums) m.*sum *= factor;
  return m;
}

StageParameters& StageParameters::operator+=(const StageParameters& other) {
  trained += other.trained;
  reduced += other.reduced;
  gathered += other.gathered;
  persistent += other.persistent;
  tensors += other.tensors;
  modules += other.modules;
  buckets += other.buckets;
  matrices += other.matrices;
  return *this;
}

StageParameters operator*(StageParameters p, double factor) {
  return {.trained = p.trained * factor,
          .reduced = p.reduced * factor,
          .gathered = p.gathered * factor,
          .persistent = p.persistent * factor,
          .tensors = p.tensors * factor,
          .modules = p.modules * factor,
          .buckets = p.buckets * factor,
          .matrices = p.matrices * factor};
}

ModelParameters::ModelParameters(const Scenario& sc, const std::vector<StagePlan>& stages) {
  std::vector<ParameterTensor> tensors;
  tensors.reserve(kMaxLayerTensors);
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (!uses_class(stages, c)) continue;
    tensors.clear();
    append_layer_parameters(sc.model, layer_class_at(sc.model, static_cast<int>(c)), tensors);
    layers_[c] = count(sc, tensors, true);
  }
  tensors.clear();
  append_embedding_parameters(sc.model, tensors);
  embedding_ = count(sc, tensors, false);
  tensors.clear();
  append_last_stage_parameters(sc, tensors);
  head_ = count(sc, tensors, false);
  head_unit_ = head_;
  if (!gathers_tied_table(sc)) return;
  const auto table = static_cast<double>(local_dims(sc).vocab * sc.model.hidden);
  head_unit_.gathered.dense += table * bytes_per_element(gathered_dtype(sc));
  head_unit_.modules += 1;
}

StageParameters ModelParameters::of(const StagePlan& stage) const {
  StageParameters sum;
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (stage.layers[c] > 0) sum += layers_[c] * stage.layers[c];
  }
  if (stage.embedding > 0) sum += embedding_ * stage.embedding;
  if (stage.head > 0) sum += head_ * stage.head;
  return sum;
}

}  // namespace hexaplan::costmodel
