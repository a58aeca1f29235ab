// Kernels that are compiled once per instruction set: every set that this processor runs computes what the
// baseline computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/validator/device/random_numbers.h"
#include "validator/executor/device/bf16.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/device/cpu/instruction_set.h"
#include "validator/executor/device/cpu/kernels/kernel_table.h"

namespace hexaplan::validator {
namespace {

using kernels::KernelTable;
using kernels::Matrix;

/// Numbers of a run of kernels, one behind the other.
template <class T>
using Numbers = std::vector<T>;

template <class T>
Numbers<T> numbers(std::int64_t count, unsigned seed) {
  const std::vector<double> wide = random_numbers(static_cast<std::size_t>(count), seed);
  return {wide.begin(), wide.end()};
}
template <class T>
Matrix<T> matrix_of(Numbers<T>& of, std::int64_t rows, std::int64_t cols, std::int64_t stride = 0) {
  return {of.data(), rows, cols, stride > 0 ? stride : cols};
}

/// Sizes around the widths of registers and blocks; rows have room between them.
template <class T>
Numbers<T> products(const KernelTable<T>& run) {
  struct Size {
    std::int64_t m, n, k;
  };
  Numbers<T> out;
  for (const Size size : {Size{1, 1, 1}, {3, 17, 5}, {16, 33, 64}, {65, 48, 129}, {1, 100, 31}, {70, 1, 9}}) {
    for (const int form : {0, 1, 2, 3, 4, 5, 6, 7}) {
      const bool left = (form & 1) != 0, right = (form & 2) != 0, accumulate = (form & 4) != 0;
      const std::int64_t a_rows = left ? size.k : size.m, a_cols = left ? size.m : size.k;
      const std::int64_t b_rows = right ? size.n : size.k, b_cols = right ? size.k : size.n;
      Numbers<T> a = numbers<T>(a_rows * (a_cols + 3), 1), b = numbers<T>(b_rows * b_cols, 2);
      Numbers<T> c = numbers<T>(size.m * (size.n + 1), 3);
      run.gemm(matrix_of(a, a_rows, a_cols, a_cols + 3), left, matrix_of(b, b_rows, b_cols), right,
               accumulate, matrix_of(c, size.m, size.n, size.n + 1));
      out.insert(out.end(), c.begin(), c.end());
    }
  }
  return out;
}

/// Forward and backward of causal attention in a window, soft-capped, with grouped heads.
template <class T>
Numbers<T> attention(const KernelTable<T>& run) {
  constexpr std::int64_t kRows = 90, kHeads = 4, kKvHeads = 2, kDim = 5;
  const AttentionBlock block{.heads = kHeads,
                             .kv_heads = kKvHeads,
                             .seq_q = kRows,
                             .seq_kv = kRows,
                             .q_pitch = kRows,
                             .kv_pitch = kRows,
                             .head_dim = kDim,
                             .v_head_dim = kDim,
                             .window = 70,
                             .scale = 0.5,
                             .softcap = 3};
  constexpr std::int64_t kWide = kHeads * kDim, kNarrow = kKvHeads * kDim;
  Numbers<T> q = numbers<T>(kRows * kWide, 1), k = numbers<T>(kRows * kNarrow, 2),
             v = numbers<T>(kRows * kNarrow, 3), d_o = numbers<T>(kRows * kWide, 4);
  Numbers<T> o(q.size()), lse(kRows * kHeads), delta(lse.size()), dq(q.size()), dk(k.size()), dv(v.size());
  const auto wide = [](Numbers<T>& of) { return matrix_of(of, kRows, kWide); };
  const auto narrow = [](Numbers<T>& of) { return matrix_of(of, kRows, kNarrow); };
  const auto heads = [](Numbers<T>& of) { return matrix_of(of, kRows, kHeads); };
  run.attention_forward(block, wide(q), narrow(k), narrow(v), wide(o), heads(lse));
  run.attention_delta(wide(o), wide(d_o), heads(delta));
  run.attention_backward(block, wide(q), narrow(k), narrow(v), wide(d_o), heads(lse), heads(delta), wide(dq),
                         narrow(dk), narrow(dv));
  for (const Numbers<T>* more : {&lse, &dq, &dk, &dv}) o.insert(o.end(), more->begin(), more->end());
  return o;
}

/// Loss and gradient of logits with padding behind them; one target is none.
template <class T>
Numbers<T> loss(const KernelTable<T>& run) {
  constexpr std::int64_t kRows = 3, kValid = 37, kCols = 40;
  Numbers<T> logits = numbers<T>(kRows * kCols, 5), sums(kRows * 2), gradient(logits.size());
  Numbers<T> maxima(kRows);
  const std::int32_t targets[kRows] = {36, -1, 0};
  const Matrix<T> x = matrix_of(logits, kRows, kCols);
  run.row_max(x, kValid, maxima.data());
  run.cross_entropy_sums(x, kValid, maxima.data(), targets, 0, matrix_of(sums, kRows, 2));
  gradient.push_back(run.cross_entropy_gradient(x, kValid, maxima.data(), matrix_of(sums, kRows, 2), targets,
                                                0, T{0.5}, matrix_of(gradient, kRows, kCols)));
  return gradient;
}

/// Values and slopes of every activation, plain and gated and clamped, over two runs of vector code.
template <class T>
Numbers<T> activations(const KernelTable<T>& run) {
  constexpr std::int64_t kRows = 2, kCols = 261;
  Numbers<T> out;
  for (const ActivationKind kind :
       {ActivationKind::Silu, ActivationKind::GeluExact, ActivationKind::GeluTanh, ActivationKind::GeluQuick,
        ActivationKind::Relu, ActivationKind::ReluSquared}) {
    for (const ActivationForm form : {ActivationForm{.kind = kind, .gated = false},
                                      ActivationForm{.kind = kind, .gated = true, .clamp = 0.4}}) {
      const std::int64_t width = form.gated ? 2 * kCols : kCols;
      Numbers<T> x = numbers<T>(kRows * width, 10), dy = numbers<T>(kRows * kCols, 11), y(kRows * kCols);
      x[3] = T{-200};
      run.activation_forward(form, matrix_of(x, kRows, width), matrix_of(y, kRows, kCols));
      run.activation_backward(form, matrix_of(dy, kRows, kCols), matrix_of(x, kRows, width),
                              matrix_of(x, kRows, width));
      for (const Numbers<T>* more : {&y, &x}) out.insert(out.end(), more->begin(), more->end());
    }
  }
  return out;
}

/// Two steps of every rule on an odd number of parameters.
template <class T>
Numbers<T> updates(const KernelTable<T>& run) {
  Numbers<T> out;
  for (const UpdateRule rule :
       {UpdateRule::AdamW, UpdateRule::Sgd, UpdateRule::Lion, UpdateRule::LambDirection,
        UpdateRule::MuonDirection, UpdateRule::Descend, UpdateRule::FactoredMoment}) {
    const kernels::UpdateRates<T> rates{.rule = rule,
                                        .rate = T(0.1),
                                        .beta1 = T(0.9),
                                        .beta2 = T(0.95),
                                        .epsilon = T(1e-8),
                                        .momentum = T(0.9),
                                        .decay = T(0.01),
                                        .first_correction = T(10),
                                        .second_correction = T(20)};
    Numbers<T> gradient = numbers<T>(103, 6), first = numbers<T>(103, 7), second(103, T{1}),
               master = numbers<T>(103, 8), direction = numbers<T>(103, 9);
    if (rule == UpdateRule::FactoredMoment)
      for (T& g : gradient) g = g * g;
    for (int step = 0; step < 2; ++step)
      run.update(rates, {.count = 103,
                         .gradient = gradient.data(),
                         .first_moment = first.data(),
                         .second_moment = second.data(),
                         .master = master.data(),
                         .direction = direction.data()});
    for (const Numbers<T>* more : {&first, &second, &master, &direction})
      out.insert(out.end(), more->begin(), more->end());
  }
  return out;
}

template <class T>
struct Case {
  const char* name;
  Numbers<T> (*run)(const KernelTable<T>&);
  double tolerance;  // of numbers around 1, in the type's last places
};
/// What looks at one number at a time is the same, whatever is computed at once.
template <class T>
constexpr Case<T> kCases[] = {{"products", products<T>, 200},
                              {"attention", attention<T>, 200},
                              {"loss", loss<T>, 20},
                              {"activations", activations<T>, 20},
                              {"updates", updates<T>, 0}};

template <class T>
void expect_equal_sets() {
  for (const Case<T>& one : kCases<T>) {
    const Numbers<T> expected = one.run(kernels_of<T>(InstructionSet::Baseline));
    for (const InstructionSet set : runnable_instruction_sets()) {
      const Numbers<T> actual = one.run(kernels_of<T>(set));
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t i = 0; i < actual.size(); ++i)
        ASSERT_NEAR(actual[i], expected[i], one.tolerance * std::numeric_limits<T>::epsilon())
            << one.name << " with " << name_of(set) << ", number " << i;
    }
  }
}

TEST(instruction_sets, compute_what_the_baseline_computes) {
  expect_equal_sets<double>();
  expect_equal_sets<float>();
}

TEST(instruction_sets, widen_and_round_bfloat16_alike) {
  std::vector<Bf16> all(1 << 16);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<std::uint16_t>(i);
  std::vector<float> halves;  // beside every bfloat16: what rounds to it, and ties
  for (const Bf16 number : all) {
    for (const std::uint32_t low : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU})
      halves.push_back(std::bit_cast<float>(std::uint32_t{number.bits} << 16 | low));
  }
  for (const InstructionSet set : runnable_instruction_sets()) {
    const KernelTable<float> run = kernels_of<float>(set);
    std::vector<float> wide(all.size());
    run.widen(all.data(), static_cast<std::int64_t>(all.size()), wide.data());
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), static_cast<std::uint32_t>(i) << 16) << name_of(set);
    std::vector<Bf16> narrow(halves.size());
    run.narrow(halves.data(), static_cast<std::int64_t>(halves.size()), narrow.data());
    for (std::size_t i = 0; i < halves.size(); ++i)
      ASSERT_EQ(narrow[i].bits, to_bf16(halves[i]).bits) << name_of(set) << ", " << halves[i];
  }
}

