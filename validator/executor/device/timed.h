#pragma once
#include "validator/executor/device/device.h"

namespace hexaplan::validator {

/// A device whose every operation is timed under its ComputeKind: what Device does for matrix products and
/// attention, it does for the rest. Base is a complete device. Calls inside a timed call belong to that one.
template <class Base>
class Timed final : public Base {
 public:
  using Base::Base;

  void fill(const View& to, double value) override {
    this->timed(ComputeKind::Copy, [&] { Base::fill(to, value); });
  }
  void norm(const NormForm& form, const View& x, const View& weight, const View& bias, const View& y,
            const View& statistics) override {
    this->timed(ComputeKind::Norm, [&] { Base::norm(form, x, weight, bias, y, statistics); });
  }
  void norm_backward(const NormForm& form, const View& dy, const View& x, const View& weight,
                     const View& statistics, const View& dx, const View& dweight,
                     const View& dbias) override {
    this->timed(ComputeKind::Norm,
                [&] { Base::norm_backward(form, dy, x, weight, statistics, dx, dweight, dbias); });
  }
  void rope(const View& x, const View& positions, const Rotation& rotation, bool inverse) override {
    this->timed(ComputeKind::Rope, [&] { Base::rope(x, positions, rotation, inverse); });
  }
  void attention_merge(const View& o, const View& lse, const View& piece_o, const View& piece_lse,
                       std::int64_t heads) override {
    this->timed(ComputeKind::Attention, [&] { Base::attention_merge(o, lse, piece_o, piece_lse, heads); });
  }
  void attention_delta(const View& d_o, const View& o, const View& delta) override {
    this->timed(ComputeKind::Attention, [&] { Base::attention_delta(d_o, o, delta); });
  }
  void sink_gradient(const View& sinks, const View& lse, const View& delta, const View& d_sinks) override {
    this->timed(ComputeKind::Attention, [&] { Base::sink_gradient(sinks, lse, delta, d_sinks); });
  }
  void score_softmax(const AttentionBlock& block, const View& scores, const View& capped) override {
    this->timed(ComputeKind::Attention, [&] { Base::score_softmax(block, scores, capped); });
  }
  void score_softmax_backward(const AttentionBlock& block, const View& p, const View& capped, const View& d_p,
                              const View& d_scores) override {
    this->timed(ComputeKind::Attention,
                [&] { Base::score_softmax_backward(block, p, capped, d_p, d_scores); });
  }
  void dropout(const DropoutForm& form, const View& x, const View& out, const View& mask) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::dropout(form, x, out, mask); });
  }
  void dropout_backward(const DropoutForm& form, const View& d, const View& mask, const View& dx) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::dropout_backward(form, d, mask, dx); });
  }
  void quantise(int bits, const View& x, const View& codes, const View& scales) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::quantise(bits, x, codes, scales); });
  }
  void dequantise(int bits, const View& codes, const View& scales, const View& out,
                  bool accumulate) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::dequantise(bits, codes, scales, out, accumulate); });
  }
  void dequantise_nf4(const Nf4Matrix& from, const View& out) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::dequantise_nf4(from, out); });
  }
  void activation(const ActivationForm& form, const View& x, const View& act) override {
    this->timed(ComputeKind::Activation, [&] { Base::activation(form, x, act); });
  }
  void activation_backward(const ActivationForm& form, const View& d_act, const View& x,
                           const View& dx) override {
    this->timed(ComputeKind::Activation, [&] { Base::activation_backward(form, d_act, x, dx); });
  }
  void embedding_lookup(const View& ids, const View& table, std::int64_t first, const View& out) override {
    this->timed(ComputeKind::Embedding, [&] { Base::embedding_lookup(ids, table, first, out); });
  }
  void embedding_backward(const View& ids, const View& d_out, std::int64_t first,
                          const View& d_table) override {
    this->timed(ComputeKind::Embedding, [&] { Base::embedding_backward(ids, d_out, first, d_table); });
  }
  void row_max(const View& logits, std::int64_t valid, const View& maxima) override {
    this->timed(ComputeKind::Loss, [&] { Base::row_max(logits, valid, maxima); });
  }
  void cross_entropy_sums(const View& logits, std::int64_t valid, const View& maxima, const View& targets,
                          std::int64_t first, const View& sums) override {
    this->timed(ComputeKind::Loss,
                [&] { Base::cross_entropy_sums(logits, valid, maxima, targets, first, sums); });
  }
  void cross_entropy_gradient(const View& logits, std::int64_t valid, const View& maxima, const View& sums,
                              const View& targets, std::int64_t first, double factor, const View& d_logits,
                              const View& loss) override {
    this->timed(ComputeKind::Loss, [&] {
      Base::cross_entropy_gradient(logits, valid, maxima, sums, targets, first, factor, d_logits, loss);
    });
  }
  void add(const View& to, const View& other) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::add(to, other); });
  }
  void scale(const View& x, double factor) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::scale(x, factor); });
  }
  void add_bias(const View& x, const View& bias) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::add_bias(x, bias); });
  }
  void soft_cap(const View& x, double cap) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::soft_cap(x, cap); });
  }
  void soft_cap_backward(const View& y, double cap, const View& d) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::soft_cap_backward(y, cap, d); });
  }
  void clip(const View& x, double limit) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::clip(x, limit); });
  }
  void clip_backward(const View& x, double limit, const View& d) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::clip_backward(x, limit, d); });
  }
  void squared_norm(const View& x, const View& sum) override {
    this->timed(ComputeKind::GradientNorm, [&] { Base::squared_norm(x, sum); });
  }
  void route(const RouterForm& form, const View& logits, const View& correction, const View& scores,
             const View& chosen, const View& weights) override {
    this->timed(ComputeKind::Routing,
                [&] { Base::route(form, logits, correction, scores, chosen, weights); });
  }
  void route_backward(const RouterForm& form, const View& scores, const View& chosen, const View& weights,
                      const View& d_weights, const View& d_mean, const View& d_logits) override {
    this->timed(ComputeKind::Routing,
                [&] { Base::route_backward(form, scores, chosen, weights, d_weights, d_mean, d_logits); });
  }
  void gather_rows(const View& x, const View& rows, const View& out) override {
    this->timed(ComputeKind::Routing, [&] { Base::gather_rows(x, rows, out); });
  }
  void scatter_rows(const View& x, const View& rows, const View& factors, const View& out) override {
    this->timed(ComputeKind::Routing, [&] { Base::scatter_rows(x, rows, factors, out); });
  }
  void row_dots(const View& a, const View& b, const View& dots) override {
    this->timed(ComputeKind::Routing, [&] { Base::row_dots(a, b, dots); });
  }
  void column_sums(const View& x, const View& sums) override {
    this->timed(ComputeKind::Routing, [&] { Base::column_sums(x, sums); });
  }
  void scale_rows(const View& x, const View& factors) override {
    this->timed(ComputeKind::Routing, [&] { Base::scale_rows(x, factors); });
  }
  void scale_columns(const View& x, const View& factors) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::scale_columns(x, factors); });
  }
  void column_dots(const View& a, const View& b, const View& sums) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::column_dots(a, b, sums); });
  }
  void gate_rows(const View& gates, const View& x, const View& out) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::gate_rows(gates, x, out); });
  }
  void gate_rows_backward(const View& d_out, const View& gates, const View& x, const View& dx,
                          const View& d_gates) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::gate_rows_backward(d_out, gates, x, dx, d_gates); });
  }
  void pointwise(costmodel::program::Function f, const View& a, const View& b, const View& out) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::pointwise(f, a, b, out); });
  }
  void pointwise_backward(costmodel::program::Function f, const View& d_out, const View& a, const View& b,
                          const View& da, const View& db) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::pointwise_backward(f, d_out, a, b, da, db); });
  }
  void repeat_rows(const View& x, const View& out) override {
    this->timed(ComputeKind::Copy, [&] { Base::repeat_rows(x, out); });
  }
  void add_repeated_rows(const View& x, const View& out) override {
    this->timed(ComputeKind::Elementwise, [&] { Base::add_repeated_rows(x, out); });
  }
  void update(const OptimizerUpdate& update) override {
    this->timed(ComputeKind::Optimizer, [&] { Base::update(update); });
  }

 protected:
  void run_copy(const View& to, const View& from, Stream stream) override {
    if (stream != Stream::Compute) return Base::run_copy(to, from, stream);
    this->timed(ComputeKind::Copy, [&] { Base::run_copy(to, from, stream); });
  }
};

}  // namespace hexaplan::validator
