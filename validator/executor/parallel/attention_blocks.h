#pragma once
#include <cstdint>

#include "validator/executor/parallel/rank.h"

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
/// What attention makes of queries: output and log-sum-exp.
struct Attended {
  View output, log_sum_exp;
};
/// Which of a rank's queries see which keys of another rank, all of them: ranks hold the r-th chunk of the
/// sequence and the r-th from the end, so that either the other's first chunk lies before both of ours, or
/// both of its chunks lie before our second.  [docs/formulas.md#C11]
struct VisibleBlock {
  RowsOfSequence queries, keys;
};
[[nodiscard]] VisibleBlock visible_block(int rank, int other, std::int64_t local_sequence);

// A rank's attention is a sum over blocks of keys: its own first, others' in any order.

/// The rank's own queries against its own keys: what the mask, distances, cap and dropout make of their
/// scores.
[[nodiscard]] AttentionBlock own_block(const Rank& rank);
/// softmax(scale·QKᵀ)V over the rank's own keys, causal. `sinks`: 1 × heads, or empty.
void attend_to_own(const Rank& rank, const QueryKeyValue& in, const View& sinks, const Attended& out);
/// Adds the keys of rank `other` of the context group; `piece` has room for what is added.
void attend_to_other(const Rank& rank, const QueryKeyValue& in, int other, const KeyValue& keys,
                     const Attended& piece, const Attended& out);

/// What the backward pass of every block reads: the final log-sum-exp and delta, over all blocks.
struct AttentionGradient {
  QueryKeyValue in;
  View d_output, log_sum_exp, delta;
};
/// Gradients of the rank's queries and own keys; whatever stood there is overwritten. `query_sum`: the fp32
/// room in which kernels may add up d.query, or empty where d.query is that room.
void attend_to_own_back(const Rank& rank, const AttentionGradient& of, const View& query_sum,
                        const QueryKeyValue& d);
/// Adds to the queries' gradient and to `d_keys`, that of the other rank's keys.
void attend_to_other_back(const Rank& rank, const AttentionGradient& of, int other, const KeyValue& keys,
                          const View& d_query, const KeyValue& d_keys);

}  // namespace hexaplan::validator
