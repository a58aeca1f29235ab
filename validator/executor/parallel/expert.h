#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "validator/executor/parallel/rank.h"

namespace hexaplan::validator {

/// Where the copies of a micro-batch's tokens go: each of a rank's n tokens has K copies, one per chosen
/// expert, which an all-to-all brings to the ranks of their experts (arXiv:2006.16668 §2.2); ranks that
/// share an expert's columns then exchange what they received. Sizes follow the router's choice, less what
/// experts have no capacity for; or, where experts are padded to their capacity, are known beforehand. Ranks
/// that share an expert pad to the fullest of them. Lists live on the host.
class ExpertExchange {
 public:
  ExpertExchange() = default;
  /// `chosen`: the experts of every token, n × K; `kept`: the places in it of copies that are not dropped.
  ExpertExchange(const Rank& rank, std::span<const std::int32_t> chosen, std::vector<std::int32_t> kept);
  /// … of which none is.
  ExpertExchange(const Rank& rank, std::span<const std::int32_t> chosen);
  /// Ranks of `group` tell each other how many copies each expert gets, by way of `buffer`, which has the
  /// counts of all of them: first the ranks that exchange tokens, then those that share an expert's columns.
  /// Collective. Groups of one rank need not be told, nor any where experts are padded. Told once more, it is
  /// what it was.
  void tell(const Rank& rank, costmodel::Group group, const View& buffer);

  /// Per copy that travels, in the order of their experts: its place in `chosen`, token·K + choice; −1 for
  /// padding.
  [[nodiscard]] const std::vector<std::int32_t>& places() const { return places_; }
  /// Rows of the rank's experts: expert i has [offsets[i], offsets[i + 1]).
  [[nodiscard]] const std::vector<std::int64_t>& offsets() const { return offsets_; }
  [[nodiscard]] std::int64_t rows() const { return offsets_.back(); }
  /// Rows that the fullest of the ranks that share this rank's experts receives, and those of all of them.
  [[nodiscard]] std::int64_t padded_rows() const { return padded_rows_; }
  [[nodiscard]] std::int64_t exchanged_rows() const { return static_cast<std::int64_t>(inverse_.size()); }
  /// Row i of the experts is row order[i] of what was exchanged; and back, −1 for padding.
  [[nodiscard]] const std::vector<std::int32_t>& order() const { return order_; }
  [[nodiscard]] const std::vector<std::int32_t>& inverse() const { return inverse_; }

  /// Copies in the order of places() go to the ranks of their experts, padding is zero. received: padded_rows
  /// × h.
  void send_copies(const Rank& rank, const View& copies, const View& received, const Call& call) const;
  /// The way back.
  void return_copies(const Rank& rank, const View& received, const View& copies, const Call& call) const;

 private:
  /// Copies per source rank of the expert group and local expert, of one rank that shares the experts.
  using Counts = std::vector<std::int32_t>;
  void pad(const Rank& rank);
  void hear(const Rank& rank, const Counts& of_senders);
  void share(const Counts& of_sharers);
  void append_rows_of(std::size_t expert, std::size_t experts, const Counts& counts, std::int64_t row);
  void sort_by_expert(const std::vector<Counts>& of_members, std::size_t experts);

  std::vector<std::int32_t> places_;
  Counts own_;       // copies that this rank sends to each expert
  Counts arriving_;  // per source rank and local expert
  std::size_t local_experts_ = 0;
  std::vector<std::int64_t> sent_, received_;  // rows per rank of the expert group
  std::int64_t received_rows_ = 0;
  std::int64_t padded_rows_ = 0;       // the same of the fullest rank that shares the experts
  std::vector<std::int32_t> order_;    // row i of the experts is row order_[i] of what was exchanged
  std::vector<std::int32_t> inverse_;  // … and back; −1 for padding
  std::vector<std::int64_t> offsets_ = {0};
};

}  // namespace hexaplan::validator
