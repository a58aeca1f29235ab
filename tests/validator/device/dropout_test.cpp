// Which numbers dropout leaves out: the generator against its authors' known answers, and what a matrix of a
// rank shows of the whole.
#include "validator/executor/device/cpu/kernels/dropout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "validator/executor/device/dropout.h"

namespace hexaplan::validator {
namespace {

/// DEShawResearch/random123 tests/kat_vectors, "philox4x32 10".
TEST(philox, gives_the_known_answers_of_its_authors) {
  struct Known {
    RandomWords counter;
    std::uint64_t key;
    RandomWords words;
  };
  constexpr Known kKnown[] = {
      {{{0, 0, 0, 0}}, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
      {{{~0U, ~0U, ~0U, ~0U}}, ~std::uint64_t{0}, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
      {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
       0x299f31d0a4093822,
       {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}}};
  for (const Known& known : kKnown) {
    const RandomWords words = philox(known.counter, known.key);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(words.at[i], known.words.at[i]);
  }
}

struct Dropped {
  std::vector<double> out;
  std::vector<std::uint8_t> mask;
};
Dropped drop(const DropoutForm& form, std::int64_t rows, std::int64_t cols,
             const std::vector<std::int32_t>& positions = {}) {
  const auto size = static_cast<std::size_t>(rows * cols);
  const std::vector<double> ones(size, 1);
  Dropped made{std::vector<double>(size), std::vector<std::uint8_t>(size)};
  kernels::dropout<double>(
      form, positions.empty() ? nullptr : positions.data(), {ones.data(), rows, cols, cols},
      kernels::Matrix<double>{made.out.data(), rows, cols, cols}, {made.mask.data(), rows, cols, cols});
  return made;
}

DropoutForm form_of(double rate) {
  DropoutForm form;
  form.key = 77;
  form.dropped = static_cast<std::uint32_t>(std::llround(rate * 4294967296.0));
  form.factor = 1 / (1 - rate);
  form.place = 5;
  form.sequence_rows = 100;
  return form;
}

/// Of 400,000 numbers the share that stays is known to 0.3 % (four standard deviations of a coin).
TEST(dropout, keeps_its_share_and_the_mean) {
  for (const double rate : {0.1, 0.5, 0.9}) {
    const Dropped made = drop(form_of(rate), 2000, 200);
    double kept = 0, sum = 0;
    for (std::size_t i = 0; i < made.out.size(); ++i) {
      kept += made.mask[i];
      sum += made.out[i];
      EXPECT_EQ(made.out[i], made.mask[i] != 0 ? 1 / (1 - rate) : 0);
    }
    const auto all = static_cast<double>(made.out.size());
    const double deviation = std::sqrt(rate * (1 - rate) / all);
    EXPECT_NEAR(kept / all, 1 - rate, 4 * deviation);
    EXPECT_NEAR(sum / all, 1, 4 * deviation / (1 - rate));
  }
}

/// Neighbours, rows, layers and steps share nothing: pairs of masks agree as often as coins do.
TEST(dropout, is_another_one_for_every_column_row_place_sequence_and_step) {
  const DropoutForm form = form_of(0.5);
  const Dropped first = drop(form, 100, 200);
  const auto share_of_agreement = [&](const Dropped& other, std::size_t shift) {
    double same = 0;
    const std::size_t count = first.mask.size() - shift;
    for (std::size_t i = 0; i < count; ++i) same += first.mask[i] == other.mask[i + shift] ? 1 : 0;
    return same / static_cast<double>(count);
  };
  constexpr double kFour = 4 * 0.5 / 141;  // standard deviations of 20,000 coins
  for (const std::size_t shift : {1U, 2U, 3U, 4U, 200U})
    EXPECT_NEAR(share_of_agreement(first, shift), 0.5, kFour);
  DropoutForm others[4] = {form, form, form, form};
  others[0].key += 1;
  others[1].place += 1;
  others[2].first_sequence += 1;
  others[3].first_head += 1;
  for (const DropoutForm& other : others)
    EXPECT_NEAR(share_of_agreement(drop(other, 100, 200), 0), 0.5, kFour);
}

TEST(dropout, is_the_same_for_whoever_has_a_part) {
  const Dropped whole = drop(form_of(0.3), 200, 24);
  // Rows 130 to 149 are the second sequence's 30 to 49, by number or by position in another order.
  DropoutForm part = form_of(0.3);
  part.first_row = 130;
  const Dropped rows = drop(part, 20, 24);
  for (std::size_t i = 0; i < rows.mask.size(); ++i) EXPECT_EQ(rows.mask[i], whole.mask[130 * 24 + i]);
  DropoutForm by_position = form_of(0.3);
  by_position.first_sequence = 1;
  by_position.sequence_rows = 2;
  const Dropped chosen = drop(by_position, 2, 24, {49, 30});
  for (std::size_t c = 0; c < 24; ++c) {
    EXPECT_EQ(chosen.mask[c], whole.mask[149 * 24 + c]);
    EXPECT_EQ(chosen.mask[24 + c], whole.mask[130 * 24 + c]);
  }
  // Heads of six columns, of which a rank has the third and fourth.
  DropoutForm heads = form_of(0.3);
  heads.width = 6;
  const Dropped all_heads = drop(heads, 10, 24);
  heads.first_head = 2;
  const Dropped two = drop(heads, 10, 12);
  for (std::size_t r = 0; r < 10; ++r) {
    for (std::size_t c = 0; c < 12; ++c) EXPECT_EQ(two.mask[r * 12 + c], all_heads.mask[r * 24 + 12 + c]);
  }
}

TEST(dropout, gives_gradients_where_it_gave_numbers) {
  const DropoutForm form = form_of(0.4);
  const Dropped made = drop(form, 7, 9);
  std::vector<double> d(63), dx(63);
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = static_cast<double>(i) - 20;
  kernels::dropout_backward<double>(form, {d.data(), 7, 9, 9}, {made.mask.data(), 7, 9, 9},
                                    kernels::Matrix<double>{dx.data(), 7, 9, 9});
  for (std::size_t i = 0; i < d.size(); ++i) EXPECT_DOUBLE_EQ(dx[i], d[i] * made.out[i]);
}

}  // namespace
}  // namespace hexaplan::validator