TEST(instruction_sets, see_numbers_that_are_none_and_add_nothing_of_what_is_hidden) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const KernelTable<float> run = kernels_of<float>(set);
    for (const float odd : {std::numeric_limits<float>::quiet_NaN(), -1e4F}) {
      std::vector<float> logits(21, 1.0F), gradient(21), sums(2);
      logits[3] = logits[20] = odd;
      float largest = 0;
      const std::int32_t target = 0;
      run.row_max({logits.data(), 1, 21, 21}, 21, &largest);
      run.cross_entropy_sums({logits.data(), 1, 21, 21}, 21, &largest, &target, 0, {sums.data(), 1, 2, 2});
      const float loss =
          run.cross_entropy_gradient({logits.data(), 1, 21, 21}, 21, &largest, {sums.data(), 1, 2, 2},
                                     &target, 0, 1.0F, Matrix<float>{gradient.data(), 1, 21, 21});
      EXPECT_EQ(std::isnan(loss), std::isnan(odd)) << name_of(set);
      for (const std::size_t at : {3U, 20U}) {
        EXPECT_EQ(std::isnan(gradient[at]), std::isnan(odd)) << name_of(set);
        EXPECT_TRUE(std::isnan(odd) || gradient[at] == 0) << name_of(set) << ": an update by signs sees it";
      }
    }
  }
}

