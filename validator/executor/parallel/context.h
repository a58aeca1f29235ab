#pragma once
#include <cstdint>
#include <vector>

#include "validator/executor/parallel/rank.h"

namespace hexaplan::validator {

// Context parallelism: a rank holds s/c positions of every sequence. Between the projections of attention its
// queries meet the keys of all positions, by a ring (arXiv:2310.01889), gathered keys and values
// (arXiv:2407.21783 §3.3.2), or heads against positions (arXiv:2309.14509). With c = 1 the rank attends to
// what it has.

/// Places in the sequence of this rank's local_sequence tokens, in the order in which it holds them. Ring and
/// gathered keys cut the sequence into 2c chunks of which rank r has the r-th and the r-th from the end, so
/// that a causal mask leaves every rank equally many pairs; all-to-all cuts into c.  [docs/formulas.md#C11]
[[nodiscard]] std::vector<std::int32_t> local_positions(const Rank& rank);

/// output = softmax(q·kᵀ/√d)·v over all keys that the mask of the running layer lets a query see, after RoPE.
/// Rows are the N tokens of a micro-batch, sequence after sequence; columns are the rank's heads.
/// log_sum_exp: N × heads.
void attend(const Rank& rank, const View& query, const View& key, const View& value, const View& output,
            const View& log_sum_exp);

/// Its gradients: d_query, d_key and d_value are overwritten. `delta`: what Device::attention_delta makes of
/// output and d_output.
void attend_backward(const Rank& rank, const View& query, const View& key, const View& value,
                     const View& d_output, const View& log_sum_exp, const View& delta, const View& d_query,
                     const View& d_key, const View& d_value);

}  // namespace hexaplan::validator
