#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using presets::JsonArray;
using presets::JsonValue;

const std::string kHeader =
    "case_id,source_file,outcome,scoreable_time,scoreable_memory,scoreable_oom,arch,layers,hidden,ffn,heads,"
    "vocab,seq,gpu,n_gpus,"
    "gpus_per_node,tp,pp,dp,zero,micro_batch,global_batch,framework_profile,precision_norm,attention,"
    "recompute_norm,"
    "measured_step_seconds,measured_memory_bytes,memory_kind\n";
/// A small Llama on one GPU, with everything after the flags as given.
std::string row(const std::string& id, const std::string& flags, const std::string& arch,
                const std::string& measured) {
  return id + ",paper," + flags + "," + arch +
         ",8,2048,5632,16,32000,2048,h100-80-sxm,8,8,1,1,8,1,1,64,megatron,bf16,flash,none," + measured +
         "\n";
}

TEST(accuracy, scores_rows_and_lists_those_it_cannot_with_the_reason) {
  const TemporaryFile table{kHeader + row("a", "fits,1,1,1", "llama", "1.5,2e10,allocated-max-rank") +
                                row("b", "fits,1,0,0", "t5", "1.5,,") + row("c", "oom,0,0,1", "llama", ",,") +
                                row("d", "fits,0,0,0", "llama", "1,1,device") +
                                row("e", "fits,0,1,0", "llama", ",2e10,guess"),
                            ".csv"};
  const JsonValue a = json_of("accuracy --json --rows " + table.path());
  EXPECT_EQ(*at(a, "schema").get_if<std::string>(), "hexaplan/accuracy/1");
  EXPECT_EQ(number_at(a, "time.rows"), 1);
  EXPECT_EQ(number_at(a, "time.skipped"), 1);
  EXPECT_EQ(number_at(a, "memory.allocated.rows"), 1);
  EXPECT_EQ(number_at(a, "memory.device.rows"), 0);
  EXPECT_EQ(number_at(a, "oom.rows"), 2);
  EXPECT_EQ(number_at(a, "oom.false_fit"), 1);
  const auto& rows = *at(a, "rows").get_if<JsonArray>();
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_NEAR(number_at(rows[0], "time.error"), number_at(rows[0], "time.predicted") / 1.5 - 1, 1e-12);
  EXPECT_GT(number_at(rows[0], "time.by_cause.gemm"), 0);
  EXPECT_EQ(*at(rows[1], "skipped").get_if<std::string>(), "architecture 't5' is not modelled");
  EXPECT_EQ(*at(rows[3], "skipped").get_if<std::string>(), "memory_kind is 'guess'");
}

TEST(accuracy, sources_have_the_same_figures_as_the_whole) {
  const TemporaryFile table{kHeader + row("a", "fits,1,0,0", "llama", "1.5,,"), ".csv"};
  const JsonValue a = json_of("accuracy --json " + table.path());
  const JsonValue& source = at(a, "sources").get_if<JsonArray>()->front();
  EXPECT_EQ(*at(source, "source").get_if<std::string>(), "paper");
  for (const char* figure :
       {"time.macro_mean_abs_error", "time.worst", "time.bias", "time.median_abs_error"}) {
    EXPECT_EQ(number_at(source, figure), number_at(a, figure)) << figure;
  }
}

TEST(accuracy, several_tables_are_scored_together) {
  const TemporaryFile table{kHeader + row("a", "fits,1,0,0", "llama", "1.5,,"), ".csv"};
  EXPECT_EQ(number_at(json_of("accuracy --json " + table.path() + " " + table.path()), "time.rows"), 2);
}

TEST(accuracy, a_table_of_which_no_row_can_be_predicted_is_unusable) {
  const TemporaryFile table{kHeader + row("a", "fits,1,0,0", "t5", "1.5,,"), ".csv"};
  const Finished run = run_hexaplan("accuracy " + table.path());
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.out, testing::HasSubstr("Not scored"));
  EXPECT_THAT(run.out, testing::Not(testing::HasSubstr("0.0 %")));
}

// "macro_mean_abs_error": 0.0 of no row reads as a perfect score.
TEST(accuracy, nothing_scored_is_an_error_or_null_in_json_and_never_an_error_of_zero) {
  const TemporaryFile table{kHeader + row("a", "fits,1,0,0", "t5", "1.5,,"), ".csv"};
  const Finished run = run_hexaplan("accuracy --json " + table.path());
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.out, testing::HasSubstr("hexaplan/error/1"));
  EXPECT_THAT(run.err, testing::HasSubstr("got no row that can be scored"));
  const Finished rows = run_hexaplan("accuracy --json --rows " + table.path());
  EXPECT_EQ(rows.exit_code, 4);
  EXPECT_THAT(rows.out, testing::HasSubstr("\"skipped\": "));
  EXPECT_THAT(rows.out, testing::HasSubstr("\"macro_mean_abs_error\": null"));
  EXPECT_THAT(rows.out, testing::Not(testing::HasSubstr("_error\": 0.0")));
}

TEST(accuracy, a_missing_column_is_named) {
  const TemporaryFile table{"case_id,source_file\na,b\n", ".csv"};
  const Finished run = run_hexaplan("accuracy " + table.path());
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_EQ(
      run.err,
      "hexaplan: " + table.path() +
          ": header: got no such column, expected a column \"outcome\" (docs/accuracy.md lists them)\n");
}

}  // namespace
}  // namespace hexaplan::cli
