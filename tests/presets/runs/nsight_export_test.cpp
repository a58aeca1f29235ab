// Exports of Nsight Systems: real ones of two versions (README.md beside this file), and made ones for what
// training adds to them.
#include "presets/runs/nsight_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "presets/json/input_error.h"
#include "presets/runs/nvtx_ranges.h"
#include "presets/runs/trace_profile.h"
#include "presets/runs/traced_work.h"
#include "tests/presets/runs/nsight_file.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::presets {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kExports = HEXAPLAN_SOURCE_DIR "/tests/presets/runs/nsight/";

std::filesystem::path temporary(const std::string& name) {
  static const tests::TemporaryFolder folder;
  return folder.path() / name;
}

class nsight_export : public testing::Test {
 protected:
  DeviceTrace only() {
    std::vector<DeviceTrace> traces = read_nsight_export(file_.path());
    EXPECT_EQ(traces.size(), 1U);
    return std::move(traces.front());
  }
  /// The only message of a file, beside what calls of 16 ranks are.
  TraceMessage message() {
    file_.range("ncclCommInitRank", 0, 100, 1, NsightFile::kProcess, NsightFile::made(0xabc, 16, 3));
    const DeviceTrace trace = only();
    EXPECT_EQ(trace.messages.size(), 1U);
    return trace.messages.front();
  }

  NsightFile file_{temporary("nsight.sqlite")};
};

// Sums by SQL over the same tables; unions of intervals by a program of its own.
TEST(nsight_files, times_of_two_versions_are_those_that_sql_finds_in_their_tables) {
  struct Case {
    std::string file, device;
    std::size_t runs;
    double kernels, copies, busy, span;  // seconds
  };
  const Case cases[] = {
      {"saxpy_2022", "NVIDIA A100-SXM4-40GB", 20, 0.088573480, 0.284699600, 0.373273080, 1.097327843},
      {"cloverleaf_2024", "NVIDIA A100-SXM4-80GB", 80, 0.007608907, 0.000202432, 0.007811339, 0.014012826}};
  for (const Case& expected : cases) {
    const std::vector<DeviceTrace> traces = read_traces(kExports + expected.file + ".sqlite");
    ASSERT_EQ(traces.size(), 1U) << expected.file;
    const DeviceTrace& trace = traces.front();
    EXPECT_EQ(trace.profiler, Profiler::NsightSystems);
    EXPECT_EQ(trace.device, expected.device);
    EXPECT_EQ(trace.kernels.size(), expected.runs);
    const TraceProfile profile = profile_of(trace);
    const double copies = profile.kinds[static_cast<std::size_t>(KernelKind::Copy)].seconds;
    double all = 0;
    for (const KindShare& share : profile.kinds) all += share.seconds;
    EXPECT_NEAR(copies, expected.copies, 1e-9) << expected.file;
    EXPECT_NEAR(all - copies, expected.kernels, 1e-9) << expected.file;
    EXPECT_NEAR(profile.busy, expected.busy, 1e-9) << expected.file;
    EXPECT_NEAR(profile.step, expected.span, 1e-9) << expected.file;
    EXPECT_THAT(notes_of(trace, profile), Contains(HasSubstr("no step marked in it")));
  }
}

TEST_F(nsight_export, products_carry_the_shapes_of_the_operator_that_launched_them) {
  file_.range("aten::linear, seq = 7, op_id = 2, sizes = [[4096, 512], [256, 512], []]", 1000, 9000);
  file_.range("aten::addmm, seq = 7, op_id = 3, sizes = [[256], [4096, 512], [512, 256], [], []]", 2000,
              3000);
  file_.range("aten::mm, seq = 9, sizes = [[8, 16], [16, 32]]", 2000, 3000, 2);
  file_.kernel("sm90_xmma_gemm_bf16bf16_bf16f32", 50'000, 90'000, 2500);
  file_.kernel("nvjet_tst_128x256", 90'000, 91'000, 2600, 2);
  file_.kernel("cutlass::Kernel2<gemm>", 95'000, 96'000, 8000);  // by aten::linear itself
  const DeviceTrace trace = only();
  const TraceProfile profile = profile_of(trace);
  ASSERT_EQ(profile.gemms.size(), 2U);
  EXPECT_EQ(profile.gemms[0].gemm, (TraceGemm{.m = 4096, .n = 256, .k = 512, .type = ""}));
  EXPECT_NEAR(profile.gemms[0].rate, 2.0 * 4096 * 256 * 512 / 40e-6, 1e6);
  EXPECT_EQ(profile.gemms[1].gemm, (TraceGemm{.m = 8, .n = 32, .k = 16, .type = ""}));
  EXPECT_NEAR(profile.known_gemms, 41e-6, 1e-12);
}

