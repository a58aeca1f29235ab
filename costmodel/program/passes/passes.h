#pragma once
#include "costmodel/program/ops.h"
#include "costmodel/program/techniques.h"

namespace hexaplan::costmodel::program {

// Every pass takes a valid program and returns a valid one; compile.cpp has their order and says why.

/// Inputs of column-cut matrices enter the tensor-parallel region, partial sums of row-cut ones are added;
/// the loss is reduced over ranks that share the vocabulary (arXiv:1909.08053 §3).
[[nodiscard]] Program cut_over_tensor_ranks(Program program, const Techniques& techniques);
/// Between tensor-parallel regions ranks share the sequence: entering gathers it, leaving scatters the sum
/// (arXiv:2205.05198 §4.2.2).
[[nodiscard]] Program share_sequence(Program program, const Techniques& techniques);
/// Attention to keys and values of other ranks: around a ring (arXiv:2310.01889), gathered, or heads
/// against sequence (arXiv:2309.14509).
[[nodiscard]] Program attend_over_context_ranks(Program program, const Techniques& techniques);
/// Copies of tokens move to the ranks of their experts and back.
[[nodiscard]] Program exchange_token_copies(Program program, const Techniques& techniques);
/// Attention keeps its scores, and what dropout made of them, instead of statistics (arXiv:2205.05198 §4.1).
[[nodiscard]] Program store_scores(Program program, const Techniques& techniques);
/// Dropout before every sum with the residual stream, which keeps its mask (arXiv:2205.05198 §4.1).
[[nodiscard]] Program drop_out(Program program, const Techniques& techniques);
/// Operators cast to 16 bits one by one; what is added up between them stays fp32 (torch.autocast).
[[nodiscard]] Program cast_automatically(Program program, const Techniques& techniques);
/// Two narrow products beside every matrix that has an adapter, added to what it makes (arXiv:2106.09685
/// §4.1); or scales of keys, values and the MLP's activations (arXiv:2205.05638 §3.3).
[[nodiscard]] Program add_adapters(Program program, const Techniques& techniques);
/// Appends the backward pass: one rule per kind, in reverse. What a layer keeps is whatever it reads.
[[nodiscard]] Program differentiate(Program program, const Techniques& techniques);
/// Frozen weights have no gradients, and what only these read is not kept (arXiv:2106.09685 §4.1).
[[nodiscard]] Program freeze_weights(Program program, const Techniques& techniques);
/// What the framework's own autograd function makes again in its backward is not kept (MambaInnerFn of
/// state-spaces/mamba), whatever is recomputed beside it.
[[nodiscard]] Program make_again(Program program, const Techniques& techniques);
/// A weight gradient is the last reader of its input and runs behind the collective that the gradient of its
/// layer's input waits for, which hides behind it.
[[nodiscard]] Program delay_weight_gradients(Program program, const Techniques& techniques);
/// Logits, loss and both gradients of the output layer are made chunk by chunk of tokens, so that the logits
/// of one chunk are there at a time (linkedin/Liger-Kernel, fused linear cross entropy).
[[nodiscard]] Program chunk_loss(Program program, const Techniques& techniques);
/// A gathered input is gathered once more for the weight gradient instead of being kept.
[[nodiscard]] Program gather_inputs_again(Program program, const Techniques& techniques);
/// Matrices of layers, but not the router, read their operands in 8 or 4 bits: inputs are cast before each,
/// gradients of their results in backward.
[[nodiscard]] Program quantise_matrices(Program program, const Techniques& techniques);
/// Values are kept in the numbers and types of the framework: further copies, others instead of what backward
/// reads, keys repeated for all heads, what adapters keep beside the matrices.  [docs/formulas.md#M2]
[[nodiscard]] Program keep_values(Program program, const Techniques& techniques);
/// Weight gradients of quantised matrices read a cast that backward makes, where the original of their input
/// is kept or made again in any case (FrameworkProfile::keeps_original_inputs).
[[nodiscard]] Program keep_originals(Program program, const Techniques& techniques);
/// What tensor-parallel ranks gather arrives in a buffer that stays (FrameworkProfile::sp_gather_buffers).
[[nodiscard]] Program share_gather_buffers(Program program, const Techniques& techniques);
/// A weight gradient is a buffer of its own before it is added to the accumulated one.  [docs/formulas.md#M4]
[[nodiscard]] Program buffer_weight_gradients(Program program, const Techniques& techniques);
/// Forward values are made again in backward instead of being kept.
[[nodiscard]] Program recompute(Program program, const Techniques& techniques);
/// Matrices that are kept in 4 bits are written out before every product that reads them, in forward and
/// again in backward (arXiv:2305.14314 equation 5; bitsandbytes autograd/_functions.py MatMul4Bit).
[[nodiscard]] Program dequantise_weights(Program program, const Techniques& techniques);
/// Weight gradients become a phase of their own (arXiv:2401.10241).
[[nodiscard]] Program split_backward(Program program, const Techniques& techniques);

}  // namespace hexaplan::costmodel::program
