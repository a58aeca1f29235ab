// Forward of the kernels against definitions written out, and what the parallel algorithms rely on.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/validator/device/random_numbers.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/device/cpu/kernels/adamw.h"
#include "validator/executor/device/cpu/kernels/attention.h"
#include "validator/executor/device/cpu/kernels/cross_entropy.h"
#include "validator/executor/device/cpu/kernels/router.h"

namespace hexaplan::validator {
namespace {

using kernels::Matrix;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void expect_near(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-13) << "element " << i;
}

/// Keys and queries of one sequence with positions of their own.
struct Attention {
  static constexpr std::int64_t kHeads = 2, kDim = 3;
  std::vector<double> o, lse;
};

/// softmax(q·kᵀ/2)·v by definition: query i sees keys whose position is not larger, and larger than its own
/// minus the window.
Attention defined_attention(const std::vector<double>& q, const std::vector<double>& k,
                            const std::vector<double>& v, std::int64_t first_query, std::int64_t window) {
  constexpr std::int64_t kWidth = Attention::kHeads * Attention::kDim;
  const auto queries = static_cast<std::int64_t>(q.size()) / kWidth;
  const auto keys = static_cast<std::int64_t>(k.size()) / Attention::kDim;
  Attention out{.o = std::vector<double>(q.size()), .lse = {}};
  for (std::int64_t i = 0; i < queries; ++i) {
    for (std::int64_t h = 0; h < Attention::kHeads; ++h) {
      double sum = 0;
      const auto weight = [&](std::int64_t j) {
        const std::int64_t behind = first_query + i - j;
        if (behind < 0 || (window > 0 && behind >= window)) return 0.0;
        double dot = 0;
        for (std::int64_t c = 0; c < Attention::kDim; ++c) {
          dot += q[static_cast<std::size_t>(i * kWidth + h * Attention::kDim + c)] *
                 k[static_cast<std::size_t>(j * Attention::kDim + c)];
        }
        return std::exp(dot / 2);
      };
      for (std::int64_t j = 0; j < keys; ++j) sum += weight(j);
      for (std::int64_t j = 0; j < keys; ++j) {
        for (std::int64_t c = 0; c < Attention::kDim; ++c) {
          out.o[static_cast<std::size_t>(i * kWidth + h * Attention::kDim + c)] +=
              weight(j) / sum * v[static_cast<std::size_t>(j * Attention::kDim + c)];
        }
      }
      out.lse.push_back(std::log(sum));
    }
  }
  return out;
}

Attention run_attention(AttentionBlock block, std::vector<double>& q, std::vector<double>& k,
                        std::vector<double>& v) {
  constexpr std::int64_t kWidth = Attention::kHeads * Attention::kDim;
  block.heads = Attention::kHeads;
  block.head_dim = block.v_head_dim = Attention::kDim;
  block.q_pitch = block.seq_q = static_cast<std::int64_t>(q.size()) / kWidth;
  block.kv_pitch = block.seq_kv = static_cast<std::int64_t>(k.size()) / Attention::kDim;
  block.scale = 0.5;
  Attention out{.o = std::vector<double>(q.size()),
                .lse = std::vector<double>(static_cast<std::size_t>(block.seq_q * block.heads))};
  kernels::attention_forward<double>(block, {q.data(), block.seq_q, kWidth, kWidth},
                                     {k.data(), block.seq_kv, Attention::kDim, Attention::kDim},
                                     {v.data(), block.seq_kv, Attention::kDim, Attention::kDim},
                                     {out.o.data(), block.seq_q, kWidth, kWidth},
                                     {out.lse.data(), block.seq_q, block.heads, block.heads});
  return out;
}

TEST(attention, equals_its_definition_causal_windowed_and_with_the_last_query_at_the_last_key) {
  for (const std::int64_t queries : {4, 90}) {
    for (const std::int64_t window : {0, 1, 3}) {
      const std::int64_t earlier = 5;
      auto q = random_numbers(static_cast<std::size_t>(queries * 6), 1);
      auto k = random_numbers(static_cast<std::size_t>((queries + earlier) * 3), 2);
      auto v = random_numbers(k.size(), 3);
      const Attention defined = defined_attention(q, k, v, earlier, window);
      const Attention run = run_attention({.window = window, .causal = true}, q, k, v);
      expect_near(run.o, defined.o);
      expect_near(run.lse, defined.lse);
    }
  }
}

TEST(attention, two_merged_blocks_of_keys_equal_all_keys_at_once_in_either_order) {
  auto q = random_numbers(4 * 6, 1), k = random_numbers(7 * 3, 2), v = random_numbers(7 * 3, 3);
  const Attention whole = run_attention({.causal = false}, q, k, v);
  std::vector<double> k1(k.begin(), k.begin() + 9), k2(k.begin() + 9, k.end());
  std::vector<double> v1(v.begin(), v.begin() + 9), v2(v.begin() + 9, v.end());
  for (const bool swapped : {false, true}) {
    Attention first = run_attention({.causal = false}, q, swapped ? k2 : k1, swapped ? v2 : v1);
    Attention other = run_attention({.causal = false}, q, swapped ? k1 : k2, swapped ? v1 : v2);
    kernels::attention_merge<double>({first.o.data(), 4, 6, 6}, {first.lse.data(), 4, 2, 2},
                                     {other.o.data(), 4, 6, 6}, {other.lse.data(), 4, 2, 2});
    expect_near(first.o, whole.o);
    expect_near(first.lse, whole.lse);
  }
}

TEST(attention, a_query_without_keys_gives_nothing_and_merging_nothing_changes_nothing) {
  auto q = random_numbers(3 * 6, 1), k = random_numbers(2 * 3, 2), v = random_numbers(2 * 3, 3);
  Attention run =
      run_attention({.causal = true}, q, k, v);  // the first of three queries sees none of two keys
  EXPECT_EQ(run.lse[0], -kInfinity);
  EXPECT_EQ(run.o[0], 0);
  EXPECT_GT(run.lse[2], -kInfinity);
  const Attention before = run;
  Attention nothing{.o = std::vector<double>(18), .lse = std::vector<double>(6, -kInfinity)};
  kernels::attention_merge<double>({run.o.data(), 3, 6, 6}, {run.lse.data(), 3, 2, 2},
                                   {nothing.o.data(), 3, 6, 6}, {nothing.lse.data(), 3, 2, 2});
  EXPECT_EQ(run.o, before.o);
  EXPECT_EQ(run.lse, before.lse);
  kernels::attention_merge<double>({nothing.o.data(), 3, 6, 6}, {nothing.lse.data(), 3, 2, 2},
                                   {run.o.data(), 3, 6, 6}, {run.lse.data(), 3, 2, 2});
  expect_near({nothing.o.begin() + 6, nothing.o.end()}, {before.o.begin() + 6, before.o.end()});
}

TEST(cross_entropy, over_a_cut_vocabulary_equals_the_whole_one) {
  auto logits = random_numbers(2 * 6, 5);
  const std::int32_t targets[] = {4, 1};
  std::vector<double> maxima(2), sums(4);
  double loss = 0;
  for (std::size_t t = 0; t < 2; ++t) {
    double sum = 0;
    for (std::size_t c = 0; c < 6; ++c) sum += std::exp(logits[t * 6 + c]);
    loss += std::log(sum) - logits[t * 6 + static_cast<std::size_t>(targets[t])];
  }
  // Two ranks of three columns; the second has a padding column behind its own.
  std::vector<double> first_maxima(2), second_maxima(2), first(4), second(4);
  const Matrix<double> left{logits.data(), 2, 3, 6}, right{logits.data() + 3, 2, 3, 6};
  kernels::row_max<double>(left, 3, first_maxima.data());
  kernels::row_max<double>(right, 3, second_maxima.data());
  for (std::size_t t = 0; t < 2; ++t) maxima[t] = std::max(first_maxima[t], second_maxima[t]);
  kernels::cross_entropy_sums<double>(left, 3, maxima.data(), targets, 0, {first.data(), 2, 2, 2});
  kernels::cross_entropy_sums<double>(right, 3, maxima.data(), targets, 3, {second.data(), 2, 2, 2});
  for (std::size_t i = 0; i < 4; ++i) sums[i] = first[i] + second[i];
  std::vector<double> gradient(2 * 4);
  EXPECT_NEAR(kernels::cross_entropy_gradient<double>(right, 2, maxima.data(), {sums.data(), 2, 2, 2},
                                                      targets, 3, 1, {gradient.data(), 2, 3, 4}),
              loss, 1e-13);
  EXPECT_EQ(gradient[2], 0) << "padding has no gradient";
  EXPECT_NEAR(gradient[1], std::exp(logits[4] - maxima[0]) / sums[0] - 1, 1e-13);
  std::vector<double> none(2);
  kernels::row_max<double>(right, 0, none.data());
  EXPECT_EQ(none[0], -kInfinity) << "a rank may hold nothing but padding";
}

TEST(router, chooses_the_most_probable_experts_and_the_smaller_number_among_equals) {
  std::vector<double> logits = {0, 1, 1, -2}, p(4), weights(2);
  std::vector<std::int32_t> chosen(2);
  const double sum = 1 + 2 * std::exp(1.0) + std::exp(-2.0);
  kernels::route<double>({logits.data(), 1, 4, 4}, false, false, {p.data(), 1, 4, 4},
                         {chosen.data(), 1, 2, 2}, {weights.data(), 1, 2, 2});
  EXPECT_EQ(chosen, (std::vector<std::int32_t>{1, 2}));
  EXPECT_NEAR(weights[0], std::exp(1.0) / sum, 1e-15);
  kernels::route<double>({logits.data(), 1, 4, 4}, false, true, {p.data(), 1, 4, 4}, {chosen.data(), 1, 2, 2},
                         {weights.data(), 1, 2, 2});
  EXPECT_NEAR(weights[0], 0.5, 1e-15);
}

TEST(adamw, first_step_moves_by_the_learning_rate_against_the_sign_and_decays_apart) {
  // m̂ = g and v̂ = g² after one step, whatever β: arXiv:1412.6980 §3.
  std::vector<double> w = {2, -3}, m(2), v(2);
  const std::vector<double> g = {0.5, -4};
  kernels::adamw<double>({.learning_rate = 0.1, .epsilon = 0, .weight_decay = 0.25, .gradient_factor = 0.5},
                         g.data(), 2, m.data(), v.data(), w.data());
  EXPECT_NEAR(w[0], 2 - 0.1 * (1 + 0.25 * 2), 1e-15);
  EXPECT_NEAR(w[1], -3 - 0.1 * (-1 + 0.25 * -3), 1e-15);
  EXPECT_NEAR(m[0], 0.1 * 0.25, 1e-15);
  EXPECT_NEAR(v[1], 0.05 * 4, 1e-15);
}

constexpr TensorLabel kLabel{.name = "test", .dtype = costmodel::DType::Bf16};

TEST(cpu_device, counts_two_bytes_where_the_ledger_names_bf16_and_computes_in_float64) {
  const auto device = make_cpu_device(Element::F64);
  const Tensor x = device->allocate(kLabel, 2, 3);
  EXPECT_EQ(device->memory().live_bytes(), 12);
  EXPECT_EQ(x.view().bytes(), 48U);
  EXPECT_TRUE(std::isnan(*x.view().as<double>())) << "what nobody wrote must not pass as a number";
}

TEST(cpu_device, a_grouped_gemm_multiplies_every_group_of_tokens_by_a_matrix_of_its_own) {
  for (const Element element : {Element::F64, Element::F32}) {
    const auto device = make_cpu_device(element);
    const auto make = [&](std::int64_t rows, std::int64_t cols, const std::vector<double>& values) {
      Tensor t = device->allocate(kLabel, rows, cols);
      device->upload(t.view(), values);
      return t;
    };
    const Tensor tokens = make(3, 2, {1, 2, 3, 4, 5, 6});
    const Tensor weights =
        make(3, 2, {1, 0, 10, 100, 0, 1});  // three experts of one row; the middle has no token
    const Tensor out = make(3, 1, {0, 0, 0});
    const std::int64_t offsets[] = {0, 1, 1, 3};
    device->grouped_gemm({.operation = "test"}, {.a = tokens, .b = weights, .c = out, .transpose_b = true},
                         offsets);
    std::vector<double> y(3);
    device->download(y, out);
    EXPECT_EQ(y, (std::vector<double>{1, 4, 6}));
    const Tensor gradient = make(3, 2, {7, 7, 7, 7, 7, 7});
    device->grouped_gemm({.operation = "test"},
                         {.a = out, .b = tokens, .c = gradient, .transpose_a = true, .accumulate = true},
                         offsets);
    std::vector<double> dw(6);
    device->download(dw, gradient);
    EXPECT_EQ(dw, (std::vector<double>{8, 9, 7, 7, 7 + 4 * 3 + 6 * 5, 7 + 4 * 4 + 6 * 6}));
    EXPECT_EQ(device->issued_flops().begin()->second, 2 * (2.0 * 3 * 2));
  }
}

/// Three parts of 1 × 4 on a device of `element`.
std::vector<double> reduced(Element element, Reduction reduction, bool into_first_part) {
  const auto device = make_cpu_device(element);
  std::vector<Tensor> parts;
  std::vector<View> views;
  for (const double base : {1.0, 10.0, -100.0}) {
    const Tensor& part = parts.emplace_back(device->allocate({"part"}, 1, 4));
    device->upload(part, std::vector<double>{base, 2 * base, 3 * base, -base});
    views.push_back(part);
  }
  const Tensor sum = device->allocate({"sum"}, 1, 4);
  const View& to = into_first_part ? views.front() : sum.view();
  device->reduce_parts(views, reduction, to, Stream::Communication);
  std::vector<double> values(4);
  device->download(values, to);
  return values;
}

TEST(parts, are_added_or_their_maximum_taken_also_into_one_of_them) {
  for (const Element element : {Element::F64, Element::F32}) {
    for (const bool into_first : {false, true}) {
      EXPECT_EQ(reduced(element, Reduction::Sum, into_first), (std::vector<double>{-89, -178, -267, 89}));
      EXPECT_EQ(reduced(element, Reduction::Max, into_first), (std::vector<double>{10, 20, 30, 100}));
    }
  }
}

TEST(noise, has_the_scale_asked_for_and_is_the_same_for_the_same_seed) {
  const auto device = make_cpu_device(Element::F64);
  const auto noise = [&](std::uint64_t seed) {
    const Tensor x = device->allocate({"x"}, 100, 100);
    device->fill_noise(x, seed, 0.5, Stream::Compute);
    std::vector<double> values(10000);
    device->download(values, x);
    return values;
  };
  double sum = 0, squares = 0;
  for (const double x : noise(7)) {
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / 10000, 0, 0.02);
  EXPECT_NEAR(std::sqrt(squares / 10000), 0.5, 0.01);
  EXPECT_EQ(noise(7), noise(7));
  EXPECT_NE(noise(7), noise(8));
}

}  // namespace
}  // namespace hexaplan::validator
