// The backward of every kernel against central finite differences of its forward, in float64, by every input.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "tests/validator/device/random_numbers.h"
#include "validator/executor/device/cpu/kernels/activation.h"
#include "validator/executor/device/cpu/kernels/attention.h"
#include "validator/executor/device/cpu/kernels/cross_entropy.h"
#include "validator/executor/device/cpu/kernels/elementwise.h"
#include "validator/executor/device/cpu/kernels/embedding.h"
#include "validator/executor/device/cpu/kernels/gemm.h"
#include "validator/executor/device/cpu/kernels/norm.h"
#include "validator/executor/device/cpu/kernels/rope.h"
#include "validator/executor/device/cpu/kernels/router.h"
#include "validator/executor/device/cpu/kernels/rows.h"

namespace hexaplan::validator {
namespace {

using kernels::Matrix;
using Numbers = std::vector<double>;

/// Cuts one vector of numbers into matrices, one after another.
struct Parts {
  double* next;
  Matrix<double> matrix(std::int64_t rows, std::int64_t cols) {
    Matrix<double> m{next, rows, cols, cols};
    next += rows * cols;
    return m;
  }
};

/// A differentiable kernel: all inputs in one vector, all outputs in another.
struct Kernel {
  std::string name;
  std::size_t inputs;
  std::function<Numbers(Numbers)> forward;
  /// Gradient of Σ d_out·forward(x) by x.
  std::function<Numbers(Numbers x, Numbers d_out)> backward;
};
void PrintTo(const Kernel& kernel, std::ostream* out) {
  *out << kernel.name;
}

/// Inputs: x, then the weight and the bias of one group.
Kernel norm(const std::string& name, const NormForm& form) {
  constexpr std::int64_t kTokens = 3, kCols = 6;
  constexpr auto kElements = static_cast<std::size_t>(kTokens * kCols);
  const std::int64_t width = kCols / form.groups(kCols), statistics = form.statistics(kCols);
  const auto run = [=](Numbers& x, Numbers& kept) {
    Numbers y(kElements);
    kept.resize(static_cast<std::size_t>(kTokens * statistics));
    const double* weight = x.data() + kElements;
    kernels::norm_forward<double>(form, {x.data(), kTokens, kCols, kCols}, weight, weight + width,
                                  {y.data(), kTokens, kCols, kCols},
                                  {kept.data(), kTokens, statistics, statistics});
    return y;
  };
  const auto forward = [=](Numbers x) {
    Numbers kept;
    return run(x, kept);
  };
  const auto backward = [=](Numbers x, Numbers dy) {
    Numbers kept, gradient(x.size());
    run(x, kept);
    // What stands there is added to, or replaced.
    std::fill_n(gradient.begin(), kElements, 7);
    double* d_weight = gradient.data() + kElements;
    kernels::norm_backward<double>(
        form, {dy.data(), kTokens, kCols, kCols}, {x.data(), kTokens, kCols, kCols}, x.data() + kElements,
        {kept.data(), kTokens, statistics, statistics}, {gradient.data(), kTokens, kCols, kCols});
    kernels::norm_weight_gradients<double>(
        form, {dy.data(), kTokens, kCols, kCols}, {x.data(), kTokens, kCols, kCols},
        {kept.data(), kTokens, statistics, statistics}, 0, width, d_weight, d_weight + width);
    for (std::size_t i = 0; form.accumulate && i < kElements; ++i) gradient[i] -= 7;
    return gradient;
  };
  return {name, kElements + static_cast<std::size_t>(2 * width), forward, backward};
}

Kernel rope(const std::string& name, bool interleaved, std::int64_t first) {
  static constexpr std::int32_t kPositions[] = {0, 7, 3};  // as a zig-zag cut may order them
  const auto turn = [=](int direction) {
    return [=](Numbers x) {
      // A head of six columns of which four turn, stretched.
      const Rotation rotation{.head_dim = 6,
                              .pairs = 2,
                              .first = first,
                              .interleaved = interleaved,
                              .magnitude = 1.2,
                              .frequencies = {1, 0.3}};
      kernels::rope<double>({x.data(), 3, 12, 12}, kPositions, rotation, direction);
      return x;
    };
  };
  return {name, 36, turn(1), [turn](const Numbers& /*x*/, Numbers dy) { return turn(-1)(std::move(dy)); }};
}

Kernel activation(const std::string& name, const ActivationForm& form) {
  constexpr std::int64_t kTokens = 5, kCols = 8;
  const std::int64_t cols = form.gated ? 2 * kCols : kCols;
  const auto forward = [=](Numbers x) {
    Numbers y(kTokens * kCols);
    kernels::activation_forward<double>(form, {x.data(), kTokens, cols, cols},
                                        {y.data(), kTokens, kCols, kCols});
    return y;
  };
  const auto backward = [=](Numbers x, Numbers dy) {
    const Matrix<double> in{x.data(), kTokens, cols, cols};
    kernels::activation_backward<double>(form, {dy.data(), kTokens, kCols, kCols}, in, in);
    return x;  // the gradient overwrites it
  };
  return {name, static_cast<std::size_t>(kTokens * cols), forward, backward};
}

/// An elementwise function of 3 × 4 numbers in place, and its gradient given the numbers before or after it.
Kernel in_place(const std::string& name, void (*function)(Matrix<double>), bool given_result,
                void (*gradient)(Matrix<double> x, Matrix<double> d)) {
  const auto forward = [=](Numbers x) {
    function({x.data(), 3, 4, 4});
    return x;
  };
  const auto backward = [=](Numbers x, Numbers d) {
    if (given_result) x = forward(std::move(x));
    gradient({x.data(), 3, 4, 4}, {d.data(), 3, 4, 4});
    return d;
  };
  return {name, 12, forward, backward};
}

Kernel soft_cap() {
  return in_place(
      "soft_cap", [](Matrix<double> x) { kernels::soft_cap<double>(x, 1.5); }, true,
      [](Matrix<double> y, Matrix<double> d) { kernels::soft_cap_backward<double>(y, 1.5, d); });
}
Kernel clip() {
  return in_place(
      "clip", [](Matrix<double> x) { kernels::clip<double>(x, 0.7); }, false,
      [](Matrix<double> x, Matrix<double> d) { kernels::clip_backward<double>(x, 0.7, d); });
}

/// Inputs: x, then the bias.
Kernel bias() {
  const auto forward = [](Numbers x) {
    kernels::add_bias<double>({x.data(), 3, 4, 4}, x.data() + 12);
    x.resize(12);
    return x;
  };
  const auto backward = [](const Numbers& /*x*/, Numbers d) {
    d.resize(16);
    kernels::column_sums<double>({d.data(), 3, 4, 4}, d.data() + 12);
    return d;
  };
  return {"bias", 16, forward, backward};
}

/// Inputs: x, then the gates.
Kernel gated_rows() {
  const auto forward = [](Numbers x) {
    kernels::gate_rows<double>(x.data() + 12, {x.data(), 3, 4, 4}, {x.data(), 3, 4, 4});
    x.resize(12);
    return x;
  };
  const auto backward = [](Numbers x, Numbers d) {
    d.resize(15);
    const Matrix<double> rows{d.data(), 3, 4, 4};
    kernels::gate_rows_backward<double>(rows, x.data() + 12, {x.data(), 3, 4, 4}, rows, d.data() + 12);
    return d;
  };
  return {"gated_rows", 15, forward, backward};
}

/// Inputs: both operands; of a function of one operand the second has a slope of zero.
std::vector<Kernel> element_functions() {
  using costmodel::program::Function;
  std::vector<Kernel> all;
  for (const auto& row : costmodel::program::kFunctions) {
    const Function f = row.id;
    const auto forward = [f](Numbers x) {
      Numbers y(12);
      kernels::pointwise<double>(f, {x.data(), 3, 4, 4}, {x.data() + 12, 3, 4, 4}, {y.data(), 3, 4, 4});
      return y;
    };
    const auto backward = [f](Numbers x, Numbers d) {
      const Matrix<double> a{x.data(), 3, 4, 4}, b{x.data() + 12, 3, 4, 4};
      kernels::pointwise_backward<double>(f, {d.data(), 3, 4, 4}, a, b, a, b);
      return x;
    };
    all.push_back({std::string{row.name}, 24, forward, backward});
  }
  return all;
}

/// Inputs: x, then the factors.
Kernel scaled_columns() {
  const auto forward = [](Numbers x) {
    kernels::scale_columns<double>({x.data(), 3, 4, 4}, x.data() + 12);
    x.resize(12);
    return x;
  };
  const auto backward = [](Numbers x, Numbers d) {
    d.resize(16);
    kernels::column_dots<double>({d.data(), 3, 4, 4}, {x.data(), 3, 4, 4}, d.data() + 12);
    kernels::scale_columns<double>({d.data(), 3, 4, 4}, x.data() + 12);
    return d;
  };
  return {"scaled_columns", 16, forward, backward};
}

Kernel repeated_rows() {
  const auto forward = [](Numbers x) {
    Numbers out(24);
    kernels::repeat_rows<double>({x.data(), 2, 4, 4}, {out.data(), 6, 4, 4});
    return out;
  };
  const auto backward = [](const Numbers& x, Numbers d) {
    Numbers gradient(x.size());
    kernels::add_repeated_rows<double>({d.data(), 6, 4, 4}, {gradient.data(), 2, 4, 4});
    return gradient;
  };
  return {"repeated_rows", 8, forward, backward};
}

View row_of(double* numbers, std::int64_t count) {
  // NOLINTNEXTLINE(*-reinterpret-cast): views are untyped
  return {reinterpret_cast<std::byte*>(numbers), Element::F64, 1, count, count};
}

/// A block of attention, its tensors packed, sinks behind them; outputs are o alone: the log-sum-exp is not
/// differentiated.
struct PackedAttention {
  AttentionBlock block;
  Matrix<double> q, k, v;
  double* sinks = nullptr;  // one per head, where the block has them
  PackedAttention(const AttentionBlock& b, bool with_sinks, double* at) : block{b} {
    Parts parts{at};
    q = parts.matrix(b.batch * b.seq_q, b.heads * b.head_dim);
    k = parts.matrix(b.batch * b.seq_kv, b.kv_heads * b.head_dim);
    v = parts.matrix(b.batch * b.seq_kv, b.kv_heads * b.v_head_dim);
    if (with_sinks) block.sinks = row_of(sinks = parts.next, b.heads);
  }
  static std::size_t size(const AttentionBlock& b, bool with_sinks) {
    const std::int64_t keys = b.seq_kv * b.kv_heads * (b.head_dim + b.v_head_dim);
    return static_cast<std::size_t>(b.batch * (b.seq_q * b.heads * b.head_dim + keys) +
                                    (with_sinks ? b.heads : 0));
  }
};

Kernel attention(const std::string& name, AttentionBlock block, bool with_sinks = false) {
  block.q_pitch = block.seq_q;
  block.kv_pitch = block.seq_kv;
  block.scale = 0.6;
  const std::int64_t rows = block.batch * block.seq_q, cols = block.heads * block.v_head_dim;
  const auto output = [=](PackedAttention& a, Numbers& lse) {
    Numbers o(static_cast<std::size_t>(rows * cols));
    lse.resize(static_cast<std::size_t>(rows * block.heads));
    kernels::attention_forward<double>(a.block, a.q, a.k, a.v, {o.data(), rows, cols, cols},
                                       {lse.data(), rows, block.heads, block.heads});
    return o;
  };
  const auto forward = [=](Numbers x) {
    PackedAttention a{block, with_sinks, x.data()};
    Numbers lse;
    return output(a, lse);
  };
  const auto backward = [=](Numbers x, Numbers d_o) {
    PackedAttention a{block, with_sinks, x.data()};
    Numbers lse, gradient(x.size());
    Numbers o = output(a, lse), delta(lse.size());
    PackedAttention d{block, with_sinks, gradient.data()};
    const Matrix<double> gradient_o{d_o.data(), rows, cols, cols};
    const Matrix<double> sums{lse.data(), rows, block.heads, block.heads},
        deltas{delta.data(), rows, block.heads, block.heads};
    kernels::attention_delta<double>({o.data(), rows, cols, cols}, gradient_o, deltas);
    kernels::attention_backward<double>(a.block, a.q, a.k, a.v, gradient_o, sums, deltas, d.q, d.k, d.v);
    if (with_sinks) kernels::sink_gradient<double>(a.sinks, sums, deltas, d.sinks);
    return gradient;
  };
  return {name, PackedAttention::size(block, with_sinks), forward, backward};
}

/// The softmax of stored scores, from which the products are differentiated.
Kernel stored_scores(const std::string& name, AttentionBlock block) {
  block.q_pitch = block.seq_q;
  block.scale = 0.6;
  const std::int64_t rows = block.batch * block.seq_q, cols = block.heads * block.seq_kv;
  const auto forward = [=](Numbers x) {
    Numbers capped(x.size());
    kernels::score_softmax<double>(block, {x.data(), rows, cols, cols}, {capped.data(), rows, cols, cols});
    return x;
  };
  const auto backward = [=](Numbers x, Numbers d_p) {
    Numbers capped(x.size()), gradient(x.size());
    const Matrix<double> p{x.data(), rows, cols, cols}, caps{capped.data(), rows, cols, cols};
    kernels::score_softmax<double>(block, p, caps);
    kernels::score_softmax_backward<double>(block, p, caps, {d_p.data(), rows, cols, cols},
                                            Matrix<double>{gradient.data(), rows, cols, cols});
    return gradient;
  };
  return {name, static_cast<std::size_t>(rows * cols), forward, backward};
}

Kernel embedding() {
  static constexpr std::int32_t kIds[] = {4, 9, 4, 6};  // 9 is another rank's
  const auto forward = [](Numbers table) {
    Numbers out(12);
    kernels::embedding_lookup<double>(kIds, {table.data(), 3, 3, 3}, 4, {out.data(), 4, 3, 3});
    return out;
  };
  const auto backward = [](const Numbers& table, Numbers d_out) {
    Numbers gradient(table.size());
    kernels::embedding_backward<double>(kIds, {d_out.data(), 4, 3, 3}, 4, {gradient.data(), 3, 3, 3});
    return gradient;
  };
  return {"embedding", 9, forward, backward};
}

Kernel cross_entropy() {
  static constexpr std::int32_t kTargets[] = {3, 0, 2};
  static constexpr std::int64_t kVocabulary = 5, kPadded = 7;
  struct Loss {
    double value = 0;
    Numbers gradient = Numbers(3 * kPadded);
  };
  const auto run = [](Numbers x) {
    const Matrix<double> logits{x.data(), 3, kPadded, kPadded};
    Numbers maxima(3), sums(6);
    Loss loss;
    kernels::row_max<double>(logits, kVocabulary, maxima.data());
    kernels::cross_entropy_sums<double>(logits, kVocabulary, maxima.data(), kTargets, 0,
                                        {sums.data(), 3, 2, 2});
    loss.value = kernels::cross_entropy_gradient<double>(logits, kVocabulary, maxima.data(),
                                                         {sums.data(), 3, 2, 2}, kTargets, 0, 1.0 / 3,
                                                         {loss.gradient.data(), 3, kPadded, kPadded});
    return loss;
  };
  return {"cross_entropy", 3 * kPadded, [run](Numbers x) { return Numbers{run(std::move(x)).value}; },
          [run](Numbers x, const Numbers& d_out) {
            Numbers gradient = run(std::move(x)).gradient;
            for (double& g : gradient) g *= d_out[0];
            return gradient;
          }};
}

/// Outputs: the chosen weights, then the mean score per expert times 1, 2, 3 …, as a balance loss has it.
Kernel router(const std::string& name, const RouterForm& form) {
  static constexpr std::int64_t kTokens = 4, kExperts = 6, kTop = 2;
  static constexpr double kCorrection[kExperts] = {0.1, -0.2, 0, 0.3, -0.1, 0.05};
  struct Routed {
    Numbers p = Numbers(kTokens * kExperts), weights = Numbers(kTokens * kTop);
    std::vector<std::int32_t> chosen = std::vector<std::int32_t>(kTokens * kTop);
  };
  const auto run = [=](Numbers& x) {
    Routed r;
    kernels::route<double>(form, {x.data(), kTokens, kExperts, kExperts}, kCorrection,
                           {r.p.data(), kTokens, kExperts, kExperts}, {r.chosen.data(), kTokens, kTop, kTop},
                           {r.weights.data(), kTokens, kTop, kTop});
    return r;
  };
  const auto forward = [=](Numbers x) {
    const Routed r = run(x);
    Numbers out(kTokens * kTop + 1);
    std::copy(r.weights.begin(), r.weights.end(), out.begin());
    for (std::size_t i = 0; i < r.p.size(); ++i) out.back() += static_cast<double>(i % kExperts + 1) * r.p[i];
    return out;
  };
  const auto backward = [=](Numbers x, Numbers d_out) {
    Routed r = run(x);
    Numbers gradient(x.size()), d_mean(kExperts);
    for (std::size_t e = 0; e < kExperts; ++e) d_mean[e] = static_cast<double>(e + 1) * d_out.back();
    kernels::route_backward<double>(
        form, {r.p.data(), kTokens, kExperts, kExperts}, {r.chosen.data(), kTokens, kTop, kTop},
        {r.weights.data(), kTokens, kTop, kTop}, {d_out.data(), kTokens, kTop, kTop}, d_mean.data(),
        {gradient.data(), kTokens, kExperts, kExperts});
    return gradient;
  };
  return {name, kTokens * kExperts, forward, backward};
}

/// y = (x·Wᵀ) with both gradients by the same kernel: dx = dy·W, dW = dyᵀ·x.
Kernel linear() {
  constexpr std::int64_t kTokens = 3, kIn = 4, kOut = 2;
  const auto forward = [](Numbers p) {
    Numbers y(kTokens * kOut);
    kernels::gemm<double>({p.data(), kTokens, kIn, kIn}, false, {p.data() + kTokens * kIn, kOut, kIn, kIn},
                          true, false, {y.data(), kTokens, kOut, kOut});
    return y;
  };
  const auto backward = [](Numbers p, Numbers dy) {
    Numbers gradient(p.size());
    const Matrix<double> d{dy.data(), kTokens, kOut, kOut};
    kernels::gemm<double>(d, false, {p.data() + kTokens * kIn, kOut, kIn, kIn}, false, false,
                          {gradient.data(), kTokens, kIn, kIn});
    kernels::gemm<double>(d, true, {p.data(), kTokens, kIn, kIn}, false, true,
                          {gradient.data() + kTokens * kIn, kOut, kIn, kIn});
    return gradient;
  };
  return {"linear", (kTokens + kOut) * kIn, forward, backward};
}

/// Tokens to the rows of their experts, one row dropped, and back with weights: scatter is gather's gradient.
Kernel permutation() {
  static constexpr std::int32_t kRows[] = {2, 0, -1, 2, 1};
  const auto forward = [](Numbers x) {
    Numbers out(15);
    kernels::gather_rows<double>({x.data(), 3, 3, 3}, kRows, {out.data(), 5, 3, 3});
    return out;
  };
  const auto backward = [](const Numbers& x, Numbers d_out) {
    Numbers gradient(x.size());
    kernels::scatter_rows<double>({d_out.data(), 5, 3, 3}, kRows, nullptr, {gradient.data(), 3, 3, 3});
    return gradient;
  };
  return {"permutation", 9, forward, backward};
}

/// out[rows[i]] += factors[i]·x[i]: gradients are gathered rows times the factor, and dots of rows.
Kernel weighted_scatter() {
  static constexpr std::int32_t kRows[] = {1, 0, 1};
  const auto forward = [](Numbers p) {
    Numbers out(8);
    kernels::scatter_rows<double>({p.data(), 3, 4, 4}, kRows, p.data() + 12, {out.data(), 2, 4, 4});
    return out;
  };
  const auto backward = [](Numbers p, Numbers d_out) {
    Numbers gradient(p.size());
    const Matrix<double> rows{gradient.data(), 3, 4, 4};
    kernels::gather_rows<double>({d_out.data(), 2, 4, 4}, kRows, rows);
    kernels::row_dots<double>(rows, {p.data(), 3, 4, 4}, gradient.data() + 12);
    kernels::scale_rows<double>(rows, p.data() + 12);
    return gradient;
  };
  return {"weighted_scatter", 15, forward, backward};
}

class gradients : public testing::TestWithParam<Kernel> {};

double weighted_sum(const Numbers& a, const Numbers& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

TEST_P(gradients, equal_central_differences_of_the_forward_for_every_input) {
  const Kernel& kernel = GetParam();
  const Numbers x = random_numbers(kernel.inputs, 3);
  const Numbers d_out = random_numbers(kernel.forward(x).size(), 4);
  const Numbers gradient = kernel.backward(x, d_out);
  ASSERT_EQ(gradient.size(), x.size());
  double largest = 0;
  for (const double g : gradient) largest = std::max(largest, std::abs(g));
  ASSERT_GT(largest, 0);
  constexpr double kStep = 1e-5;  // error h²/6·f''' + ε/h is near its least
  for (std::size_t i = 0; i < x.size(); ++i) {
    Numbers above = x, below = x;
    above[i] += kStep;
    below[i] -= kStep;
    const double slope =
        (weighted_sum(kernel.forward(above), d_out) - weighted_sum(kernel.forward(below), d_out)) /
        (2 * kStep);
    EXPECT_NEAR(gradient[i], slope, 1e-7 * std::max(largest, 1.0)) << "input " << i;
  }
}

const AttentionBlock kCausal{
    .batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 5, .seq_kv = 5, .head_dim = 3, .v_head_dim = 3};
AttentionBlock with(void (*change)(AttentionBlock&)) {
  AttentionBlock block = kCausal;
  change(block);
  return block;
}

std::vector<Kernel> norms() {
  constexpr auto kLayer = costmodel::NormKind::Layer;
  return {norm("rms_norm", {}), norm("rms_norm_centred_on_zero", {.zero_centered = true}),
          norm("rms_norm_of_heads", {.width = 3, .accumulate = false}), norm("layer_norm", {.kind = kLayer}),
          norm("layer_norm_of_heads", {.kind = kLayer, .width = 2, .accumulate = false})};
}

std::vector<Kernel> activations() {
  constexpr std::pair<ActivationKind, const char*> kKinds[] = {
      {ActivationKind::Silu, "silu"},          {ActivationKind::GeluExact, "gelu"},
      {ActivationKind::GeluTanh, "gelu_tanh"}, {ActivationKind::GeluQuick, "gelu_quick"},
      {ActivationKind::Relu, "relu"},          {ActivationKind::ReluSquared, "relu_squared"}};
  std::vector<Kernel> all;
  for (const auto& [kind, name] : kKinds) {
    for (const bool gated : {false, true})
      all.push_back(activation(std::string{name} + (gated ? "_gated" : ""), {.kind = kind, .gated = gated}));
  }
  // Some of both halves beyond it, on either side.
  all.push_back(activation("gelu_quick_clamped", {.kind = ActivationKind::GeluQuick, .clamp = 0.8}));
  return all;
}

std::vector<Kernel> attentions() {
  static double slopes[] = {0.5, 0.25, 0.125, 0.0625};
  return {attention("causal_attention", kCausal),
          attention("unmasked_attention", with([](AttentionBlock& b) {
                      b.causal = false;
                      b.seq_kv = 3;
                    })),
          attention("attention_with_longer_keys", with([](AttentionBlock& b) { b.seq_kv = 8; })),
          attention("attention_with_a_window", with([](AttentionBlock& b) { b.window = 2; })),
          attention("attention_of_one_key_head", with([](AttentionBlock& b) {
                      b.kv_heads = 1;
                      b.v_head_dim = 2;
                    })),
          attention("attention_over_several_tiles", with([](AttentionBlock& b) {
                      b.batch = 1;
                      b.heads = b.kv_heads = 1;
                      b.seq_q = b.seq_kv = 70;
                      b.head_dim = b.v_head_dim = 1;
                    })),
          attention("soft_capped_attention", with([](AttentionBlock& b) { b.softcap = 0.8; })),
          attention("attention_with_slopes", with([](AttentionBlock& b) { b.slopes = row_of(slopes, 4); })),
          attention("attention_with_sinks", kCausal, true),
          attention("attention_with_dropout", with([](AttentionBlock& b) {
                      b.dropout.dropped = 1U << 31;
                      b.dropout.factor = 2;
                      b.dropout.key = 3;
                    })),
          stored_scores("stored_scores", kCausal),
          stored_scores("stored_scores_in_a_window", with([](AttentionBlock& b) { b.window = 2; })),
          stored_scores("stored_scores_capped_with_slopes", with([](AttentionBlock& b) {
                          b.softcap = 0.8;
                          b.slopes = row_of(slopes, 4);
                        })),
          attention("attention_with_all_of_it", with([](AttentionBlock& b) {
                      b.window = 4;
                      b.distance = 1;
                      b.softcap = 0.8;
                      b.slopes = row_of(slopes, 4);
                    }),
                    true)};
}

std::vector<Kernel> routers() {
  const auto sigmoid = costmodel::RouterScore::Sigmoid;
  return {
      router("router", {}), router("router_renormalised", {.renormalise = true}),
      router("router_of_sigmoids", {.score = sigmoid, .renormalise = true, .epsilon = 1e-20, .factor = 2.5}),
      router("router_of_the_best_groups", {.factor = 16, .groups = 3, .top_groups = 1}),
      router("router_of_groups_by_their_two_best",
             {.score = sigmoid, .renormalise = true, .groups = 3, .top_groups = 2, .best_of_group = 2})};
}

std::vector<Kernel> all_kernels() {
  std::vector<Kernel> all{rope("rope", false, 0),
                          rope("rope_interleaved", true, 0),
                          rope("rope_at_the_end_of_a_head", false, 2),
                          rope("rope_interleaved_at_the_end_of_a_head", true, 2),
                          soft_cap(),
                          clip(),
                          bias(),
                          gated_rows(),
                          scaled_columns(),
                          repeated_rows(),
                          embedding(),
                          cross_entropy(),
                          linear(),
                          permutation(),
                          weighted_scatter()};
  for (const auto& some : {norms(), activations(), attentions(), routers(), element_functions()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

INSTANTIATE_TEST_SUITE_P(kernels, gradients, testing::ValuesIn(all_kernels()),
                         [](const testing::TestParamInfo<Kernel>& kernel) { return kernel.param.name; });

}  // namespace
}  // namespace hexaplan::validator
