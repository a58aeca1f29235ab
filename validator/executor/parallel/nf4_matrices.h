#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "validator/executor/device/nf4.h"
#include "validator/executor/parallel/optimizer_shard.h"
#include "validator/executor/parallel/rank.h"
#include "validator/executor/parameters/local_tensor.h"

namespace hexaplan::validator {

struct OwnedPart;

/// Frozen matrices of a unit in 4 bits (nf4.h), one behind the other, each beginning a block: what QLoRA's
/// adapters stand beside. Under ZeRO-3 ranks of the shard group have whole blocks of them each and gather
/// codes and scales as they are. Products read what dequantise() writes out for them.
class Nf4Matrices {
 public:
  /// Over whom the matrices are cut, or nobody, and copied.
  struct Ranks {
    Communicator *shard, *replica;
    bool mirrored = false;  // another stage's copy of them counts
  };
  Nf4Matrices(const Rank& rank, std::vector<LocalTensor> tensors, int unit, const Ranks& ranks,
              std::uint64_t seed);

  [[nodiscard]] const LocalTensor* find(std::string_view name) const;  // or nullptr
  /// Stage 3: all of them on every rank until release().
  void gather(const Rank& rank, costmodel::Pass pass);
  void release();
  /// Rows of `first` … `last` (neighbours with equal columns) into `out`, which has as many elements.
  void dequantise(const Rank& rank, std::string_view first, std::string_view last, const View& out) const;

  /// What this rank has of the matrices, as the numbers that are computed with; of states, parameters and
  /// masters. A part that the visitor overwrites is quantised anew.
  void visit(const Rank& rank, State state, const std::function<void(const OwnedPart&)>& visitor);

 private:
  [[nodiscard]] bool quantises_scales() const { return granule_ > costmodel::kNf4Block; }
  [[nodiscard]] bool is_cut() const { return ranks_.shard->size() > 1; }
  /// What this rank has of a matrix, in elements of the flat buffer.
  [[nodiscard]] std::vector<Piece> own_pieces() const;
  [[nodiscard]] Tensor allocate(const Rank& rank, costmodel::DType dtype, std::int64_t numbers_each) const;
  /// The buffers' part that holds a piece.
  [[nodiscard]] Nf4Matrix at(const Piece& piece, const View& codes, const View& scales,
                             std::int64_t first) const;
  void write(const Rank& rank, const Piece& piece, std::span<const double> values);
  [[nodiscard]] std::vector<double> read(const Rank& rank, const Piece& piece) const;
  void upload_initial_values(const Rank& rank, std::uint64_t seed);
  void fill_with_noise(const Rank& rank, std::uint64_t seed);

  std::vector<LocalTensor> tensors_;
  int unit_;
  std::int64_t granule_;  // elements that are kept as a whole
  Ranks ranks_;
  std::int64_t kept_ = 0, first_ = 0;  // elements that this rank has, and the first of them
  std::vector<float> means_;           // of the scales of each matrix, where they are quantised again
  Tensor codes_, scales_, scales_of_scales_;
  Tensor gathered_codes_, gathered_scales_;
};

}  // namespace hexaplan::validator
