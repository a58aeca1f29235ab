#include "validator/measure/accuracy/score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace hexaplan::validator {
namespace {

using costmodel::Bytes;
using costmodel::Estimate;
using costmodel::Seconds;
using costmodel::StageMemory;

/// Two stages; the first needs more, the second is the last.
Estimate estimate_of(double step, double first_stage, double last_stage) {
  Estimate e;
  e.time.gemm = Seconds{step};
  e.capacity = Bytes{100};
  for (const double bytes : {first_stage, last_stage}) {
    StageMemory stage;
    stage.allocated = Bytes{bytes};
    stage.reserved = Bytes{bytes + 1};
    stage.device = Bytes{bytes + 2};
    stage.update = Bytes{bytes / 2};
    e.stages.push_back(stage);
  }
  return e;
}

PredictedCase timed(std::string id, std::string source, double measured, double predicted,
                    std::string group = {}) {
  return {{.id = std::move(id),
           .source = std::move(source),
           .rank_group = std::move(group),
           .step = Seconds{measured}},
          estimate_of(predicted, 10, 10)};
}

struct ScopeCase {
  std::string name;
  MemoryKind kind;
  MemoryScope scope;
  double expected;
};
class PredictedMemory : public testing::TestWithParam<ScopeCase> {};
TEST_P(PredictedMemory, is_the_figure_that_was_published) {
  const Estimate e = estimate_of(1, 50, 20);
  EXPECT_EQ(predicted_memory(e, GetParam().kind, GetParam().scope).value(), GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    table, PredictedMemory,
    testing::Values(ScopeCase{"allocated_worst_rank", MemoryKind::Allocated, MemoryScope::WorstRank, 50},
                    ScopeCase{"allocated_last_stage", MemoryKind::Allocated, MemoryScope::LastStage, 20},
                    ScopeCase{"allocated_first_stage_while_it_updates", MemoryKind::Allocated,
                              MemoryScope::FirstStageUpdate, 25},
                    ScopeCase{"reserved_first_stage", MemoryKind::Reserved, MemoryScope::FirstStage, 51},
                    ScopeCase{"reserved_worst_rank", MemoryKind::Reserved, MemoryScope::WorstRank, 51},
                    ScopeCase{"device_worst_rank", MemoryKind::Device, MemoryScope::WorstRank, 52}),
    [](const auto& row) { return row.param.name; });

TEST(predicts_out_of_memory, exactly_the_capacity_fits_and_one_byte_more_does_not) {
  EXPECT_FALSE(predicts_out_of_memory(estimate_of(1, 98, 0)));
  EXPECT_TRUE(predicts_out_of_memory(estimate_of(1, 99, 0)));
}

TEST(score, keeps_memory_kinds_apart) {
  PredictedCase c = timed("r", "a", 1, 1);
  c.measured.step.reset();
  c.measured.memory = {{MemoryKind::Allocated, MemoryScope::WorstRank, Bytes{20}},
                       {MemoryKind::Reserved, MemoryScope::WorstRank, Bytes{11}}};
  const Scores all = score({c}).all;
  EXPECT_DOUBLE_EQ(all.memory[0].bias, -0.5);
  EXPECT_DOUBLE_EQ(all.memory[1].bias, 0.0);
  EXPECT_EQ(all.memory[2].rows, 0U);
  EXPECT_EQ(all.time.rows, 0U);
}

TEST(score, a_case_without_prediction_counts_as_skipped_for_everything_it_was_measured_for) {
  PredictedCase c = timed("r", "a", 1, 1);
  c.measured.ran_out_of_memory = true;
  c.prediction = NotPredicted{"no such GPU"};
  const AccuracyReport report = score({c, timed("q", "b", 10, 11)});
  EXPECT_EQ(report.all.time.rows, 1U);
  EXPECT_EQ(report.all.time.skipped, 1U);
  EXPECT_EQ(report.all.out_of_memory.skipped, 1U);
  EXPECT_EQ(report.all.out_of_memory.rows, 0U);
  EXPECT_EQ(compare(c).reason, "no such GPU");
}

TEST(score, a_case_with_nothing_to_score_is_left_out) {
  PredictedCase c = timed("r", "a", 1, 1);
  c.measured.step.reset();
  EXPECT_TRUE(score({c}).sources.empty());
}

TEST(score, a_disturbed_time_is_scored_apart) {
  PredictedCase disturbed = timed("r", "a", 4, 1);
  disturbed.measured.disturbed_step = disturbed.measured.step;
  disturbed.measured.step.reset();
  disturbed.measured.family = "f";
  const Scores all = score({disturbed, timed("q", "a", 1, 1)}).all;
  EXPECT_EQ(all.time.rows, 1U);
  EXPECT_EQ(all.families.typical_error, 0);
  EXPECT_NEAR(all.with_disturbed.typical_error, std::sqrt(2) - 1, 1e-12);
  EXPECT_TRUE(compare(disturbed).disturbed);
}

TEST(score, rank_groups_of_different_sources_are_different_groups) {
  const AccuracyReport report = score({timed("1", "a", 1, 2, "g"), timed("2", "a", 2, 1, "g"),
                                       timed("3", "b", 1, 1, "g"), timed("4", "b", 2, 2, "g")});
  EXPECT_EQ(report.all.ranking.groups, 2U);
  EXPECT_DOUBLE_EQ(report.all.ranking.mean_regret, 0.5);
  EXPECT_DOUBLE_EQ(report.all.ranking.mean_spearman, 0.0);
}

TEST(score, sources_are_listed_by_name_with_their_own_figures) {
  const AccuracyReport report = score({timed("1", "b", 10, 12), timed("2", "a", 10, 11)});
  ASSERT_EQ(report.sources.size(), 2U);
  EXPECT_EQ(report.sources[0].source, "a");
  EXPECT_NEAR(report.sources[0].scores.time.macro_mean_abs_error, 0.1, 1e-12);
  EXPECT_NEAR(report.sources[1].scores.time.macro_mean_abs_error, 0.2, 1e-12);
  EXPECT_NEAR(report.all.time.macro_mean_abs_error, 0.15, 1e-12);
}

}  // namespace
}  // namespace hexaplan::validator
