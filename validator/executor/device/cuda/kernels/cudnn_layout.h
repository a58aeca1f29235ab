#pragma once
#include "validator/executor/device/cuda/kernels/kernels.h"

// What passes between the device's matrices and cuDNN's attention, which wants some of it in its own order.

namespace hexaplan::validator::cuda {

/// Statistics of a block's queries (log-sum-exps): rows × heads → batch × heads × seq_q, fp32, and back.
void pack_statistics(const Queue& queue, const AttentionBlock& block, const View& by_row, const View& packed);
void unpack_statistics(const Queue& queue, const AttentionBlock& block, const View& packed,
                       const View& by_row);

/// d_o·delta/Σ d_o² per row and head, packed: rows batch·seq_q, columns heads·v_head_dim. cuDNN makes delta
/// itself, as the sum of the products of d_o and the output, and only that sum goes into the gradients; this
/// matrix has the same sum, so that layers need not keep the output until then. Rounding to bf16 leaves a
/// relative error below 2⁻⁹ in delta, as rounding the output does.
void stand_in_output(const Queue& queue, const AttentionBlock& block, const View& d_o, const View& delta,
                     const View& out);

}  // namespace hexaplan::validator::cuda
