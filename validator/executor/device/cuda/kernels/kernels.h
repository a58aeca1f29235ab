#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "validator/executor/device/rotation.h"
#include "validator/executor/device/view.h"

namespace hexaplan::costmodel::program {
enum class Function : std::uint8_t;
}  // namespace hexaplan::costmodel::program

namespace hexaplan::validator {

struct ActivationForm;
struct OptimizerUpdate;
struct AttentionBlock;
struct DropoutForm;
struct Gemm;
struct Nf4Matrix;
struct NormForm;
struct RouterForm;
enum class Reduction : std::uint8_t;

/// Everything that a `Device` computes, as CUDA kernels. One function per operation of the same name there,
/// which says what it computes and which shapes it takes; here stands only what is particular to a GPU.
///
/// Every view may be strided and of any element that is stored on a GPU (F32, Bf16, F16; ids I32; statistics
/// F32, others may be either), combined at will: numbers are converted as they are read, all arithmetic is
/// fp32, results are rounded once, to nearest even. Aligned rows move in packs of 16 bytes. E4m3 is known to
/// copy and fill_noise alone.
///
/// Functions put kernels on the queue and return; memory stays until they have run. Results do not depend on
/// the GPU or on the order in which threads run: sums are made in a fixed order, floating-point atomics are
/// not used. The same source compiles without the CUDA toolkit for the host emulation (emulation.h), which
/// runs before the function returns. Throws std::runtime_error with the kernel's name when a launch is
/// refused.
namespace cuda {

/// Memory that a queue brings for what passes between two kernels of one call.
inline constexpr std::size_t kScratchBytes = std::size_t{16} << 20;

/// Kernels of one queue run in order. `scratch` belongs to this queue alone: two streams have two.
struct Queue {
  void* stream = nullptr;        // a cudaStream_t
  std::byte* scratch = nullptr;  // kScratchBytes of device memory, aligned to 256 bytes
};

// --- memory ---
/// Between all elements; to integers towards zero.
void copy(const Queue& queue, const View& to, const View& from);
void fill(const Queue& queue, const View& to, double value);
/// At most 128 parts.
void reduce_parts(const Queue& queue, std::span<const View> parts, Reduction reduction, const View& to);
void fill_noise(const Queue& queue, const View& to, std::uint64_t seed, double scale);

// --- matrices: for what cuBLASLt does not take (mixed elements, odd alignment); fp32 without tensor cores
// ---
void gemm(const Queue& queue, const Gemm& g);
void grouped_gemm(const Queue& queue, const Gemm& g, std::span<const std::int64_t> offsets);

// --- norm ---
void norm(const Queue& queue, const NormForm& form, const View& x, const View& weight, const View& bias,
          const View& y, const View& statistics);
/// At most 40,000 columns of dweight and dbias together.
void norm_backward(const Queue& queue, const NormForm& form, const View& dy, const View& x,
                   const View& weight, const View& statistics, const View& dx, const View& dweight,
                   const View& dbias);

// --- attention ---
void rope(const Queue& queue, const View& x, const View& positions, const Rotation& rotation, bool inverse);
/// Tiled, fp32 without tensor cores: right for every mask and head_dim, v_head_dim ≤ kLargestHead, for where
/// cuDNN is missing or does not take the block.
inline constexpr std::int64_t kLargestHead = 256;
void attention_forward(const Queue& queue, const AttentionBlock& block, const View& q, const View& k,
                       const View& v, const View& o, const View& lse);
void attention_backward(const Queue& queue, const AttentionBlock& block, const View& q, const View& k,
                        const View& v, const View& d_o, const View& lse, const View& delta, const View& dq,
                        const View& dk, const View& dv);
void attention_merge(const Queue& queue, const View& o, const View& lse, const View& piece_o,
                     const View& piece_lse, std::int64_t heads);
void attention_delta(const Queue& queue, const View& d_o, const View& o, const View& delta);
void sink_gradient(const Queue& queue, const View& sinks, const View& lse, const View& delta,
                   const View& d_sinks);

void score_softmax(const Queue& queue, const AttentionBlock& block, const View& scores, const View& capped);
void score_softmax_backward(const Queue& queue, const AttentionBlock& block, const View& p,
                            const View& capped, const View& d_p, const View& d_scores);

// --- numbers in fewer bits ---
void quantise(const Queue& queue, int bits, const View& x, const View& codes, const View& scales);
void dequantise(const Queue& queue, int bits, const View& codes, const View& scales, const View& out,
                bool accumulate);
void dequantise_nf4(const Queue& queue, const Nf4Matrix& from, const View& out);

// --- dropout ---
void dropout(const Queue& queue, const DropoutForm& form, const View& x, const View& out, const View& mask);
void dropout_backward(const Queue& queue, const DropoutForm& form, const View& d, const View& mask,
                      const View& dx);

// --- MLP ---
void activation(const Queue& queue, const ActivationForm& form, const View& x, const View& act);
void activation_backward(const Queue& queue, const ActivationForm& form, const View& d_act, const View& x,
                         const View& dx);

// --- embedding and loss ---
void embedding_lookup(const Queue& queue, const View& ids, const View& table, std::int64_t first,
                      const View& out);
void embedding_backward(const Queue& queue, const View& ids, const View& d_out, std::int64_t first,
                        const View& d_table);
void row_max(const Queue& queue, const View& logits, std::int64_t valid, const View& maxima);
void cross_entropy_sums(const Queue& queue, const View& logits, std::int64_t valid, const View& maxima,
                        const View& targets, std::int64_t first, const View& sums);
void cross_entropy_gradient(const Queue& queue, const View& logits, std::int64_t valid, const View& maxima,
                            const View& sums, const View& targets, std::int64_t first, double factor,
                            const View& d_logits, const View& loss);

// --- elementwise ---
void add(const Queue& queue, const View& to, const View& other);
void scale(const Queue& queue, const View& x, double factor);
void add_bias(const Queue& queue, const View& x, const View& bias);
void soft_cap(const Queue& queue, const View& x, double cap);
void soft_cap_backward(const Queue& queue, const View& y, double cap, const View& d);
void clip(const Queue& queue, const View& x, double limit);
void clip_backward(const Queue& queue, const View& x, double limit, const View& d);
void pointwise(const Queue& queue, costmodel::program::Function f, const View& a, const View& b,
               const View& out);
void pointwise_backward(const Queue& queue, costmodel::program::Function f, const View& d_out, const View& a,
                        const View& b, const View& da, const View& db);
/// In two passes, summed in fp64.
void squared_norm(const Queue& queue, const View& x, const View& sum);

// --- mixture of experts ---
void route(const Queue& queue, const RouterForm& form, const View& logits, const View& correction,
           const View& scores, const View& chosen, const View& weights);
void route_backward(const Queue& queue, const RouterForm& form, const View& scores, const View& chosen,
                    const View& weights, const View& d_weights, const View& d_mean, const View& d_logits);
void gather_rows(const Queue& queue, const View& x, const View& rows, const View& out);
/// Rows that meet in one row of `out` are summed in fp32, in the order of `rows`.
void scatter_rows(const Queue& queue, const View& x, const View& rows, const View& factors, const View& out);
void row_dots(const Queue& queue, const View& a, const View& b, const View& dots);
void column_sums(const Queue& queue, const View& x, const View& sums);
void scale_rows(const Queue& queue, const View& x, const View& factors);
void scale_columns(const Queue& queue, const View& x, const View& factors);
void column_dots(const Queue& queue, const View& a, const View& b, const View& sums);
void gate_rows(const Queue& queue, const View& gates, const View& x, const View& out);
void gate_rows_backward(const Queue& queue, const View& d_out, const View& gates, const View& x,
                        const View& dx, const View& d_gates);
void repeat_rows(const Queue& queue, const View& x, const View& out);
void add_repeated_rows(const Queue& queue, const View& x, const View& out);

// --- optimizer ---
/// Any of the five may be F32, Bf16 or F16; the master may be the parameter itself.
void update(const Queue& queue, const OptimizerUpdate& update);

}  // namespace cuda
}  // namespace hexaplan::validator
