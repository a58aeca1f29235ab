// Written, read back, and used in place of the built-in links and curves.
#include <gmock/gmock.h>

#include <fstream>

#include "presets/calibration/find_calibration.h"
#include "presets/calibration/read_calibration.h"
#include "presets/calibration/write_calibration.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/gpus/gpu_preset.h"
#include "presets/json/input_error.h"
#include "presets/scenario/scenario_request.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::presets {
namespace {

using costmodel::Calibration;
using costmodel::CollectiveKind;
using costmodel::Precision;

std::filesystem::path write(const std::string& name, const JsonValue& json) {
  static const tests::TemporaryFolder folder;
  return folder.file(name, to_text(json));
}

LinksToWrite some_links() {
  LinksToWrite links{.gpus = {"h100-80-sxm"}, .source = "a test", .date = "2026-11-22", .network_kind = "ib"};
  links.collectives = {{CollectiveKind::AllGather, 8, {{10, 20, 30}}, {11.5, 42.25, 1234.5}}};
  links.network = costmodel::NetworkModel{.bandwidth_efficiency = 0.77,
                                          .base_latency = costmodel::Seconds{21e-6},
                                          .hop_latency = costmodel::Seconds{3e-6},
                                          .contention_per_doubling = 0.125,
                                          .pair_share = 0.75,
                                          .exchange_share = 0.5};
  links.overlap_slowdown = 1.21;
  return links;
}

void expect_links(const Calibration& calibration) {
  ASSERT_EQ(calibration.collectives.size(), 1U);
  EXPECT_EQ(calibration.collectives[0].kind, CollectiveKind::AllGather);
  EXPECT_EQ(calibration.collectives[0].ranks, 8);
  EXPECT_THAT(calibration.collectives[0].size.log2, testing::ElementsAre(10, 20, 30));
  EXPECT_THAT(calibration.collectives[0].microseconds, testing::ElementsAre(11.5, 42.25, 1234.5));
  EXPECT_DOUBLE_EQ(calibration.network.bandwidth_efficiency, 0.77);
  EXPECT_DOUBLE_EQ(calibration.network.base_latency.value(), 21e-6);
  EXPECT_DOUBLE_EQ(calibration.network.contention_per_doubling, 0.125);
  EXPECT_DOUBLE_EQ(calibration.network.pair_share, 0.75);
  EXPECT_DOUBLE_EQ(calibration.network.exchange_share, 0.5);
}

TEST(own_fabric, a_request_takes_it_instead_of_the_clusters_links) {
  ScenarioRequest request;
  request.fabric = write("own_fabric.json", fabric_json(some_links(), true)).string();
  const ClusterCalibration found = calibration_for(request, parse_cluster("16xH100"));
  expect_links(found.calibration);
  EXPECT_EQ(found.overlap_slowdown, 1.21);
  EXPECT_EQ(found.fabric.inside, costmodel::Provenance::Measured);
  EXPECT_EQ(found.fabric.inside_source, "a test");
  EXPECT_EQ(read_scenario({"s.json", to_json(request)}).fabric, request.fabric);
  try {
    (void)calibration_for(request, parse_cluster("16xH200"));
    ADD_FAILURE() << "taken for another GPU";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("expected links measured on h200, the cluster's GPU"));
  }
}

CalibrationOrigin origin_of(const Calibration& calibration, std::vector<Precision> precisions) {
  CalibrationOrigin origin{.sustained = "s",
                           .grouped = "g",
                           .accumulate_exposed = "a",
                           .memory = "m",
                           .optimizer = "o",
                           .attention_unmasked = "u",
                           .attention_windowed = "w"};
  for (const Precision p : precisions) origin.gemm.push_back({p, "own"});
  origin.attention.assign(calibration.attention.size(), "own");
  return origin;
}

