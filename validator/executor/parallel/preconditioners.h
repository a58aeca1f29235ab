#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "costmodel/spec/optimizer_traits.h"
#include "validator/executor/optimizer/optimizer_step.h"
#include "validator/executor/parallel/rank.h"
#include "validator/executor/parallel/shard_place.h"

namespace hexaplan::validator {

/// A matrix of a flat buffer, or a block of one, and where its states lie among those of all.
struct PreconditionedBlock {
  struct Side {
    std::int64_t length = 0;  // 0: it has no second moments
    std::int64_t first = 0;   // element of its second moments, and of its basis or root
  };
  std::int64_t row = 0, col = 0, rows = 0, cols = 0;  // in the matrix
  std::array<Side, 2> sides{};                        // of rows, of columns
};
struct PreconditionedMatrix {
  std::size_t tensor = 0;  // of the place
  std::int64_t first = 0;  // element, in the flat buffer
  std::int64_t rows = 0, cols = 0;
  std::vector<PreconditionedBlock> blocks;  // of SOAP one
};

/// What Shampoo and SOAP keep of a flat buffer's matrices beside moments per parameter, and the steps that
/// they make of it: second moments of rows and columns, and their roots or bases
/// (costmodel::PreconditionerStates). Precondition: nobody shares the buffer, and no tensor-parallel rank has
/// parts of a matrix.
class Preconditioners {
 public:
  Preconditioners() = default;
  /// Second moments and SOAP's bases are zero, Shampoo's roots one.
  Preconditioners(const Rank& rank, const ShardPlace& place);

  [[nodiscard]] std::span<const PreconditionedMatrix> matrices() const { return matrices_; }

  /// True where the optimizer's first step only begins its second moments, which the next ones count from.
  [[nodiscard]] bool begins_with_a_look() const {
    return traits_ != nullptr && traits_->precondition == costmodel::Precondition::Eigenbasis;
  }

  /// Moves what is kept of a matrix on by its gradient in `rates`, which has its moments, and writes the
  /// direction of its step to `out`, rows × cols.
  void follow(const Rank& rank, const PreconditionedMatrix& matrix, const OptimizerUpdate& rates,
              const View& out) const;

 private:
  using Side = PreconditionedBlock::Side;
  void follow_in_bases(const Rank& rank, const PreconditionedMatrix& matrix, const OptimizerUpdate& rates,
                       const View& out) const;
  void follow_by_roots(const Rank& rank, const PreconditionedMatrix& matrix, const OptimizerUpdate& rates,
                       const View& out) const;
  void precondition(const Rank& rank, const PreconditionedBlock& block, const OptimizerUpdate& rates,
                    const View& momentum, const View& out) const;
  void rotate(const Rank& rank, const PreconditionedBlock& block, bool back, const View& from,
              const View& between, const View& to) const;
  void add_second_moments(const Rank& rank, const PreconditionedBlock& block, const OptimizerUpdate& rates,
                          const View& gradient, const View& square) const;
  void choose_bases(const Rank& rank, const PreconditionedBlock& block, const OptimizerUpdate& rates,
                    const View& second_moment) const;
  void choose_roots(const Rank& rank, const PreconditionedBlock& block, const OptimizerUpdate& rates) const;
  [[nodiscard]] std::vector<double> read(const Rank& rank, const Tensor& from, const Side& side) const;
  void write(const Rank& rank, const Tensor& to, const Side& side, std::span<const double> square) const;
  [[nodiscard]] View basis(const Side& side) const;
  /// Numbers that are kept of a square matrix of the side.
  [[nodiscard]] std::int64_t kept(std::int64_t length) const;

  const costmodel::OptimizerTraits* traits_ = nullptr;
  std::int64_t frequency_ = 1;
  std::vector<PreconditionedMatrix> matrices_;
  Tensor second_moments_, bases_;  // … or roots
};

}  // namespace hexaplan::validator
