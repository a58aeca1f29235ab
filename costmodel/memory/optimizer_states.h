#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/parameters/trained_elements.h"
#include "costmodel/spec/optimizer_traits.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel {

/// What an optimizer keeps beside the parameters that it updates.
enum class OptimizerTensor : std::uint8_t { Master, FirstMoment, SecondMoment, FirstScale, SecondScale };

/// One of them: its storage type, and how many parameters share an element of it.
struct KeptState {
  OptimizerTensor tensor = OptimizerTensor::Master;
  DType dtype = DType::Fp32;
  int parameters = 1;
};
class KeptStates {
 public:
  constexpr void push_back(KeptState state) { states_[size_++] = state; }
  [[nodiscard]] constexpr const KeptState* begin() const { return states_.data(); }
  [[nodiscard]] constexpr const KeptState* end() const { return states_.data() + size_; }

 private:
  std::array<KeptState, 5> states_{};
  std::size_t size_ = 0;
};

/// All that an optimizer of `traits` keeps per parameter: not Adafactor's moments of rows and columns
/// (FactoredSums), nor what is kept of subspaces (SubspaceStates) or of sides (PreconditionerStates).
/// [docs/formulas.md#M1]
[[nodiscard]] constexpr KeptStates kept_states(const StateTypes& types, const OptimizerTraits& traits) {
  constexpr std::array kMoments{OptimizerTensor::FirstMoment, OptimizerTensor::SecondMoment};
  constexpr std::array kScales{OptimizerTensor::FirstScale, OptimizerTensor::SecondScale};
  KeptStates out;
  if (types.master) out.push_back({OptimizerTensor::Master, DType::Fp32});
  if (traits.projects()) return out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(traits.moments); ++i) {
    const DType moment = traits.wide_moments ? DType::Fp32 : types.moment;
    out.push_back({kMoments[i], traits.quantised ? DType::Int8 : moment});
    if (traits.quantised) out.push_back({kScales[i], DType::Fp32, kMomentBlock});
  }
  return out;
}

/// What GaLore and APOLLO keep of equal matrices: the subspace, two moments of gradients in it with their
/// 8-bit scales, and the length of the last step.
struct SubspaceStates {
  double rank = 0;                     // of each
  double projection = 0, moments = 0;  // elements; both moments together
  double scales = 0, lengths = 0;      // in fp32
  DType projection_dtype = DType::Fp32, moment_dtype = DType::Fp32;
  [[nodiscard]] constexpr double bytes() const {
    return projection * bytes_per_element(projection_dtype) + moments * bytes_per_element(moment_dtype) +
           (scales + lengths) * bytes_per_element(DType::Fp32);
  }
};
/// `matrices`: as a rank holds them. The subspace has the gradients' type (jiaweizzhao/GaLore@2cc66f8
/// galore_torch/galore_projector.py get_orthogonal_matrix); blocks of 8-bit moments are a matrix's own.
/// [docs/formulas.md#M1]
[[nodiscard]] inline SubspaceStates subspace_states(const StateTypes& types, const Recipe& recipe,
                                                    const LocalMatrices& matrices) {
  const OptimizerTraits& traits = traits_of(recipe.optimizer);
  const double rank = projection_rank(recipe, matrices.rows, matrices.cols);
  const double shorter = std::min(matrices.rows, matrices.cols),
               longer = std::max(matrices.rows, matrices.cols);
  SubspaceStates out{.rank = rank, .projection = matrices.count * rank * shorter};
  out.projection_dtype = types.gradient;
  out.moment_dtype = traits.quantised ? DType::Int8 : types.moment;
  double moment = rank * longer;
  if (traits.quantised) {
    moment = std::ceil(moment / kMomentBlock) * kMomentBlock;
    out.scales = matrices.count * traits.moments * moment / kMomentBlock;
  }
  out.moments = matrices.count * traits.moments * moment;
  if (traits.scales_gradients()) out.lengths = matrices.count;
  return out;
}

