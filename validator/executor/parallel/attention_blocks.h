#pragma once
#include <cstdint>

#include "validator/executor/parallel/context.h"

namespace hexaplan::validator {

/// Projections of a rank's tokens, or their gradients.
struct QueryKeyValue {
  View query, key, value;
};
/// Rows [first, first + count) of every sequence of a rank.
struct RowsOfSequence {
  std::int64_t first = 0, count = 0;
};
/// Keys and values of one rank's positions: `rows` tokens × kv heads.
struct KeyValue {
  View key, value;
};
/// Which of a rank's queries see which keys of another rank, all of them: ranks hold the r-th chunk of the
/// sequence and the r-th from the end, so that either the other's first chunk lies before both of ours, or
/// both of its chunks lie before our second.  [docs/formulas.md#C11]
struct VisibleBlock {
  RowsOfSequence queries, keys;
};
[[nodiscard]] VisibleBlock visible_block(int rank, int other, std::int64_t local_sequence);

/// A rank's attention as a sum over blocks of keys: its own first, others' in any order.
class BlockwiseForward {
 public:
  BlockwiseForward(const Rank& rank, const QueryKeyValue& in, const View& output, const View& log_sum_exp)
      : rank_{rank}, in_{in}, output_{output}, log_sum_exp_{log_sum_exp} {}
  /// Writes output and log-sum-exp.
  void own() const;
  /// Adds the keys of rank `other` of the context group.
  void add(int other, const KeyValue& keys) const;

 private:
  const Rank& rank_;
  QueryKeyValue in_;
  View output_, log_sum_exp_;
};

/// The same backward: each block adds to the gradients of the queries and of its own keys.
class BlockwiseBackward {
 public:
  BlockwiseBackward(const Rank& rank, const QueryKeyValue& in, const View& d_output, const View& log_sum_exp,
                    const View& delta, const QueryKeyValue& d)
      : rank_{rank}, in_{in}, d_output_{d_output}, log_sum_exp_{log_sum_exp}, delta_{delta}, d_{d} {}
  /// Adds the share of the rank's own keys to the gradients.
  void own() const;
  /// Adds to the query's gradient and to `d_keys`.
  void add(int other, const KeyValue& keys, const KeyValue& d_keys) const;

 private:
  const Rank& rank_;
  QueryKeyValue in_;
  View d_output_, log_sum_exp_, delta_;
  QueryKeyValue d_;
};

}  // namespace hexaplan::validator