TEST_F(nsight_export, a_reduction_is_as_large_as_its_tensor) {
  file_.range("ncclAllReduce", 1000, 2000, 1, NsightFile::kProcess, NsightFile::sized(0xabc, 1 << 20));
  file_.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 5000, 6000, 1500);
  const TraceMessage found = message();
  EXPECT_EQ(found.kind, "AllReduce");
  EXPECT_EQ(found.ranks, 16);
  EXPECT_EQ(found.bytes, 1 << 20);
}

TEST_F(nsight_export, of_a_gather_nccl_says_the_part_of_one_rank) {
  file_.range("ncclAllGather", 1000, 2000, 1, NsightFile::kProcess, NsightFile::sized(0xabc, 1000));
  file_.kernel("ncclDevKernel_AllGather_RING_LL", 5000, 6000, 1500);
  EXPECT_EQ(message().bytes, 16'000);
}

TEST_F(nsight_export, without_the_number_of_ranks_a_gather_has_no_size) {
  file_.range("ncclAllGather", 1000, 2000, 1, NsightFile::kProcess, NsightFile::sized(0xdef, 1000));
  file_.kernel("ncclDevKernel_AllGather_RING_LL", 5000, 6000, 1500);
  const TraceMessage found = message();
  EXPECT_EQ(found.ranks, 0);
  EXPECT_EQ(found.bytes, 0);
}

TEST_F(nsight_export, sends_to_many_in_one_group_are_an_all_to_all_of_what_they_send_together) {
  for (int peer = 0; peer < 16; ++peer) {
    file_.range("ncclSend", 1000 + 40 * peer, 1010 + 40 * peer, 1, NsightFile::kProcess,
                NsightFile::to_peer(0xabc, 500, peer));
    file_.range("ncclRecv", 1020 + 40 * peer, 1030 + 40 * peer, 1, NsightFile::kProcess,
                NsightFile::to_peer(0xabc, 400, peer));
  }
  file_.kernel("ncclDevKernel_SendRecv", 5000, 6000, 1900);
  const TraceMessage found = message();
  EXPECT_EQ(collective_of(found), costmodel::CollectiveKind::AllToAll);
  EXPECT_EQ(found.ranks, 16);
  EXPECT_EQ(found.bytes, 8000);
}

TEST_F(nsight_export, between_stages_one_send_is_a_message_of_two_ranks) {
  file_.range("ncclRecv", 1000, 1010, 1, NsightFile::kProcess, NsightFile::to_peer(0xabc, 700, 2));
  file_.range("ncclSend", 1020, 1030, 1, NsightFile::kProcess, NsightFile::to_peer(0xabc, 700, 4));
  file_.kernel("ncclDevKernel_SendRecv", 5000, 6000, 1900);
  const TraceMessage found = message();
  EXPECT_EQ(found.kind, "SendRecv");
  EXPECT_EQ(found.ranks, 2);
  EXPECT_EQ(found.bytes, 700);
}

TEST_F(nsight_export, calls_before_the_last_launch_belong_to_that) {
  file_.range("ncclAllReduce", 1000, 2000, 1, NsightFile::kProcess, NsightFile::sized(0xabc, 100));
  file_.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 5000, 6000, 1500);
  file_.kernel("ncclDevKernel_Broadcast_RING_LL", 7000, 8000, 3000);  // of no range
  const DeviceTrace trace = only();
  ASSERT_EQ(trace.messages.size(), 2U);
  EXPECT_EQ(trace.messages[0].bytes, 100);
  EXPECT_EQ(trace.messages[1].kind, "Broadcast");
  EXPECT_EQ(trace.messages[1].bytes, 0);
}

