#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "validator/executor/parallel/attention_blocks.h"

namespace hexaplan::validator {

// Context parallelism: a rank holds s/c positions of every sequence. Between the projections of attention its
// queries meet the keys of all positions, by a ring (arXiv:2310.01889), gathered keys and values
// (arXiv:2407.21783 §3.3.2), or heads against positions (arXiv:2309.14509). With c = 1 the rank attends to
// what it has.

/// Places in the sequence of this rank's local_sequence tokens, in the order in which it holds them. Ring and
/// gathered keys cut the sequence into 2c chunks of which rank r has the r-th and the r-th from the end, so
/// that a causal mask leaves every rank equally many pairs; all-to-all cuts into c.  [docs/formulas.md#C11]
[[nodiscard]] std::vector<std::int32_t> local_positions(const Rank& rank);
/// The same of any rank of a layout's context group, which has number `place` there.
[[nodiscard]] std::vector<std::int32_t> positions_of(const costmodel::Layout& layout, std::int64_t sequence,
                                                     int place);

/// Ranks that have all tokens of a share of the heads inside attention, instead of all heads of a share of
/// the tokens (arXiv:2309.14509); 1: heads stay where they are.
[[nodiscard]] int head_shares(const Rank& rank);
/// A value of attention, N × columns, as it lies between the exchanges: c times as many tokens of this rank's
/// heads. In as many bytes.
[[nodiscard]] View of_own_heads(const Rank& rank, const View& value);
/// Exchanges heads for tokens, or back. `widths`: of the columns that are cut one by one (queries, keys,
/// values).
void gather_tokens(const Rank& rank, std::span<const std::int64_t> widths, const View& of_tokens,
                   const View& of_heads, const Call& call);
void gather_heads(const Rank& rank, std::span<const std::int64_t> widths, const View& of_heads,
                  const View& of_tokens, const Call& call);

/// Columns of the joint projection, or of its gradient; or, where queries are a matrix of their own (latent
/// attention), that matrix beside keys and values.
[[nodiscard]] QueryKeyValue projections(const Rank& rank, const View& joint);
[[nodiscard]] QueryKeyValue projections(const Rank& rank, const View& query, const View& key_value);

/// Keys and values side by side, as they travel: N × (k + v).
[[nodiscard]] KeyValue unpacked(const Rank& rank, const View& packed);
void pack(const Rank& rank, const KeyValue& in, const View& packed);
/// Adds the gradients in `packed` to those of keys and values.
void add_unpacked(const Rank& rank, const View& packed, const KeyValue& d);

/// The context group as a ring: step i works on the keys of the rank i places before.
struct Ring {
  explicit Ring(const Rank& rank) : group{*rank.groups.context} {}
  Communicator& group;

  [[nodiscard]] int size() const { return group.size(); }
  [[nodiscard]] int source(int step) const { return (group.rank() - step + size()) % size(); }
  /// A buffer for the next rank, and where the previous rank's arrives.
  struct Passed {
    View leaving, arriving;
  };
  /// All in one message.
  void pass_on(std::initializer_list<Passed> buffers, const Call& call) const;
};

}  // namespace hexaplan::validator