/// The environment as it was, when the test ends.
class Instructions {
 public:
  explicit Instructions(const char* asked) { setenv("HEXAPLAN_INSTRUCTIONS", asked, 1); }
  ~Instructions() {
    if (before_.empty()) {
      unsetenv("HEXAPLAN_INSTRUCTIONS");
    } else {
      setenv("HEXAPLAN_INSTRUCTIONS", before_.c_str(), 1);
    }
  }
  Instructions(const Instructions&) = delete;
  Instructions& operator=(const Instructions&) = delete;

 private:
  std::string before_ =
      std::getenv("HEXAPLAN_INSTRUCTIONS") == nullptr ? "" : std::getenv("HEXAPLAN_INSTRUCTIONS");
};

TEST(instruction_sets, are_the_processor_s_best_unless_one_is_asked_for) {
  {
    const Instructions nothing{""};
    EXPECT_EQ(chosen_instruction_set(), runnable_instruction_sets().back());
  }
  for (const InstructionSet set : runnable_instruction_sets()) {
    const Instructions asked{std::string{name_of(set)}.c_str()};
    EXPECT_EQ(make_cpu_device(Element::F32)->facts().at(0).text, name_of(set));
  }
  const Instructions unknown{"avx3"};
  try {
    (void)chosen_instruction_set();
    FAIL() << "avx3 is none";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("HEXAPLAN_INSTRUCTIONS: got \"avx3\", expected "));
    EXPECT_THAT(error.what(), testing::HasSubstr("baseline"));
  }
}

}  // namespace
}  // namespace hexaplan::validator
