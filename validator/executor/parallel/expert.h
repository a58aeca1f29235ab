#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "validator/executor/parallel/rank.h"

namespace hexaplan::validator {

/// Names under which the operation list has the two collectives of one way between tokens and experts.
struct ExpertWay {
  std::string_view all_to_all, across_tensor_ranks;
  costmodel::Pass pass = costmodel::Pass::Forward;
};

/// Where the copies of a micro-batch's tokens go: each of a rank's n tokens has K copies, one per chosen
/// expert, which an all-to-all brings to the ranks of their experts (arXiv:2006.16668 §2.2); ranks that
/// share an expert's columns then exchange what they received. No copy is dropped, so that sizes follow the
/// router's choice. Ranks that share an expert pad to the fullest of them. Lists live on the host.
class ExpertExchange {
 public:
  ExpertExchange() = default;
  /// `chosen`: the experts of every token, n × K. Collective: ranks tell each other how many copies each
  /// expert gets.
  ExpertExchange(const Rank& rank, std::span<const std::int32_t> chosen);

  /// Per copy, in the order of their experts: its place in `chosen`, token·K + choice.
  [[nodiscard]] const std::vector<std::int32_t>& places() const { return places_; }
  /// Rows of the rank's experts: expert i has [offsets[i], offsets[i + 1]).
  [[nodiscard]] const std::vector<std::int64_t>& offsets() const { return offsets_; }
  [[nodiscard]] std::int64_t rows() const { return offsets_.back(); }

  /// Copies in the order of places() → rows of this rank's experts, expert after expert. Both × h.
  [[nodiscard]] Tensor to_experts(const Rank& rank, Tensor copies, const ExpertWay& way,
                                  const TensorLabel& label) const;
  /// The way back; sums what the ranks that share an expert computed.
  [[nodiscard]] Tensor from_experts(const Rank& rank, Tensor rows, const ExpertWay& way,
                                    const TensorLabel& label) const;

 private:
  /// Copies per source rank of the expert group and local expert, of one rank that shares the experts.
  using Counts = std::vector<std::int32_t>;
  void append_rows_of(std::size_t expert, std::size_t experts, const Counts& counts, std::int64_t row);
  void sort_by_expert(const std::vector<Counts>& of_members, std::size_t experts);

  std::vector<std::int32_t> places_;
  std::vector<std::int64_t> sent_, received_;  // rows per rank of the expert group
  std::int64_t received_rows_ = 0;
  std::int64_t padded_rows_ = 0;       // the same of the fullest rank that shares the experts
  std::vector<std::int32_t> order_;    // row i of the experts is row order_[i] of what was exchanged
  std::vector<std::int32_t> inverse_;  // … and back; −1 for padding
  std::vector<std::int64_t> offsets_ = {0};
};

}  // namespace hexaplan::validator
