#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "validator/executor/optimizer/optimizer_step.h"
#include "validator/executor/parallel/rank.h"
#include "validator/executor/parallel/shard_place.h"

namespace hexaplan::validator {

/// Adafactor's second moments of a flat buffer (arXiv:1804.04235 algorithms 4 and 5): of every matrix moving
/// means of squared gradients per row and per column, of vectors one per element
/// (costmodel::factored_sums). All ranks that share the buffer keep them whole; a shard of it may begin in
/// the middle of a row.
class FactoredMoments {
 public:
  FactoredMoments() = default;
  /// Zero.
  explicit FactoredMoments(const ShardPlace& place);

  /// Adds up the squares of all ranks' gradients ("optimizer.factors") and moves the moments on, unless the
  /// step is skipped. Returns what gradients are to be multiplied by, per row and per column: 1/√v, where v
  /// of an element of a matrix is row·column/mean.
  [[nodiscard]] Tensor follow(const Rank& rank, const OptimizerStep& step, const ShardPlace& place,
                              const View& gradients) const;
  /// The piece's part of `out` becomes its gradients times `roots`, which follow() gave. Gradients and out:
  /// of the shard.
  void divide(const ShardPlace& place, const Piece& piece, const View& gradients, const View& roots,
              const View& out) const;

  /// Calls the visitor with the moments of all tensors' rows, or of their columns: where they stand in the
  /// unsharded model as a tensor, and their values. `counted` of that tensor is true on one of the
  /// tensor-parallel ranks that hold the same.
  using Visitor = std::function<void(const LocalTensor& tensor, const View& moments)>;
  void visit(bool rows, const Visitor& visitor) const;

 private:
  /// Rows, or columns, of all matrices of a tensor, in their order.
  struct Side {
    std::int64_t at = 0;      // among all moments
    std::int64_t each = 0;    // per matrix; 0: there are none
    std::int64_t summed = 1;  // elements that one is the mean of, on all ranks
    bool shared = false;      // tensor-parallel ranks have parts of what is summed
    LocalTensor shape;
    [[nodiscard]] std::int64_t first(std::int64_t matrix) const { return at + matrix * each; }
  };
  /// A vector is a matrix of one row, which needs no moment of its own.
  struct Sides {
    Side rows, columns;
    /// The side of which this rank has every entry of a matrix: their mean is that of the matrix.
    [[nodiscard]] const Side& whole() const { return columns_are_whole ? columns : rows; }
    [[nodiscard]] const Side& other() const { return columns_are_whole ? rows : columns; }
    bool columns_are_whole = true;
    std::int64_t matrices = 0;
  };
  void add_squares(const ShardPlace& place, const View& gradients, const View& sums) const;
  void move(Device& device, const OptimizerStep& step, const View& sums) const;

  std::vector<Sides> sides_;  // by tensor
  std::int64_t shared_ = 0;   // so many moments are, the first ones
  Tensor moments_;
};

}  // namespace hexaplan::validator