TEST(write_calibration, is_read_back_as_it_was) {
  const costmodel::GpuSpec h100 = find_gpu("h100");
  Calibration before = find_calibration(h100);
  before.optimizer = {.share = 0.71, .ramp = costmodel::Seconds{4e-6}};
  before.gemm[static_cast<std::size_t>(Precision::Fp8)].sustained = 0.93;
  before.attention_unmasked = 1.07;
  before.attention_windowed = 0.83;
  before.context = costmodel::Bytes{512.0 * 1024 * 1024};
  const LinksToWrite links = some_links();
  const auto path =
      write("calibration.json",
            calibration_json(before, h100, origin_of(before, {Precision::Bf16, Precision::Fp8}), &links));
  const Calibration after = read_calibration(path);
  EXPECT_EQ(after.gpu, "h100-80-sxm");
  EXPECT_EQ(after.provenance, costmodel::Provenance::Measured);
  EXPECT_NEAR(after.sustained, before.sustained, 1e-5);
  EXPECT_NEAR(after.memory.share, before.memory.share, 1e-5);
  EXPECT_NEAR(after.optimizer.share, 0.71, 1e-5);
  EXPECT_NEAR(after.optimizer.ramp.value(), 4e-6, 1e-10);
  EXPECT_EQ(after.attention_unmasked, 1.07);
  EXPECT_EQ(after.attention_windowed, 0.83);
  EXPECT_EQ(after.context, before.context);
  EXPECT_NEAR(after.memory.ramp.value(), before.memory.ramp.value(), 1e-10);
  for (const Precision p : {Precision::Bf16, Precision::Fp8}) {
    const auto &a = after.gemm[static_cast<std::size_t>(p)], &b = before.gemm[static_cast<std::size_t>(p)];
    EXPECT_NEAR(a.share, b.share, 1e-5);
    EXPECT_NEAR(a.sustained, b.sustained, 1e-5);
    EXPECT_EQ(a.k_half, b.k_half);
    EXPECT_EQ(a.area.log2, b.area.log2);
    EXPECT_THAT(a.correction, testing::Pointwise(testing::DoubleNear(1e-5), b.correction));
  }
  const costmodel::GemmCurve& blocks = after.gemm[static_cast<std::size_t>(Precision::Fp8Block)];
  EXPECT_EQ(blocks.sustained, 0.93) << "borrowed from fp8";
  EXPECT_EQ(blocks.provenance, costmodel::Provenance::Borrowed);
  ASSERT_EQ(after.attention.size(), before.attention.size());
  EXPECT_THAT(after.attention[1].backward,
              testing::Pointwise(testing::DoubleNear(1e-4), before.attention[1].backward));
  ScenarioRequest request;
  request.calibration = path.string();
  expect_links(calibration_for(request, parse_cluster("16xH100")).calibration);
}

TEST(write_calibration, a_processor_has_fp32_alone) {
  const costmodel::GpuSpec cpu = find_gpu("cpu");
  Calibration calibration;
  calibration.name = calibration.gpu = "cpu";
  costmodel::GemmCurve& curve = calibration.gemm[static_cast<std::size_t>(Precision::Fp32)];
  curve.share = 0.31;
  calibration.attention.push_back(
      {.head_dim = 32, .sequence = {{6, 8}}, .forward = {0.02, 0.03}, .backward = {0.01, 0.02}});
  const auto path = write(
      "cpu.json", calibration_json(calibration, cpu, origin_of(calibration, {Precision::Fp32}), nullptr));
  const Calibration after = read_calibration(path);
  EXPECT_NEAR(after.gemm[static_cast<std::size_t>(Precision::Fp32)].share, 0.31, 1e-6);
  EXPECT_NEAR(after.attention[0].forward[1], 0.03, 1e-6);
  EXPECT_EQ(after.optimizer.share, 0) << "not measured, not written";
  EXPECT_EQ(after.attention_windowed, 1);
  EXPECT_FALSE(read_own_fabric(path).has_value());
}

TEST(gpu_of_device, knows_what_drivers_call_them) {
  EXPECT_EQ(gpu_of_device("NVIDIA H100 80GB HBM3"), "h100-80-sxm");
  EXPECT_EQ(gpu_of_device("NVIDIA H200"), "h200");
  EXPECT_EQ(gpu_of_device("NVIDIA A100-SXM4-40GB"), "a100-40-sxm");
  EXPECT_EQ(gpu_of_device("Tesla V100-SXM2-16GB"), "v100-16");
  EXPECT_EQ(gpu_of_device("NVIDIA GH200 120GB"), "gh200");
  EXPECT_EQ(gpu_of_device("NVIDIA GH200 480GB"), "gh200");
  EXPECT_EQ(gpu_of_device("NVIDIA B300 SXM6 AC"), "b300");
  EXPECT_EQ(gpu_of_device("NVIDIA GeForce RTX 4090"), "rtx4090");
  EXPECT_EQ(gpu_of_device("NVIDIA Graphics Device"), std::nullopt);
}

TEST(gpu_of_device, finds_it_in_what_devices_tell_of_themselves) {
  EXPECT_EQ(gpu_of_device("cuda:0 NVIDIA H100 80GB HBM3, bfloat16"), "h100-80-sxm");
  EXPECT_EQ(gpu_of_device("8 × NVIDIA H200, driver for CUDA 13.0"), "h200");
  EXPECT_EQ(gpu_of_device("cpu, float64"), "cpu");
  EXPECT_EQ(gpu_of_device(""), std::nullopt);
}

}  // namespace
}  // namespace hexaplan::presets
