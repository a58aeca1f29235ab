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
#include "validator/executor/device/cpu/kernels/attention.h"
#include "validator/executor/device/cpu/kernels/cross_entropy.h"
#include "validator/executor/device/cpu/kernels/embedding.h"
#include "validator/executor/device/cpu/kernels/gemm.h"
#include "validator/executor/device/cpu/kernels/norm.h"
#include "validator/executor/device/cpu/kernels/rope.h"
#include "validator/executor/device/cpu/kernels/router.h"
#include "validator/executor/device/cpu/kernels/rows.h"
#include "validator/executor/device/cpu/kernels/swiglu.h"

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

Kernel rms_norm() {
  constexpr std::int64_t kTokens = 3, kHidden = 5;
  const auto forward = [](Numbers x) {
    Numbers y(kTokens * kHidden), rstd(kTokens);
    kernels::rms_norm_forward<double>({x.data(), kTokens, kHidden, kHidden}, x.data() + kTokens * kHidden,
                                      1e-5, {y.data(), kTokens, kHidden, kHidden}, rstd.data());
    return y;
  };
  const auto backward = [](Numbers x, Numbers dy) {
    Numbers y(kTokens * kHidden), rstd(kTokens), dx(x.size());
    const Matrix<double> in{x.data(), kTokens, kHidden, kHidden};
    const double* weight = x.data() + y.size();
    kernels::rms_norm_forward<double>(in, weight, 1e-5, {y.data(), kTokens, kHidden, kHidden}, rstd.data());
    kernels::rms_norm_backward<double>({dy.data(), kTokens, kHidden, kHidden}, in, weight, rstd.data(),
                                       {dx.data(), kTokens, kHidden, kHidden}, dx.data() + y.size());
    return dx;
  };
  return {"rms_norm", kTokens * kHidden + kHidden, forward, backward};
}

Kernel rope() {
  static constexpr std::int32_t kPositions[] = {0, 7, 3};  // as a zig-zag cut may order them
  const auto turn = [](int direction) {
    return [direction](Numbers x) {
      // A head of six columns of which four turn, stretched.
      const Rotation rotation{.head_dim = 6, .pairs = 2, .magnitude = 1.2, .frequencies = {1, 0.3}};
      kernels::rope<double>({x.data(), 3, 12, 12}, kPositions, rotation, direction);
      return x;
    };
  };
  return {"rope", 36, turn(1), [turn](const Numbers& /*x*/, Numbers dy) { return turn(-1)(std::move(dy)); }};
}

Kernel swiglu() {
  const auto forward = [](Numbers x) {
    Numbers y(8);
    kernels::swiglu_forward<double>({x.data(), 2, 4, 8}, {x.data() + 4, 2, 4, 8}, {y.data(), 2, 4, 4});
    return y;
  };
  const auto backward = [](Numbers x, Numbers dy) {
    kernels::swiglu_backward<double>({dy.data(), 2, 4, 4}, {x.data(), 2, 4, 8}, {x.data() + 4, 2, 4, 8},
                                     {x.data(), 2, 4, 8}, {x.data() + 4, 2, 4, 8});
    return x;  // gradients overwrite gate and up
  };
  return {"swiglu", 16, forward, backward};
}

/// A block of attention, its tensors packed; outputs are o alone: the log-sum-exp is not differentiated.
struct PackedAttention {
  AttentionBlock block;
  Matrix<double> q, k, v;
  PackedAttention(const AttentionBlock& b, double* at) : block{b} {
    Parts parts{at};
    q = parts.matrix(b.batch * b.seq_q, b.heads * b.head_dim);
    k = parts.matrix(b.batch * b.seq_kv, b.kv_heads * b.head_dim);
    v = parts.matrix(b.batch * b.seq_kv, b.kv_heads * b.v_head_dim);
  }
  static std::size_t size(const AttentionBlock& b) {
    return static_cast<std::size_t>(
        b.batch * (b.seq_q * b.heads * b.head_dim + b.seq_kv * b.kv_heads * (b.head_dim + b.v_head_dim)));
  }
};

Kernel attention(const std::string& name, AttentionBlock block) {
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
    PackedAttention a{block, x.data()};
    Numbers lse;
    return output(a, lse);
  };
  const auto backward = [=](Numbers x, Numbers d_o) {
    PackedAttention a{block, x.data()};
    Numbers lse, gradient(x.size());
    Numbers o = output(a, lse), delta(lse.size());
    PackedAttention d{block, gradient.data()};
    const Matrix<double> gradient_o{d_o.data(), rows, cols, cols};
    kernels::attention_delta<double>({o.data(), rows, cols, cols}, gradient_o,
                                     {delta.data(), rows, block.heads, block.heads});
    kernels::attention_backward<double>(block, a.q, a.k, a.v, gradient_o,
                                        {lse.data(), rows, block.heads, block.heads},
                                        {delta.data(), rows, block.heads, block.heads}, d.q, d.k, d.v);
    return gradient;
  };
  return {name, PackedAttention::size(block), forward, backward};
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

/// Outputs: the chosen weights, then the mean probability per expert times 1, 2, 3 …, as a balance loss has
/// it.
Kernel router(bool renormalise) {
  static constexpr std::int64_t kTokens = 4, kExperts = 5, kTop = 2;
  struct Routed {
    Numbers p = Numbers(kTokens * kExperts), weights = Numbers(kTokens * kTop);
    std::vector<std::int32_t> chosen = std::vector<std::int32_t>(kTokens * kTop);
  };
  const auto run = [=](Numbers& x) {
    Routed r;
    kernels::route<double>({x.data(), kTokens, kExperts, kExperts}, false, renormalise,
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
        {r.p.data(), kTokens, kExperts, kExperts}, {r.chosen.data(), kTokens, kTop, kTop},
        {r.weights.data(), kTokens, kTop, kTop}, renormalise, {d_out.data(), kTokens, kTop, kTop},
        d_mean.data(), {gradient.data(), kTokens, kExperts, kExperts});
    return gradient;
  };
  return {renormalise ? "router_renormalised" : "router", kTokens * kExperts, forward, backward};
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

INSTANTIATE_TEST_SUITE_P(
    kernels, gradients,
    testing::Values(rms_norm(), rope(), swiglu(), attention("causal_attention", kCausal),
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
                    embedding(), cross_entropy(), router(false), router(true), linear(), permutation(),
                    weighted_scatter()),
    [](const testing::TestParamInfo<Kernel>& kernel) { return kernel.param.name; });

}  // namespace
}  // namespace hexaplan::validator
