#include "presets/calibration/fabric/read_nccl_tests.h"

#include <gmock/gmock.h>

#include "presets/json/input_error.h"

namespace hexaplan::presets {
namespace {

using costmodel::CollectiveKind;

std::filesystem::path recorded(const char* name) {
  return std::filesystem::path{HEXAPLAN_SOURCE_DIR} / "tests/presets/fabric/nccl_tests" / name;
}

TEST(read_nccl_tests, reads_published_tables) {
  const auto gh200 = read_nccl_tests(recorded("gh200-2x4-slingshot-all_reduce.log"));
  ASSERT_EQ(gh200.size(), 1U);
  EXPECT_EQ(gh200[0].kind, CollectiveKind::AllReduce);
  EXPECT_EQ(gh200[0].ranks, 8);
  EXPECT_EQ(gh200[0].nodes, 2);
  EXPECT_EQ(gh200[0].device, "NVIDIA GH200 120GB");
  ASSERT_EQ(gh200[0].rows.size(), 10U);
  EXPECT_EQ(gh200[0].rows.back().payload.value(), 134217728);
  ASSERT_EQ(gh200[0].rows.back().times.size(), 2U) << "out of place and in place";
  EXPECT_DOUBLE_EQ(gh200[0].rows.back().times[0].value(), 1916.4e-6);
  EXPECT_DOUBLE_EQ(gh200[0].rows.back().times[1].value(), 1907.8e-6);

  const auto gb300 = read_nccl_tests(recorded("gb300-2x4-all_gather.log"));
  ASSERT_EQ(gb300.size(), 1U);
  EXPECT_EQ(gb300[0].kind, CollectiveKind::AllGather);
  EXPECT_EQ(gb300[0].version, "2.28.9");
  EXPECT_EQ(gb300[0].device, "NVIDIA GB300");
  EXPECT_DOUBLE_EQ(gb300[0].rows.back().times[0].value(), 42091.7e-6);
}

/// A table of two ranks in one node under a head of `program`.
std::string table(const std::string& program, const std::string& rows) {
  return (program.empty() ? "" : "# Collective test starting: " + program + "\n") +
         "# Using devices\n"
         "#  Rank  0 Group  0 Pid   1887 on   worker-1 device  0 [0x8d] NVIDIA H100 80GB HBM3\n"
         "#  Rank  1 Group  0 Pid   1888 on   worker-1 device  1 [0x91] NVIDIA H100 80GB HBM3\n"
         "#       size         count      type   redop    root     time   algbw   busbw #wrong\n" +
         rows;
}
constexpr const char* kRow =
    "  1048576  262144  float  sum  -1  20.00  52.43  52.43  0  19.00  55.19  55.19  0\n";
constexpr const char* kHalf =
    "  1048576  262144  float  none  -1  20.00  52.43  26.21  0  19.00  55.19  27.59  0\n";

struct Spelling {
  const char* name;
  std::string text;
  CollectiveKind kind;
};

TEST(read_nccl_tests, knows_every_collective_and_every_age_of_the_format) {
  const Spelling spellings[] = {
      {"all-reduce", table("all_reduce_perf", kRow), CollectiveKind::AllReduce},
      {"with _mpi", table("all_gather_perf_mpi", kHalf), CollectiveKind::AllGather},
      {"reduce-scatter", table("reduce_scatter_perf", kHalf), CollectiveKind::ReduceScatter},
      {"all-to-all, in-place not checked",
       table("alltoall_perf", "1048576 262144 float none -1 20.00 52.43 26.21 0 19.00 55.19 27.59 N/A\n"),
       CollectiveKind::AllToAll},
      {"send/recv", table("sendrecv_perf", kRow), CollectiveKind::SendRecv},
      {"broadcast", table("broadcast_perf", "1048576 262144 float none 0 20.00 52.43 52.43 0\n"),
       CollectiveKind::Broadcast},
      {"before 2.11: no root, errors instead of counts; the command line names it",
       "mpirun -np 2 ./all_reduce_perf -b 1M\n" +
           table("", "1048576 262144 float sum 20.00 52.43 52.43 2e-07 19.00 55.19 55.19 2e-07\n"),
       CollectiveKind::AllReduce},
      {"with time stamps",
       table("all_reduce_perf",
             "1048576 262144 float sum -1 20.00 52.43 52.43 0 19.00 55.19 55.19 0 2025-12-15 05:23:07\n"),
       CollectiveKind::AllReduce},
      {"tagged by mpirun",
       "[1,0]<stdout>:# Collective test starting: all_reduce_perf\n"
       "[1,0]<stdout>:#  Rank  0 Group  0 Pid 1 on a device  0 [0x8d] NVIDIA H100 80GB HBM3\n"
       "[1,0]<stdout>:#  Rank  1 Group  0 Pid 2 on b device  0 [0x8d] NVIDIA H100 80GB HBM3\n"
       "[1,0]<stdout>:  1048576  262144  float  sum  -1  20.00  52.43  52.43  0  19.00  55.19  55.19  0\n",
       CollectiveKind::AllReduce},
  };
  for (const Spelling& spelling : spellings) {
    const auto tests = parse_nccl_tests(spelling.text, "some.log");
    ASSERT_EQ(tests.size(), 1U) << spelling.name;
    EXPECT_EQ(tests[0].kind, spelling.kind) << spelling.name;
    ASSERT_EQ(tests[0].rows.size(), 1U) << spelling.name;
    EXPECT_DOUBLE_EQ(tests[0].rows[0].times[0].value(), 20e-6) << spelling.name;
  }
  EXPECT_EQ(parse_nccl_tests(table("", kRow), "h100-all_reduce-2.log")[0].kind, CollectiveKind::AllReduce)
      << "by the file's name";
}

TEST(read_nccl_tests, several_runs_in_one_file_stay_apart) {
  const auto tests = parse_nccl_tests(table("all_reduce_perf", kRow) + "# Avg bus bandwidth    : 52\n" +
                                          table("all_gather_perf", kHalf) + table("all_gather_perf", kHalf),
                                      "all.log");
  ASSERT_EQ(tests.size(), 3U);
  EXPECT_EQ(tests[0].kind, CollectiveKind::AllReduce);
  EXPECT_EQ(tests[2].kind, CollectiveKind::AllGather);
  EXPECT_EQ(tests[2].ranks, 2);
}

struct Refusal {
  std::string text;
  const char* says;
};

TEST(read_nccl_tests, says_what_is_wrong_with_a_log) {
  const std::string head = table("all_reduce_perf", "");
  const Refusal refusals[] = {
      {"", "run.log: expected a table of nccl-tests"},
      {"# nThread 1 nGpus 1 minBytes 8\n",
       "expected a table of nccl-tests; give what all_reduce_perf and its siblings print"},
      {"total 12\nnothing to see\n", "expected a table of nccl-tests"},
      {table("all_reduce_perf", "  1048576  262144  float  sum  -1  20.00  52.43\n"),
       "run.log:6: got \"1048576  262144"},
      {table("all_reduce_perf", "1048576 262144 float sum -1 20.00 52.43 52.43 12 19.00 55.19 55.19 0\n"),
       "got 12 wrong values, expected none"},
      {head + kRow + "# Out of bounds values : 12 FAILED\n", "expected a test that succeeded"},
      {head + kRow + "worker-1: Test NCCL failure common.cu:1279 'unhandled cuda error'\n",
       "expected a test that succeeded"},
      {head + kHalf,
       "got busbw/algbw 0.500, expected 1.000, as all_reduce over 2 ranks has; files or tables were mixed"},
      {table("", kRow), "a table without its test's name"},
      {table("hypercube_perf", kRow), "a collective that the cost model knows"},
      {"# Collective test starting: all_reduce_perf\n"
       "#  Rank  0 Group  0 Pid 1 on a device  0 [0x8d] NVIDIA H100 80GB HBM3\n" +
           std::string{kRow},
       "got 1 rank, expected at least two: nothing was communicated"},
      {"# Collective test starting: all_reduce_perf\n"
       "#  Rank  0 Group  0 Pid 1 on a device  0 [0x8d] NVIDIA H100 80GB HBM3\n"
       "#  Rank  0 Group  0 Pid 2 on b device  0 [0x8d] NVIDIA H100 80GB HBM3\n",
       "build nccl-tests with MPI=1"},
      {"# Collective test starting: all_reduce_perf\n" + std::string{kRow}, "got no line of ranks"},
      {"CA 'mlx5_0'\n\tCA type: MT4129\n", "'hexaplan cluster import run.log' reads"},
      {"#  Rank  0 Group  0 Pid 1 on a device  0 [0x8d] NVIDIA H100 80GB HBM3\n"
       "#  Rank  1 Group  0 Pid 1 on a device  1 [0x8d] NVIDIA H200\n",
       "expected the same device on all ranks"},
  };
  for (const Refusal& refusal : refusals) {
    try {
      (void)parse_nccl_tests(refusal.text, "run.log");
      ADD_FAILURE() << "accepted, though " << refusal.says << ":\n" << refusal.text;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(refusal.says));
    }
  }
}

TEST(read_nccl_tests, ends_with_an_error_or_a_table_wherever_a_log_is_cut_off) {
  const std::string whole = table("all_reduce_perf", kRow);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    try {
      const auto tests = parse_nccl_tests(whole.substr(0, length), "cut.log");
      ASSERT_FALSE(tests.empty());
      for (const NcclTest& test : tests) EXPECT_FALSE(test.rows.empty());
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("cut.log"));
    }
  }
}

}  // namespace
}  // namespace hexaplan::presets
