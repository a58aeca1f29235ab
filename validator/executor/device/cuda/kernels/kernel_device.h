#pragma once
#include "validator/executor/device/cuda/kernels/kernels.h"
#include "validator/executor/device/device.h"

namespace hexaplan::validator::cuda {

/// A device whose operations are the kernels of kernels.h: on a GPU, or emulated. What remains for it to say
/// is memory, streams, products and core attention.
class KernelDevice : public Device {
 public:
  void fill(const View& to, double value) override { cuda::fill(compute(), to, value); }
  void reduce_parts(std::span<const View> parts, Reduction reduction, const View& to,
                    Stream stream) override {
    cuda::reduce_parts(queue(stream), parts, reduction, to);
  }
  void fill_noise(const View& to, std::uint64_t seed, double scale, Stream stream) override {
    cuda::fill_noise(queue(stream), to, seed, scale);
  }
  void norm(const NormForm& form, const View& x, const View& weight, const View& bias, const View& y,
            const View& statistics) override {
    cuda::norm(compute(), form, x, weight, bias, y, statistics);
  }
  void norm_backward(const NormForm& form, const View& dy, const View& x, const View& weight,
                     const View& statistics, const View& dx, const View& dweight,
                     const View& dbias) override {
    cuda::norm_backward(compute(), form, dy, x, weight, statistics, dx, dweight, dbias);
  }
  void rope(const View& x, const View& positions, const Rotation& rotation, bool inverse) override {
    cuda::rope(compute(), x, positions, rotation, inverse);
  }
  void attention_merge(const View& o, const View& lse, const View& piece_o, const View& piece_lse,
                       std::int64_t heads) override {
    cuda::attention_merge(compute(), o, lse, piece_o, piece_lse, heads);
  }
  void attention_delta(const View& d_o, const View& o, const View& delta) override {
    cuda::attention_delta(compute(), d_o, o, delta);
  }
  void sink_gradient(const View& sinks, const View& lse, const View& delta, const View& d_sinks) override {
    cuda::sink_gradient(compute(), sinks, lse, delta, d_sinks);
  }
  void score_softmax(const AttentionBlock& block, const View& scores, const View& capped) override {
    cuda::score_softmax(compute(), block, scores, capped);
  }
  void score_softmax_backward(const AttentionBlock& block, const View& p, const View& capped, const View& d_p,
                              const View& d_scores) override {
    cuda::score_softmax_backward(compute(), block, p, capped, d_p, d_scores);
  }
  void dropout(const DropoutForm& form, const View& x, const View& out, const View& mask) override {
    cuda::dropout(compute(), form, x, out, mask);
  }
  void dropout_backward(const DropoutForm& form, const View& d, const View& mask, const View& dx) override {
    cuda::dropout_backward(compute(), form, d, mask, dx);
  }
  void quantise(int bits, const View& x, const View& codes, const View& scales) override {
    cuda::quantise(compute(), bits, x, codes, scales);
  }
  void dequantise(int bits, const View& codes, const View& scales, const View& out,
                  bool accumulate) override {
    cuda::dequantise(compute(), bits, codes, scales, out, accumulate);
  }
  void dequantise_nf4(const Nf4Matrix& from, const View& out) override {
    cuda::dequantise_nf4(compute(), from, out);
  }
  void activation(const ActivationForm& form, const View& x, const View& act) override {
    cuda::activation(compute(), form, x, act);
  }
  void activation_backward(const ActivationForm& form, const View& d_act, const View& x,
                           const View& dx) override {
    cuda::activation_backward(compute(), form, d_act, x, dx);
  }
  void embedding_lookup(const View& ids, const View& table, std::int64_t first, const View& out) override {
    cuda::embedding_lookup(compute(), ids, table, first, out);
  }
  void embedding_backward(const View& ids, const View& d_out, std::int64_t first,
                          const View& d_table) override {
    cuda::embedding_backward(compute(), ids, d_out, first, d_table);
  }
  void row_max(const View& logits, std::int64_t valid, const View& maxima) override {
    cuda::row_max(compute(), logits, valid, maxima);
  }
  void cross_entropy_sums(const View& logits, std::int64_t valid, const View& maxima, const View& targets,
                          std::int64_t first, const View& sums) override {
    cuda::cross_entropy_sums(compute(), logits, valid, maxima, targets, first, sums);
  }
  void cross_entropy_gradient(const View& logits, std::int64_t valid, const View& maxima, const View& sums,
                              const View& targets, std::int64_t first, double factor, const View& d_logits,
                              const View& loss) override {
    cuda::cross_entropy_gradient(compute(), logits, valid, maxima, sums, targets, first, factor, d_logits,
                                 loss);
  }
  void add(const View& to, const View& other) override { cuda::add(compute(), to, other); }
  void scale(const View& x, double factor) override { cuda::scale(compute(), x, factor); }
  void add_bias(const View& x, const View& bias) override { cuda::add_bias(compute(), x, bias); }
  void soft_cap(const View& x, double cap) override { cuda::soft_cap(compute(), x, cap); }
  void soft_cap_backward(const View& y, double cap, const View& d) override {
    cuda::soft_cap_backward(compute(), y, cap, d);
  }
  void clip(const View& x, double limit) override { cuda::clip(compute(), x, limit); }
  void clip_backward(const View& x, double limit, const View& d) override {
    cuda::clip_backward(compute(), x, limit, d);
  }
  void squared_norm(const View& x, const View& sum) override { cuda::squared_norm(compute(), x, sum); }
  void route(const RouterForm& form, const View& logits, const View& correction, const View& scores,
             const View& chosen, const View& weights) override {
    cuda::route(compute(), form, logits, correction, scores, chosen, weights);
  }
  void route_backward(const RouterForm& form, const View& scores, const View& chosen, const View& weights,
                      const View& d_weights, const View& d_mean, const View& d_logits) override {
    cuda::route_backward(compute(), form, scores, chosen, weights, d_weights, d_mean, d_logits);
  }
  void gather_rows(const View& x, const View& rows, const View& out) override {
    cuda::gather_rows(compute(), x, rows, out);
  }
  void scatter_rows(const View& x, const View& rows, const View& factors, const View& out) override {
    cuda::scatter_rows(compute(), x, rows, factors, out);
  }
  void row_dots(const View& a, const View& b, const View& dots) override {
    cuda::row_dots(compute(), a, b, dots);
  }
  void column_sums(const View& x, const View& sums) override { cuda::column_sums(compute(), x, sums); }
  void scale_rows(const View& x, const View& factors) override { cuda::scale_rows(compute(), x, factors); }
  void scale_columns(const View& x, const View& factors) override {
    cuda::scale_columns(compute(), x, factors);
  }
  void column_dots(const View& a, const View& b, const View& sums) override {
    cuda::column_dots(compute(), a, b, sums);
  }
  void gate_rows(const View& gates, const View& x, const View& out) override {
    cuda::gate_rows(compute(), gates, x, out);
  }
  void gate_rows_backward(const View& d_out, const View& gates, const View& x, const View& dx,
                          const View& d_gates) override {
    cuda::gate_rows_backward(compute(), d_out, gates, x, dx, d_gates);
  }
  void pointwise(costmodel::program::Function f, const View& a, const View& b, const View& out) override {
    cuda::pointwise(compute(), f, a, b, out);
  }
  void pointwise_backward(costmodel::program::Function f, const View& d_out, const View& a, const View& b,
                          const View& da, const View& db) override {
    cuda::pointwise_backward(compute(), f, d_out, a, b, da, db);
  }
  void repeat_rows(const View& x, const View& out) override { cuda::repeat_rows(compute(), x, out); }
  void add_repeated_rows(const View& x, const View& out) override {
    cuda::add_repeated_rows(compute(), x, out);
  }
  void update(const OptimizerUpdate& update) override { cuda::update(compute(), update); }

 protected:
  /// Where kernels of a stream are put.
  [[nodiscard]] virtual const Queue& queue(Stream stream) const = 0;
  [[nodiscard]] const Queue& compute() const { return queue(Stream::Compute); }
};

}  // namespace hexaplan::validator::cuda
