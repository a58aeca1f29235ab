#include "validator/measure/accuracy/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hexaplan::validator {
namespace {

Residual residual(std::string source, double predicted, double measured, std::optional<double> weight = {}) {
  return {std::move(source), predicted, measured, weight};
}

TEST(summarise, error_is_relative_to_the_measurement) {
  EXPECT_DOUBLE_EQ(residual("a", 12, 10).error(), 0.2);
  EXPECT_DOUBLE_EQ(residual("a", 8, 10).error(), -0.2);
}

TEST(summarise, nothing_scored_is_all_zero) {
  const ErrorSummary summary = summarise({}, 3);
  EXPECT_EQ(summary.rows, 0U);
  EXPECT_EQ(summary.skipped, 3U);
  EXPECT_EQ(summary.macro_mean_abs_error, 0.0);
  EXPECT_EQ(summary.median_abs_error, 0.0);
}

TEST(summarise, sources_count_equally_however_many_rows_they_have) {
  // a: errors .1 .1 .1 → .1; b: .5 → mean over sources .3, over rows it would be .2.
  const ErrorSummary summary = summarise(
      {residual("a", 11, 10), residual("a", 9, 10), residual("a", 11, 10), residual("b", 15, 10)}, 0);
  EXPECT_DOUBLE_EQ(summary.macro_mean_abs_error, 0.3);
  EXPECT_NEAR(summary.bias, (0.1 / 3 + 0.5) / 2, 1e-12);
  EXPECT_NEAR(summary.median_abs_error, 0.1, 1e-12);
  EXPECT_DOUBLE_EQ(summary.worst, 0.5);
}

TEST(summarise, weights_are_renormalised_over_the_rows_that_are_scored) {
  // Weights .3 and .1 of a source whose other rows are not here: (3·.1 + 1·.5)/4.
  const ErrorSummary summary = summarise({residual("a", 11, 10, 0.3), residual("a", 5, 10, 0.1)}, 0);
  EXPECT_NEAR(summary.macro_mean_abs_error, 0.2, 1e-12);
  EXPECT_NEAR(summary.bias, (0.3 * 0.1 - 0.1 * 0.5) / 0.4, 1e-12);
}

TEST(summarise, a_row_without_weight_counts_as_the_mean_of_its_source) {
  const ErrorSummary summary = summarise({residual("a", 11, 10, 0.2), residual("a", 13, 10)}, 0);
  EXPECT_NEAR(summary.macro_mean_abs_error, 0.2, 1e-12);
}

TEST(summarise, median_of_an_even_number_lies_between) {
  EXPECT_NEAR(summarise({residual("a", 11, 10), residual("a", 13, 10)}, 0).median_abs_error, 0.2, 1e-12);
}

TEST(spearman, same_order_is_one_and_opposite_is_minus_one) {
  EXPECT_DOUBLE_EQ(spearman({1, 2, 3}, {10, 200, 3000}).value(), 1.0);
  EXPECT_DOUBLE_EQ(spearman({1, 2, 3}, {3, 2, 1}).value(), -1.0);
}

TEST(spearman, ties_share_their_average_rank) {
  // Ranks 0 1.5 1.5 3 against 0 1 2 3: 4.5 / sqrt(4.5 · 5).
  EXPECT_NEAR(spearman({1, 2, 2, 3}, {1, 2, 3, 4}).value(), 4.5 / std::sqrt(4.5 * 5.0), 1e-12);
}

TEST(spearman, is_undefined_for_one_pair_and_for_a_constant_side) {
  EXPECT_FALSE(spearman({1}, {1}));
  EXPECT_FALSE(spearman({1, 1}, {1, 2}));
}

TEST(regret, is_how_much_slower_the_picked_run_is_than_the_best) {
  EXPECT_DOUBLE_EQ(regret({{1, 5}, {2, 4}, {3, 8}}), 0.25);
  EXPECT_DOUBLE_EQ(regret({{3, 5}, {1, 4}, {2, 8}}), 0.0);
}

TEST(regret, a_run_predicted_not_to_fit_is_not_picked_unless_none_is) {
  EXPECT_DOUBLE_EQ(regret({{1, 8, false}, {2, 4}, {3, 5}}), 0.0);
  EXPECT_DOUBLE_EQ(regret({{1, 8, false}, {2, 4, false}}), 1.0);
  EXPECT_DOUBLE_EQ(regret({{1, 4, false}, {2, 5}}), 0.25)
      << "the best measured counts, whatever was predicted of it";
}

TEST(summarise_ranking, groups_of_one_say_nothing) {
  const RankingSummary summary = summarise_ranking({{{1, 1}}, {{1, 5}, {2, 4}, {3, 8}}, {{1, 1}, {2, 2}}});
  EXPECT_EQ(summary.groups, 2U);
  EXPECT_EQ(summary.groups_within_5_percent, 1U);
  EXPECT_DOUBLE_EQ(summary.mean_regret, 0.125);
  EXPECT_DOUBLE_EQ(summary.median_regret, 0.125);
  EXPECT_DOUBLE_EQ(summary.worst_regret, 0.25);
  EXPECT_DOUBLE_EQ(summary.mean_spearman, 0.75);
}

TEST(summarise_out_of_memory, tells_the_two_mistakes_apart) {
  const OutOfMemorySummary summary =
      summarise_out_of_memory({{true, true}, {false, true}, {false, true}, {true, false}, {false, false}}, 4);
  EXPECT_EQ(summary.rows, 5U);
  EXPECT_EQ(summary.skipped, 4U);
  EXPECT_EQ(summary.false_fit, 2U);
  EXPECT_EQ(summary.false_oom, 1U);
  EXPECT_DOUBLE_EQ(summary.accuracy, 0.4);
}

}  // namespace
}  // namespace hexaplan::validator
