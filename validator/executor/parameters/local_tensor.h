#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "costmodel/memory/flat_units.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::validator {

/// `count` consecutive rows of a rank's matrix and where they lie in the unsharded one.
struct RowSegment {
  std::int64_t local = 0;
  std::int64_t global = 0;
  std::int64_t count = 0;
};

/// What one rank holds of one parameter after tensor and expert parallelism, before ZeRO: a rows × cols
/// matrix (experts stacked; vectors as one row, cut ones as one column). Rows that no segment covers are
/// padding: zero for ever.
struct LocalTensor {
  std::string_view name;  // as in costmodel::ParameterTensor
  costmodel::Cut cut = costmodel::Cut::Replicated;
  bool decays = true;         // weight decay acts on matrices and tables, not on vectors
  bool sums_over_tp = false;  // costmodel::sums_over_tensor_ranks
  int copies = 1;             // tensor-parallel neighbours that hold the same rows (kv heads < tp)
  bool adapter = false;       // costmodel::ParameterTensor::adapter
  bool counted = true;        // this rank's copy goes into the gradient norm
  bool first_copy = true;     // no tensor-parallel rank before this one holds the same
  std::int64_t matrices = 1;  // costmodel::local_matrices, one behind the other; vectors alike
  std::int64_t matrix_rows = 0, matrix_cols = 0;  // of one of them, unsharded
  std::int64_t rows = 0, cols = 0;
  std::int64_t global_rows = 0, global_cols = 0;
  std::int64_t first_col = 0;
  std::vector<RowSegment> segments;
  std::int64_t offset = 0;  // first element in its flat buffer
  [[nodiscard]] std::int64_t elements() const { return rows * cols; }
  /// Where element `local` lies in the unsharded tensor; −1: padding.
  [[nodiscard]] std::int64_t global_index(std::int64_t local) const;
};

/// Where a rank stands on the axes that cut parameters.
struct ParameterPlace {
  int tp_rank = 0;
  int expert_rank = 0;         // in its expert-parallel group
  int expert_tensor_rank = 0;  // in its expert-tensor-parallel group
};

/// The rank's part of `tensor`. Sizes equal costmodel::elements_on_rank.
[[nodiscard]] LocalTensor local_tensor(const costmodel::ParameterTensor& tensor,
                                       const costmodel::Scenario& scenario, const ParameterPlace& place);

/// Parameters that are gathered, reduced and updated together: a transformer layer, the embedding or the
/// head.
struct UnitPlan {
  /// Layer in model order, behind which multi-token-prediction modules follow, or one of these.
  static constexpr int kEmbedding = -1, kHead = -2, kTiedCopy = -3, kFinalNorm = -4;
  int index = 0;
  std::vector<LocalTensor> dense, beside_tied_table, dense_matrices, expert, expert_matrices, in_4_bits,
      adapters;  // costmodel::FlatKind; offsets count inside each
  [[nodiscard]] std::int64_t dense_elements() const;
  [[nodiscard]] std::int64_t expert_elements() const;
};

/// What the cost model calls the unit.
[[nodiscard]] costmodel::UnitRole role_of_unit(int index);

/// One unit of the model as a rank holds it. kTiedCopy is the last stage's copy of the word table; kHead has
/// no matrix where embeddings are tied, and no norm where that is a unit of its own.
[[nodiscard]] UnitPlan plan_unit(const costmodel::Scenario& scenario, int index, const ParameterPlace& place);

}  // namespace hexaplan::validator