TEST_F(nsight_export, the_widest_of_the_ranges_that_programs_put_around_steps_marks_them) {
  for (int i = 0; i < 3; ++i) {
    const long long start = 10'000 * i;
    file_.range("iteration " + std::to_string(40 + i), start, start + 9000);
    file_.range("step", start + 100, start + 500);
    file_.kernel("at::native::vectorized_elementwise_kernel", start + 200, start + 4200, start);
  }
  const DeviceTrace trace = only();
  ASSERT_EQ(trace.steps.size(), 3U);
  EXPECT_EQ(trace.steps[1].iteration, 41);
  EXPECT_DOUBLE_EQ(trace.steps[1].duration, 9);
  EXPECT_EQ(profile_of(trace).steps, 3U);
}

TEST_F(nsight_export, without_them_a_step_ends_with_the_update_of_the_optimizer) {
  for (int i = 0; i < 3; ++i) {
    file_.range("Optimizer.step#AdamW.step", 10'000 * i, 10'000 * i + 1000);
    file_.kernel("multi_tensor_apply_kernel", 10'000 * i + 500, 10'000 * i + 900, 10'000 * i + 10);
  }
  const DeviceTrace trace = only();
  ASSERT_EQ(trace.steps.size(), 2U);
  EXPECT_DOUBLE_EQ(trace.steps[0].start, 1);
  EXPECT_DOUBLE_EQ(trace.steps[0].duration, 10);
}

TEST_F(nsight_export, every_process_and_device_has_a_trace_with_its_own_rank) {
  const long long other = 4712LL << 24;
  file_.gpu(0, "NVIDIA H100 80GB HBM3");
  file_.range("ncclCommInitRank", 0, 100, 1, NsightFile::kProcess, NsightFile::made(0xabc, 2, 0));
  file_.range("ncclCommInitRank", 0, 100, 1, other, NsightFile::made(0xabc, 2, 1));
  file_.kernel("flash_fwd_kernel", 1000, 2000, 500);
  file_.kernel("flash_fwd_kernel", 1000, 4000, 500, 1, 1, other);
  const std::vector<DeviceTrace> traces = read_nsight_export(file_.path());
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ(traces[0].rank, 0);
  EXPECT_EQ(traces[1].rank, 1);
  EXPECT_EQ(traces[1].world_size, 2);
  EXPECT_EQ(traces[1].part, "process 4712, GPU 1");
  EXPECT_EQ(traces[1].device, "NVIDIA H100 80GB HBM3");
  EXPECT_DOUBLE_EQ(profile_of(traces[0]).busy, 1e-6);
  EXPECT_DOUBLE_EQ(profile_of(traces[1]).busy, 3e-6);
}

// at::native's kernels carry the lambda that they apply in their names.
TEST(kernel_kinds, a_lambda_is_no_optimizer) {
  EXPECT_EQ(kind_of_kernel("void at::native::vectorized_elementwise_kernel<4, "
                           "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)::{lambda()#1}>"),
            KernelKind::Elementwise);
  EXPECT_EQ(kind_of_kernel("lamb_cuda_kernel_part1"), KernelKind::Optimizer);
  EXPECT_EQ(kind_of_kernel("par_ranged2d_kernel<CloverLeaf::{lambda(int, int)#1}>"), KernelKind::Other);
}

TEST_F(nsight_export, graphs_that_were_recorded_as_a_whole_are_told) {
  file_.run(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER, end INTEGER, deviceId INTEGER, "
      "streamId INTEGER, globalPid INTEGER)");
  file_.run("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(1000, 3000, 0, 7, 0)");
  const DeviceTrace trace = only();
  EXPECT_DOUBLE_EQ(profile_of(trace).busy, 2e-6);
  EXPECT_THAT(notes_of(trace, profile_of(trace)), Contains(HasSubstr("--cuda-graph-trace=node")));
}

std::string error_of(const std::filesystem::path& path) {
  try {
    (void)read_traces(path);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST_F(nsight_export, a_recording_without_kernels_says_how_to_record_them) {
  EXPECT_THAT(error_of(file_.path()), HasSubstr("nsys profile --trace=cuda,nvtx"));
}

TEST_F(nsight_export, a_view_in_place_of_a_table_is_none) {
  file_.run("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL");
  file_.run(
      "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start, 2 AS end, 0 AS deviceId, 0 AS streamId, "
      "0 AS demangledName");
  EXPECT_FALSE(is_nsight_export(file_.path()));
}

TEST(nsight_files, a_report_that_was_not_exported_gets_the_command_that_exports_it) {
  EXPECT_TRUE(is_trace("profile.nsys-rep"));
  EXPECT_THAT(error_of("profile.nsys-rep"), HasSubstr("nsys export --type sqlite profile.nsys-rep"));
}

TEST(nsight_files, damaged_bytes_are_an_error_or_a_trace_and_never_a_crash) {
  std::ifstream in{kExports + "saxpy_2022.sqlite", std::ios::binary};
  const std::string whole{std::istreambuf_iterator<char>{in}, {}};
  const std::filesystem::path path = temporary("damaged.sqlite");
  std::mt19937 random{7};  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same bytes every time
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    std::string bytes = whole;
    for (int k = 0; k < 1 + i % 40; ++k)
      bytes[16 + random() % (bytes.size() - 16)] = static_cast<char>(random());
    if (i % 5 == 0) bytes.resize(random() % bytes.size());
    std::ofstream{path, std::ios::binary} << bytes;
    try {
      for (const DeviceTrace& trace : read_nsight_export(path)) (void)profile_of(trace);
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 20);
  EXPECT_LT(refused, 200);
}

TEST(nvtx_ranges, names_of_steps_are_words_for_them_with_or_without_a_number) {
  struct Case {
    std::string text, word;
    std::optional<std::int64_t> number;
  };
  const Case cases[] = {{"iteration 12", "iteration", 12},
                        {"Step_3", "step", 3},
                        {"ProfilerStep#7", "profilerstep", 7},
                        {"train_step", "train_step", std::nullopt},
                        {"global_step: 9", "global_step", 9}};
  for (const Case& expected : cases) {
    const auto found = step_name(expected.text);
    ASSERT_TRUE(found) << expected.text;
    EXPECT_EQ(found->word, expected.word);
    EXPECT_EQ(found->number, expected.number);
  }
  for (const char* other :
       {"", "7", "optimizer_step_inner", "aten::mm", "step 99999999999999999999", "stepper"})
    EXPECT_FALSE(step_name(other)) << other;
}

TEST(nvtx_ranges, dimensions_of_inputs_are_read_as_emit_nvtx_writes_them) {
  EXPECT_THAT(
      input_dims_of_range("aten::mm, seq = 3, op_id = 1, sizes = [[4, 8], [8, 2]], input_op_ids = [1]"),
      ElementsAre(ElementsAre(4, 8), ElementsAre(8, 2)));
  EXPECT_THAT(input_dims_of_range("aten::addmm, sizes = [[], [4, 8], [8, 2]]"),
              ElementsAre(IsEmpty(), ElementsAre(4, 8), ElementsAre(8, 2)));
  EXPECT_THAT(input_dims_of_range("aten::mm, seq = 3"), IsEmpty());
  EXPECT_THAT(input_dims_of_range("aten::cat, sizes = [[[4, 8], [8, 2]]]"), IsEmpty());
  EXPECT_THAT(input_dims_of_range("aten::mm, sizes = [[4, 8], [8"), IsEmpty());
}

}  // namespace
}  // namespace hexaplan::presets
