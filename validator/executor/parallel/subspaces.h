#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "costmodel/spec/optimizer_traits.h"
#include "validator/executor/optimizer/optimizer_step.h"
#include "validator/executor/parallel/rank.h"
#include "validator/executor/parallel/shard_place.h"

namespace hexaplan::validator {

/// One matrix of a flat buffer, and where its states lie among those of all.
struct ProjectedMatrix {
  std::size_t tensor = 0;   // of the place
  std::int64_t number = 0;  // among the tensor's matrices
  std::int64_t rows = 0, cols = 0, rank = 0;
  std::int64_t first = 0;                   // element, in the flat buffer
  std::int64_t projection = 0, moment = 0;  // their first elements
  std::int64_t length = 0;                  // which number
  [[nodiscard]] bool tall() const { return rows >= cols; }
  [[nodiscard]] std::int64_t shorter() const { return tall() ? cols : rows; }
  [[nodiscard]] std::int64_t longer() const { return tall() ? rows : cols; }
};

/// What GaLore and APOLLO keep of a flat buffer's matrices, and the steps that they make of it: subspaces of
/// the shorter side, and AdamW's moments of gradients in them (costmodel::SubspaceStates). Precondition:
/// nobody shares the buffer, and no tensor-parallel rank has parts of a matrix.
class Subspaces {
 public:
  Subspaces() = default;
  /// Moments are zero; subspaces are chosen in the first step.
  Subspaces(const Rank& rank, const ShardPlace& place);

  [[nodiscard]] std::span<const ProjectedMatrix> matrices() const { return matrices_; }

  /// Moves the moments of a matrix on by its gradient in `rates` and writes the direction of its step to
  /// `out`, rows × cols. Returns what the direction is to be multiplied by beside the learning rate. `scale`:
  /// of GaLore's steps, or of what APOLLO's are the root of.
  double follow(const Rank& rank, const ShardPlace& place, const ProjectedMatrix& matrix,
                const OptimizerUpdate& rates, double scale, const View& out) const;

 private:
  void choose(const Rank& rank, const ShardPlace& place, const ProjectedMatrix& matrix, const View& gradient,
              std::int64_t step) const;
  void step_along(const Rank& rank, const ProjectedMatrix& m, const OptimizerUpdate& rates, const View& low,
                  const View& step) const;
  double scale_gradient(const Rank& rank, const ProjectedMatrix& m, const OptimizerUpdate& rates,
                        const View& low, const View& step, const View& out) const;
  double limited(const Rank& rank, const ProjectedMatrix& m, const View& sum, double factor,
                 const View& out) const;
  [[nodiscard]] View subspace(const ProjectedMatrix& m) const;

  const costmodel::OptimizerTraits* traits_ = nullptr;
  std::int64_t interval_ = 1;
  std::vector<ProjectedMatrix> matrices_;
  Tensor projections_, first_moments_, second_moments_, first_scales_, second_scales_, lengths_;
};

}  // namespace hexaplan::validator
