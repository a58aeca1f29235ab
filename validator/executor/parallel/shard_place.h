#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "validator/executor/communicator/communicator.h"
#include "validator/executor/device/device.h"
#include "validator/executor/parameters/local_tensor.h"

namespace hexaplan::validator {

/// Consecutive elements of a tensor inside a rank's shard of a flat buffer.
struct Piece {
  std::size_t tensor;
  std::int64_t begin, end;  // in the flat buffer
};

/// Where a flat buffer is cut, and over whom.
struct ShardPlace {
  std::span<const LocalTensor> tensors;
  std::span<const Piece> pieces;
  std::int64_t first = 0, elements = 0;  // of this rank's shard, in the flat buffer
  Communicator* shard = nullptr;
  Communicator* tensor = nullptr;  // ranks that hold other parts of the same tensors
  Device* device = nullptr;        // where the states are, and what updates them
  /// Matrices that the optimizer takes one by one; else nothing of this buffer is.
  bool by_matrix = false;
  int unit = 0;  // UnitPlan::index
};

/// Elements [begin, end) of the flat buffer that one matrix of a tensor has in this rank's shard.
struct MatrixPart {
  std::int64_t begin, end;
};
/// Calls `visit(matrix, part)` for the matrices, or vectors, of a tensor that a piece has something of.
template <class Visit>
void for_matrices(const LocalTensor& t, const Piece& p, const Visit& visit) {
  const std::int64_t size = t.elements() / t.matrices;
  for (std::int64_t m = (p.begin - t.offset) / size; m * size + t.offset < p.end; ++m) {
    const std::int64_t from = t.offset + m * size;
    visit(m, MatrixPart{std::max(p.begin, from), std::min(p.end, from + size)});
  }
}

}  // namespace hexaplan::validator
