#pragma once
#include <array>
#include <string_view>
#include <vector>

#include "costmodel/parameters/adapters.h"
#include "costmodel/parameters/parameter_names.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/spec/optimizer_traits.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// What of a layer's (or an end's) parameters the recipe trains: all of them, or the adapters beside some.
class TrainedElements {
 public:
  /// `tensors`: of one layer, or of the embedding or the head (`in_layer` false), which have no adapters.
  TrainedElements(const Scenario& scenario, const std::vector<ParameterTensor>& tensors, bool in_layer);
  /// Elements that have a gradient on a rank that holds `on_rank` elements of `tensor`: its own, and its
  /// adapter's.  [docs/formulas.md#M1]
  [[nodiscard]] double of(const ParameterTensor& tensor, double on_rank) const;
  /// Of them its own (own_share).
  [[nodiscard]] double own(const ParameterTensor& tensor, double on_rank) const;

 private:
  [[nodiscard]] double beside(const ParameterTensor& tensor, double on_rank) const;
  [[nodiscard]] double adapter(const ParameterTensor& tensor) const;

  const Scenario& sc_;
  bool adapters_;  // the recipe trains adapters alone
  bool in_layer_;
  double matrix_elements_ = 0;  // of the layer, before it is cut
};

/// Rank of the adapters of one layer on average: the recipe's, or what its trainable parameters make of it.
[[nodiscard]] double mean_adapter_rank(const Scenario& scenario);

/// True when a sharded unit's gradient covers its frozen weights as well. Quantised weights have units of
/// their own, which have no gradient (huggingface/peft src/peft/utils/other.py, fsdp_auto_wrap_policy).
[[nodiscard]] constexpr bool reduces_frozen_weights(const Scenario& scenario) {
  return trains_adapters(scenario.recipe) && scenario.framework.flat_units_mix_frozen &&
         scenario.layout.sharding.stage >= 3 && !quantises_base(scenario.recipe);
}

/// True for weights that are kept in 4 or 8 bits (quantises_base): the frozen matrices of the layers
/// (bitsandbytes replaces their linear modules and leaves output layer and embeddings).
[[nodiscard]] constexpr bool is_kept_quantised(const Scenario& scenario, const ParameterTensor& tensor,
                                               bool in_layer) {
  return quantises_base(scenario.recipe) && tensor.matrix && in_layer &&
         !is_expert_parameter(scenario, tensor.name);
}
/// True for what Muon orthogonalises, GaLore and APOLLO project, Shampoo and SOAP precondition: the matrices
/// of layers that are trained in full. Embeddings, output layer, vectors and adapters are another optimizer's
/// (arXiv:2502.16982 section 2.2; KellerJordan/Muon README; jiaweizzhao/GaLore@2cc66f8 torchrun_main.py,
/// target_modules_list), and so are experts that are no linear layers (huggingface/transformers
/// src/transformers/trainer_optimizer.py _setup_low_rank_optimizer).
[[nodiscard]] constexpr bool is_updated_by_matrix(const Scenario& scenario, const ParameterTensor& tensor,
                                                  bool in_layer) {
  const OptimizerTraits& traits = traits_of(scenario.recipe.optimizer);
  if (!traits.by_matrix() || !tensor.matrix || !in_layer || trains_adapters(scenario.recipe)) return false;
  return traits.orthogonalises || !is_expert_parameter(scenario, tensor.name);
}
/// Matrices that a rank holds of a parameter: one of every expert and every linear layer that it holds
/// together (ParameterTensor::parts).
struct LocalMatrices {
  double count = 1, rows = 0, cols = 0;
};
/// `elements`: of all of them, as elements_on_rank has it.
[[nodiscard]] LocalMatrices local_matrices(const Layout& layout, const ParameterTensor& tensor,
                                           double elements);
/// The moments that Adafactor keeps in place of one per parameter: means of squared gradients over every row
/// and every column of the matrices that a rank holds; of what is no matrix, one per element, as `columns`
/// (arXiv:1804.04235 algorithms 4 and 5).
struct FactoredSums {
  double rows = 0, columns = 0;
  /// Of them: those of rows or columns that tensor parallelism cuts, which its ranks add up.
  double shared = 0;
  [[nodiscard]] double count() const { return rows + columns; }
  FactoredSums& operator+=(const FactoredSums& other) {
    rows += other.rows, columns += other.columns, shared += other.shared;
    return *this;
  }
};
/// `elements`: of the tensor on a rank, as elements_on_rank has it.
[[nodiscard]] FactoredSums factored_sums(const Layout& layout, const ParameterTensor& tensor,
                                         double elements);
/// Elements of a weight in 4 bits that share a scale, and scales that share one where they are quantised
/// again (arXiv:2305.14314 §3; bitsandbytes functional.py quantize_4bit).
inline constexpr int kNf4Block = 64, kNf4ScaleBlock = 256;
/// What NF4 keeps of a weight per element: its code, and a scale in fp32 for every block of 64. Quantised
/// again, scales have 8 bits, and every 256 of them share one in fp32 (arXiv:2305.14314 §3, "Double
/// Quantization").
struct KeptPart {
  DType dtype = DType::Nf4;
  double per_element = 0;  // 0: there is none
};
[[nodiscard]] constexpr std::array<KeptPart, 3> nf4_parts(const Recipe& recipe) {
  constexpr double kBlocks = 1.0 / kNf4Block;
  const bool twice = recipe.double_quantization;
  return {{{DType::Nf4, 1},
           {DType::Fp32, twice ? kBlocks / kNf4ScaleBlock : kBlocks},
           {DType::Int8, twice ? kBlocks : 0}}};
}
/// Elements that NF4 keeps as a whole: those of a scale, or of a scale of scales.
[[nodiscard]] constexpr int nf4_granule(const Recipe& recipe) {
  return recipe.double_quantization ? kNf4Block * kNf4ScaleBlock : kNf4Block;
}
[[nodiscard]] constexpr double bytes_of_parts(const std::array<KeptPart, 3>& parts) {
  double bytes = 0;
  for (const KeptPart& part : parts) bytes += bytes_per_element(part.dtype) * part.per_element;
  return bytes;
}
/// Bytes of a weight in NF4, scales included: 0.5625, or 0.516 where scales are quantised again.
[[nodiscard]] constexpr double nf4_bytes_per_element(const Recipe& recipe) {
  return bytes_of_parts(nf4_parts(recipe));
}
/// What is kept of a quantised weight (is_kept_quantised) per element. In 8 bits: its code, and the largest
/// magnitude of every row in fp32 (bitsandbytes-foundation/bitsandbytes@95f9af3 bitsandbytes/nn/modules.py
/// Int8Params: CB, SCB).
[[nodiscard]] constexpr std::array<KeptPart, 3> quantised_parts(const Recipe& recipe,
                                                                const ParameterTensor& tensor) {
  if (recipe.fine_tune == FineTune::Qlora) return nf4_parts(recipe);
  return {{{DType::Int8, 1}, {DType::Fp32, 1.0 / static_cast<double>(tensor.cols)}, {}}};
}
[[nodiscard]] constexpr double quantised_bytes_per_element(const Recipe& recipe,
                                                           const ParameterTensor& tensor) {
  return bytes_of_parts(quantised_parts(recipe, tensor));
}

}  // namespace hexaplan::costmodel
