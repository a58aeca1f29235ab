// Forward of the kernels against definitions written out, and what the parallel algorithms rely on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tests/validator/device/random_numbers.h"
#include "validator/executor/device/bf16.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/device/cpu/kernels/activation.h"
#include "validator/executor/device/cpu/kernels/attention.h"
#include "validator/executor/device/cpu/kernels/cross_entropy.h"
#include "validator/executor/device/cpu/kernels/norm.h"
#include "validator/executor/device/cpu/kernels/optimizer.h"
#include "validator/executor/device/cpu/kernels/rope.h"
#include "validator/executor/device/cpu/kernels/router.h"
#include "validator/executor/device/fp16.h"

namespace hexaplan::validator {
namespace {

using kernels::Matrix;
using testing::Each;
using testing::ElementsAreArray;

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

TEST(attention, a_hidden_key_weighs_exactly_nothing_however_large_its_value) {
  auto q = random_numbers(16 * 6, 1), k = random_numbers(16 * 3, 2), v = random_numbers(16 * 3, 3);
  const Attention before = run_attention({.causal = true}, q, k, v);
  std::fill(v.end() - 3, v.end(), std::numeric_limits<double>::max());
  const Attention run = run_attention({.causal = true}, q, k, v);
  EXPECT_THAT(std::span(run.o).first(15 * 6), ElementsAreArray(std::span(before.o).first(15 * 6)));
}

TEST(router, evenly_filled_experts_have_a_balance_loss_without_any_gradient) {
  const double scores[] = {0.1, 0.2, 0.3, 0.4}, weights[] = {0.4, 0.3}, d_weights[] = {0, 0};
  const std::int32_t chosen[] = {3, 2};
  const double even[] = {0.7, 0.7, 0.7, 0.7}, uneven[] = {0.7, 0.7, 0.7, 0.1};
  const auto gradient = [&](const double* d_mean) {
    std::vector<double> out(4);
    kernels::route_backward<double>({}, {scores, 1, 4, 4}, {chosen, 1, 2, 2}, {weights, 1, 2, 2},
                                    {d_weights, 1, 2, 2}, d_mean, {out.data(), 1, 4, 4});
    return out;
  };
  EXPECT_THAT(gradient(even), Each(0.0));
  // s·(g − Σ s·g) with Σ s·g = 0.46.
  expect_near(gradient(uneven), {0.1 * 0.24, 0.2 * 0.24, 0.3 * 0.24, -0.4 * 0.36});
}

/// One query of one head, of width one, against four keys; the query is `distance` behind the last of them.
struct OneQuery {
  double o = 0, lse = 0;
};
constexpr double kQuery = 1.5;
const std::vector<double> kKeys = {0.4, -1, 2, 0.7}, kValues = {3, -2, 5, 1};
OneQuery run_one_query(AttentionBlock block) {
  block.seq_q = block.q_pitch = block.head_dim = block.v_head_dim = 1;
  block.seq_kv = block.kv_pitch = 4;
  block.scale = 0.8;
  OneQuery out;
  std::vector<double> q = {kQuery}, k = kKeys, v = kValues;
  kernels::attention_forward<double>(block, {q.data(), 1, 1, 1}, {k.data(), 4, 1, 1}, {v.data(), 4, 1, 1},
                                     {&out.o, 1, 1, 1}, {&out.lse, 1, 1, 1});
  return out;
}
View one_number(double& number) {
  // NOLINTNEXTLINE(*-reinterpret-cast): views are untyped
  return {reinterpret_cast<std::byte*>(&number), Element::F64, 1, 1, 1};
}

TEST(attention, caps_scores_then_takes_off_for_distance_then_adds_the_sink_to_the_sum) {
  for (const double cap : {0.0, 1.3}) {
    for (double slope : {0.0, 0.25}) {
      for (double sink : {-kInfinity, 0.6}) {
        double sum = std::exp(sink), weighted = 0;
        for (std::size_t j = 0; j < 4; ++j) {
          const double scaled = 0.8 * kQuery * kKeys[j],
                       capped = cap > 0 ? cap * std::tanh(scaled / cap) : scaled;
          const double weight = std::exp(capped - slope * static_cast<double>(3 + 2 - j));
          sum += weight;
          weighted += weight * kValues[j];
        }
        AttentionBlock block{.distance = 2, .softcap = cap};
        if (slope > 0) block.slopes = one_number(slope);
        if (sink > -kInfinity) block.sinks = one_number(sink);
        const OneQuery run = run_one_query(block);
        EXPECT_NEAR(run.o, weighted / sum, 1e-14) << cap << " " << slope << " " << sink;
        EXPECT_NEAR(run.lse, std::log(sum), 1e-14);
      }
    }
  }
}

TEST(attention, a_window_reaches_as_far_behind_the_keys_as_the_query_stands) {
  // At distance 2 a window of 4 leaves the last two keys, one of 2 none.
  const OneQuery two = run_one_query({.window = 4, .distance = 2});
  const double a = std::exp(0.8 * kQuery * 2), b = std::exp(0.8 * kQuery * 0.7);
  EXPECT_NEAR(two.o, (5 * a + b) / (a + b), 1e-14);
  EXPECT_EQ(run_one_query({.window = 2, .distance = 2}).lse, -kInfinity);
}

TEST(norm, of_a_layer_takes_off_the_mean_and_divides_by_the_root_of_the_variance) {
  const double x[] = {1, 2, 3, 6}, weight[] = {1, 2, 1, -1}, bias[] = {0, 0.5, 0, 10};
  double y[4], statistics[2];
  // Mean 3, variance (4 + 1 + 0 + 9)/4 = 3.5.
  const double rstd = 1 / std::sqrt(3.5 + 0.25);
  const NormForm form{.kind = costmodel::NormKind::Layer, .epsilon = 0.25};
  kernels::norm_forward<double>(form, {x, 1, 4, 4}, weight, bias, {y, 1, 4, 4}, {statistics, 1, 2, 2});
  expect_near({y, y + 4}, {-2 * rstd, -2 * rstd + 0.5, 0, -3 * rstd + 10});
  expect_near({statistics, statistics + 2}, {3, rstd});
}

TEST(norm, of_heads_is_that_of_each_alone_and_a_weight_centred_on_zero_counts_one_more) {
  const double x[] = {3, 4, 0, 2}, weight[] = {0.5, -1};
  double y[4], rstd[2];
  const NormForm form{.epsilon = 0, .zero_centered = true, .width = 2};
  kernels::norm_forward<double>(form, {x, 1, 4, 4}, weight, nullptr, {y, 1, 4, 4}, {rstd, 1, 2, 2});
  const double first = std::sqrt(12.5), second = std::sqrt(2.0);  // roots of mean squares
  expect_near({y, y + 4}, {3 / first * 1.5, 0, 0, 0});
  expect_near({rstd, rstd + 2}, {1 / first, 1 / second});
}

TEST(activation, has_the_values_of_its_definition_plain_and_gated) {
  // The formulas that ActivationKind names, at −1.5, worked out by Python's math.
  struct Row {
    ActivationKind kind;
    double value;
  };
  constexpr double kX = -1.5;
  const Row rows[] = {{ActivationKind::Silu, -0.2736382857095345},
                      {ActivationKind::GeluExact, -0.10021080190328713},
                      {ActivationKind::GeluTanh, -0.10042842301976707},
                      {ActivationKind::GeluQuick, -0.10833780155292343},
                      {ActivationKind::Relu, 0},
                      {ActivationKind::ReluSquared, 0}};
  for (const Row& row : rows) {
    double plain = 0, gated = 0;
    const double gate_up[] = {kX, 3};
    kernels::activation_forward<double>({.kind = row.kind, .gated = false}, {&kX, 1, 1, 1},
                                        {&plain, 1, 1, 1});
    kernels::activation_forward<double>({.kind = row.kind}, {gate_up, 1, 2, 2}, {&gated, 1, 1, 1});
    EXPECT_NEAR(plain, row.value, 1e-15) << static_cast<int>(row.kind);
    EXPECT_NEAR(gated, 3 * row.value, 1e-15) << static_cast<int>(row.kind);
  }
  const double positive = 1.5;
  double squared = 0;
  kernels::activation_forward<double>({.kind = ActivationKind::ReluSquared, .gated = false},
                                      {&positive, 1, 1, 1}, {&squared, 1, 1, 1});
  EXPECT_EQ(squared, 2.25);
}

TEST(activation, with_a_clamp_cuts_the_gate_above_and_the_other_half_on_both_sides) {
  const auto of = [](double gate, double up) {
    const double gate_up[] = {gate, up};
    double act = 0;
    kernels::activation_forward<double>({.kind = ActivationKind::GeluQuick, .clamp = 7}, {gate_up, 1, 2, 2},
                                        {&act, 1, 1, 1});
    return act;
  };
  const auto quick = [](double x) { return x / (1 + std::exp(-1.702 * x)); };
  EXPECT_NEAR(of(10, -10), quick(7) * (-7 + 1), 1e-14);
  EXPECT_NEAR(of(-10, 10), quick(-10) * (7 + 1), 1e-14);
  EXPECT_NEAR(of(2, 0.5), quick(2) * 1.5, 1e-14);
}

TEST(rope, of_neighbours_is_that_of_halves_in_another_order_of_columns) {
  // Columns 0 1 2 3 of neighbours are 0 2 1 3 of halves; a head has one more before them.
  std::vector<double> neighbours = {9, 1, 2, 3, 4}, halves = {9, 1, 3, 2, 4};
  const std::int32_t position[] = {3};
  Rotation rotation{.head_dim = 5, .pairs = 2, .first = 1, .frequencies = {1, 0.1}};
  kernels::rope<double>({halves.data(), 1, 5, 5}, position, rotation, 1);
  rotation.interleaved = true;
  kernels::rope<double>({neighbours.data(), 1, 5, 5}, position, rotation, 1);
  expect_near(neighbours, {halves[0], halves[1], halves[3], halves[2], halves[4]});
  EXPECT_NEAR(neighbours[1], std::cos(3.0) - 2 * std::sin(3.0), 1e-15);
  EXPECT_EQ(neighbours[0], 9);
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

TEST(cross_entropy, a_target_below_zero_is_none) {
  const auto logits = random_numbers(2 * 3, 6);
  const std::int32_t targets[] = {-1, 2};
  std::vector<double> maxima(2), sums(4), gradient(6, 7.0);
  const Matrix<const double> all{logits.data(), 2, 3, 3};
  kernels::row_max<double>(all, 3, maxima.data());
  kernels::cross_entropy_sums<double>(all, 3, maxima.data(), targets, 0, {sums.data(), 2, 2, 2});
  const double loss = kernels::cross_entropy_gradient<double>(all, 3, maxima.data(), {sums.data(), 2, 2, 2},
                                                              targets, 0, 1, {gradient.data(), 2, 3, 3});
  EXPECT_NEAR(loss, std::log(sums[2]) - sums[3], 1e-13);
  EXPECT_EQ(std::vector<double>(gradient.begin(), gradient.begin() + 3), std::vector<double>(3, 0.0));
  EXPECT_LT(gradient[5], 0);
}

TEST(router, chooses_the_most_probable_experts_and_the_smaller_number_among_equals) {
  std::vector<double> logits = {0, 1, 1, -2}, p(4), weights(2);
  std::vector<std::int32_t> chosen(2);
  const double sum = 1 + 2 * std::exp(1.0) + std::exp(-2.0);
  const auto route = [&](const RouterForm& form) {
    kernels::route<double>(form, {logits.data(), 1, 4, 4}, nullptr, {p.data(), 1, 4, 4},
                           {chosen.data(), 1, 2, 2}, {weights.data(), 1, 2, 2});
  };
  route({});
  EXPECT_EQ(chosen, (std::vector<std::int32_t>{1, 2}));
  EXPECT_NEAR(weights[0], std::exp(1.0) / sum, 1e-15);
  route({.renormalise = true});
  EXPECT_NEAR(weights[0], 0.5, 1e-15);
}

/// Experts and weights of one token.
struct Choice {
  std::vector<std::int32_t> experts;
  std::vector<double> weights;
};
Choice choice_of(const RouterForm& form, std::vector<double> logits, const double* correction,
                 std::size_t k) {
  const auto n = static_cast<std::int64_t>(logits.size()), top = static_cast<std::int64_t>(k);
  std::vector<double> scores(logits.size());
  Choice out{.experts = std::vector<std::int32_t>(k), .weights = std::vector<double>(k)};
  kernels::route<double>(form, {logits.data(), 1, n, n}, correction, {scores.data(), 1, n, n},
                         {out.experts.data(), 1, top, top}, {out.weights.data(), 1, top, top});
  return out;
}

TEST(router, a_correction_changes_the_choice_and_not_the_weights) {
  const std::vector<double> logits = {0, 1, 2, -1};
  const double correction[] = {0.9, 0, -0.9, 0};
  const RouterForm form{.score = costmodel::RouterScore::Sigmoid, .factor = 2.5};
  const Choice corrected = choice_of(form, logits, correction, 2);
  EXPECT_EQ(corrected.experts, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(choice_of(form, logits, nullptr, 2).experts, (std::vector<std::int32_t>{2, 1}));
  expect_near(corrected.weights, {2.5 * 0.5, 2.5 / (1 + std::exp(-1.0))});
}

TEST(router, takes_experts_of_the_best_groups_alone_by_their_best_or_their_two_best) {
  // Groups of three: the first has the single best expert, the second the best two.
  const std::vector<double> logits = {3, -9, -9, 2, 2.5, -9, 1, 1, 1};
  RouterForm form{.score = costmodel::RouterScore::Sigmoid, .groups = 3, .top_groups = 1};
  EXPECT_EQ(choice_of(form, logits, nullptr, 2).experts, (std::vector<std::int32_t>{0, 1}));
  form.best_of_group = 2;
  EXPECT_EQ(choice_of(form, logits, nullptr, 2).experts, (std::vector<std::int32_t>{4, 3}));
  form.top_groups = 2;
  EXPECT_EQ(choice_of(form, logits, nullptr, 3).experts, (std::vector<std::int32_t>{4, 3, 6}));
}

TEST(adamw, first_step_moves_by_the_learning_rate_against_the_sign_and_decays_apart) {
  // m̂ = g and v̂ = g² after one step, whatever β: arXiv:1412.6980 §3.
  std::vector<double> w = {2, -3}, m(2), v(2);
  const std::vector<double> g = {0.5, -4};
  OptimizerUpdate step;
  step.learning_rate = 0.1, step.epsilon = 0, step.weight_decay = 0.25, step.gradient_factor = 0.5;
  kernels::update<double>(kernels::rates_of<double>(step), {.count = 2,
                                                            .gradient = g.data(),
                                                            .first_moment = m.data(),
                                                            .second_moment = v.data(),
                                                            .master = w.data()});
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

TEST(cpu_device, of_bf16_keeps_two_bytes_of_what_the_ledger_does_and_four_of_masters) {
  const auto device = make_cpu_device(Element::Bf16);
  const Tensor data = device->allocate(kLabel, 2, 3);
  const Tensor master = device->allocate({.name = "master", .dtype = costmodel::DType::Fp32}, 2, 3);
  EXPECT_EQ(data.view().bytes(), 12U);
  EXPECT_EQ(master.view().bytes(), 24U);
  EXPECT_EQ(device->memory().live_bytes(), 12 + 24) << "what is counted is what is there";
  EXPECT_TRUE(std::isnan(to_float(*data.view().as<Bf16>())));
}

TEST(cpu_device, of_bf16_rounds_a_result_once_to_nearest_even) {
  const auto device = make_cpu_device(Element::Bf16);
  const auto make = [&](std::int64_t rows, std::int64_t cols, const std::vector<double>& values) {
    Tensor t = device->allocate(kLabel, rows, cols);
    device->upload(t.view(), values);
    return t;
  };
  const auto read = [&](const Tensor& t) {
    std::vector<double> values(static_cast<std::size_t>(t.view().elements()));
    device->download(values, t);
    return values;
  };
  // Between 256 and 512 numbers of eight bits are 2 apart: halves go to the even neighbour.
  const Tensor sums = make(1, 4, {256, 258, 256, 256});
  device->add(sums, make(1, 4, {1, 1, 1.5, 0.5}));
  EXPECT_EQ(read(sums), (std::vector<double>{256, 260, 258, 256}));
  // Each of the eight ones alone would be lost on 256; their sum in float32 is not.
  const Tensor product = make(1, 1, {0});
  device->gemm({.operation = "test"}, {.a = make(1, 9, {256, 1, 1, 1, 1, 1, 1, 1, 1}),
                                       .b = make(9, 1, std::vector<double>(9, 1)),
                                       .c = product});
  EXPECT_EQ(read(product), (std::vector<double>{264}));
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

TEST(fp16, rounds_to_nearest_even_down_to_its_smallest_numbers_and_up_to_infinity) {
  struct Row {
    float number;
    std::uint16_t bits;
  };
  // IEEE 754-2019 binary16: 1 sign, 5 exponent, 10 mantissa bits.
  const Row rows[] = {{0, 0x0000},
                      {-0.0F, 0x8000},
                      {1, 0x3c00},
                      {-2, 0xc000},
                      {65504, 0x7bff},
                      {65519, 0x7bff},
                      {65520, 0x7c00},
                      {1e9F, 0x7c00},
                      {-1e9F, 0xfc00},
                      {0x1p-14F, 0x0400},
                      {0x1p-24F, 0x0001},
                      {0x1p-25F, 0x0000},
                      {0x1.8p-25F, 0x0001},
                      {0x1.8p-24F, 0x0002},
                      {0x1.ffep-15F, 0x0400},
                      {1 + 0x1p-11F, 0x3c00},
                      {1 + 0x1.8p-10F, 0x3c02}};
  for (const Row& row : rows) EXPECT_EQ(to_fp16(row.number).bits, row.bits) << row.number;
  EXPECT_TRUE(std::isnan(to_float(to_fp16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(fp16, every_code_is_the_number_that_its_bits_say_and_comes_back) {
  for (unsigned code = 0; code < 0x10000; ++code) {
    const Fp16 narrow{static_cast<std::uint16_t>(code)};
    const int exponent = static_cast<int>(code >> 10 & 31U), mantissa = static_cast<int>(code & 1023U);
    const auto number = static_cast<double>(to_float(narrow));
    if (exponent == 31 && mantissa != 0) {
      EXPECT_TRUE(std::isnan(number));
      continue;
    }
    const double magnitude = exponent == 31  ? kInfinity
                             : exponent == 0 ? std::ldexp(mantissa, -24)
                                             : std::ldexp(1024 + mantissa, exponent - 25);
    ASSERT_EQ(number, code < 0x8000 ? magnitude : -magnitude) << code;
    ASSERT_EQ(to_fp16(static_cast<float>(number)).bits, code);
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