/// What Shampoo and SOAP keep of the second moments of rows and columns, beside moments per parameter: those
/// of every side, and as many numbers of its basis or root, in fp32.
struct PreconditionerStates {
  double elements = 0;                         // of all matrices
  double squares = 0, cubes = 0, fourths = 0;  // Σ of powers of the sides that have any
  double products = 0;  // Σ rows·cols·side: half the FLOPs of a product along every side
  double largest_rows = 0, largest_cols = 0;  // of a block
  double largest_side = 0;                    // that has any
};
/// One of the two sides of matrices, and how often it stands in them.
[[nodiscard]] inline PreconditionerStates preconditioner_side(const Recipe& recipe, double side, double other,
                                                              double times) {
  const bool roots = traits_of(recipe.optimizer).precondition == Precondition::InverseRoot;
  // Symmetric ones as triangles (shampoo_types.py use_symmetric_packing).
  const double kept = roots ? side * (side + 1) : 2 * side * side;
  return {.elements = times * kept,
          .squares = times * side * side,
          .cubes = times * side * side * side,
          .fourths = times * side * side * side * side,
          .products = times * side * side * other,
          .largest_side = side};
}
/// SOAP leaves sides that are too long without a basis (nikhilvyas/SOAP@a1e5535 soap.py init_preconditioner);
/// Shampoo cuts the matrix into blocks (facebookresearch/optimizers@f606606
/// distributed_shampoo/utils/shampoo_utils.py multi_dim_split).  [docs/formulas.md#M1]
[[nodiscard]] inline PreconditionerStates preconditioner_states(const Recipe& recipe,
                                                                const LocalMatrices& matrices) {
  const auto most = static_cast<double>(max_precondition_dim(recipe));
  const bool blocks = traits_of(recipe.optimizer).precondition == Precondition::InverseRoot;
  PreconditionerStates out{.largest_rows = matrices.rows, .largest_cols = matrices.cols};
  const auto add = [&](double side, double other, double times) {
    if (side <= 0 || times <= 0) return;
    const PreconditionerStates one = preconditioner_side(recipe, side, other, times);
    for (double PreconditionerStates::*sum :
         {&PreconditionerStates::elements, &PreconditionerStates::squares, &PreconditionerStates::cubes,
          &PreconditionerStates::fourths, &PreconditionerStates::products})
      out.*sum += one.*sum;
    out.largest_side = std::max(out.largest_side, one.largest_side);
  };
  if (!blocks) {
    if (matrices.rows <= most) add(matrices.rows, matrices.cols, matrices.count);
    if (matrices.cols <= most && !mutant("columns-have-no-second-moments"))
      add(matrices.cols, matrices.rows, matrices.count);
    return out;
  }
  out.largest_rows = std::min(matrices.rows, most), out.largest_cols = std::min(matrices.cols, most);
  const auto cut = [&](double side, double other) {
    const double whole = std::floor(side / most), beside = std::ceil(other / most);
    // Every block has one: all that lie beside each other have the other side between them.
    add(most, other / beside, matrices.count * whole * beside);
    add(side - whole * most, other / beside, matrices.count * beside);
  };
  cut(matrices.rows, matrices.cols);
  cut(matrices.cols, matrices.rows);
  return out;
}

/// The type of AdamW's moments where the recipe does not say one.
[[nodiscard]] DType usual_moment_dtype(const Scenario& scenario);

/// True where a rank's optimizer has a shard of what it updates.
[[nodiscard]] constexpr bool shards_states(const Layout& layout) {
  return layout.sharding.stage >= 1 && layout.shard_ranks() > 1;
}

/// The optimizer's traits where it trains `scenario`. Frameworks hand a sharded parameter to the optimizer as
/// the flat part that the rank has, of which Adafactor keeps a moment per element: it factors what has two
/// dimensions (transformers `optimization.py` Adafactor._get_options; deepspeedai/DeepSpeed
/// runtime/zero/stage_1_and_2.py single_partition_of_fp32_groups; pytorch/pytorch
/// torch/distributed/fsdp/_flat_param.py FlatParameter). That moment is read and written once where rows' and
/// columns' sums read the squares twice.
[[nodiscard]] inline OptimizerTraits traits_in(const Scenario& scenario, Optimizer optimizer) {
  OptimizerTraits traits = traits_of(optimizer);
  if (!traits.factored || !shards_states(scenario.layout) || scenario.framework.updates_whole_matrices)
    return traits;
  traits.factored = false;
  traits.moments = 1;
  traits.further_bytes -= bytes_per_element(DType::Fp32);
  return traits;
}

/// What updates the matrices that the optimizer takes one by one (is_updated_by_matrix), or everything else.
[[nodiscard]] constexpr Optimizer optimizer_of(const Recipe& recipe, bool by_matrix) {
  const OptimizerTraits& traits = traits_of(recipe.optimizer);
  return traits.by_matrix() && !by_matrix ? traits.beside : recipe.optimizer;
}

}  // namespace hexaplan::costmodel
