#pragma once
#include <cstdint>
#include <vector>

#include "validator/parallel/rank.h"

namespace hexaplan::validator {

// Context parallelism: every rank holds a part of each sequence; queries attend to keys of all ranks.

/// Places in the sequence of this rank's local_sequence tokens, in the order in which it holds them.
[[nodiscard]] std::vector<std::int32_t> local_positions(const Rank& rank);

/// Core attention of this rank's queries over the whole sequence. q: N × heads·d, k and v: N × kv_heads·d, o
/// like q, log_sum_exp: N × heads.
void attend(const Rank& rank, const View& q, const View& k, const View& v, const View& o,
            const View& log_sum_exp);
/// Its gradients: dq, dk, dv are overwritten; dq has the type of q.
void attend_backward(const Rank& rank, const View& q, const View& k, const View& v, const View& d_o,
                     const View& log_sum_exp, const View& delta, const View& dq, const View& dk,
                     const View& dv);

}  // namespace hexaplan::validator
