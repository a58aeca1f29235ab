#include "presets/calibration/find_calibration.h"

#include <gtest/gtest.h>

#include "costmodel/compute/kernel_time.h"
#include "presets/catalog/catalog.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/gpus/gpu_preset.h"
#include "presets/json/read_json.h"

namespace hexaplan::presets {
namespace {

using costmodel::Calibration;
using costmodel::GemmShape;
using costmodel::GpuSpec;
using costmodel::Precision;
using costmodel::Provenance;

TEST(find_calibration, measured_gpus_have_their_own_curves) {
  for (const char* name : {"a100-80-sxm", "h100-80-sxm", "h200", "b200", "b300", "gb200", "gb300", "l40s"}) {
    const Calibration calibration = find_calibration(find_gpu(name));
    EXPECT_EQ(calibration.gpu, name);
    EXPECT_EQ(calibration.provenance, Provenance::Measured) << name;
    EXPECT_EQ(calibration.gemm[static_cast<std::size_t>(Precision::Bf16)].provenance, Provenance::Measured)
        << name;
    EXPECT_FALSE(calibration.attention.empty()) << name;
    EXPECT_FALSE(calibration.source.empty()) << name;
  }
}

TEST(find_calibration, siblings_borrow_and_say_so) {
  const Calibration own = find_calibration(find_gpu("a100-80-sxm"));
  const Calibration sibling = find_calibration(find_gpu("a100-80-pcie"));
  EXPECT_EQ(sibling.provenance, Provenance::Borrowed);
  EXPECT_NEAR(sibling.sustained / own.sustained, 0.90, 1e-12);
  EXPECT_NEAR(sibling.attention[0].forward[0] / own.attention[0].forward[0], 1.0, 1e-12);
  EXPECT_EQ(sibling.memory.provenance, Provenance::Borrowed);
  EXPECT_GT(sibling.time_sigma, own.time_sigma);
  EXPECT_NE(sibling.source.find("curves of a100-80-sxm"), std::string::npos) << sibling.source;
}

TEST(find_calibration, a_cluster_brings_the_curves_of_its_links) {
  const costmodel::ClusterSpec cluster = parse_cluster("16xH100");
  const auto [calibration, fabric, slowdown, runs] = find_calibration(cluster);
  EXPECT_EQ(calibration.gpu, "h100-80-sxm");
  EXPECT_FALSE(calibration.collectives.empty());
  EXPECT_EQ(fabric.inside, Provenance::Measured);
  EXPECT_FALSE(runs);
  EXPECT_EQ(slowdown, 0) << "nobody measured it: the framework profile's holds";
}

TEST(find_calibration, unknown_gpus_get_the_prior) {
  GpuSpec gpu = find_gpu("h100-80-sxm");
  gpu.name = "my-own-accelerator";
  const Calibration calibration = find_calibration(gpu);
  EXPECT_EQ(calibration.provenance, Provenance::Prior);
  EXPECT_EQ(calibration.name, "prior");
  EXPECT_GT(calibration.time_sigma, 0.2);
}

TEST(find_calibration, every_gpu_preset_is_measured_or_borrows) {
  for (const std::string& name : list_presets(PresetKind::Gpu)) {
    if (name == "cpu") continue;  // every host is another: hexaplan calibrate --device cpu
    EXPECT_NE(find_calibration(find_gpu(name)).provenance, Provenance::Prior)
        << name << ": add a row to presets/calibration/borrowed/siblings.json";
  }
}

TEST(find_calibration, shares_refer_to_the_peaks_of_the_gpu_presets) {
  for (const std::string& name : list_presets(PresetKind::Calibration)) {
    const GpuSpec gpu = find_gpu(name);
    const JsonDocument document = read_json_file(find_preset(PresetKind::Calibration, name));
    for (const auto& [precision, curve] : *document.root.find("gemm")->get_if<JsonObject>()) {
      const Precision p = precision == "bf16"        ? Precision::Bf16
                          : precision == "fp8"       ? Precision::Fp8
                          : precision == "fp8-block" ? Precision::Fp8Block
                                                     : Precision::Nvfp4;
      const double stated = std::stod(*curve.find("peak")->get_if<std::string>());
      EXPECT_NEAR(gpu.peak_of(p).value() / 1e12 / stated, 1.0, 0.01) << name << " " << precision;
    }
  }
}

constexpr GemmShape kStarts[] = {{.m = 1, .n = 512, .k = 64},
                                 {.m = 100, .n = 4096, .k = 1000},
                                 {.m = 3000, .n = 1500, .k = 4096},
                                 {.m = 9000, .n = 900, .k = 900}};

/// Time of ever larger shapes along one dimension, 400 steps of about 2 %.
void expect_growing_time(const GpuSpec& gpu, const Calibration& calibration, Precision precision,
                         GemmShape shape, std::int64_t GemmShape::*dimension) {
  double before = 0;
  for (int step = 0; step < 400; ++step, shape.*dimension += 1 + shape.*dimension / 50) {
    const double time = gemm_time(shape, precision, gpu, calibration).value();
    ASSERT_GE(time, before * (1 - 1e-12))
        << gpu.name << " m " << shape.m << " n " << shape.n << " k " << shape.k << " batch " << shape.batch;
    before = time;
  }
}

TEST(find_calibration, time_grows_with_every_dimension_on_every_measured_gpu) {
  for (const std::string& name : list_presets(PresetKind::Calibration)) {
    const GpuSpec gpu = find_gpu(name);
    const Calibration calibration = find_calibration(gpu);
    for (const Precision precision : {Precision::Bf16, Precision::Fp8, Precision::Nvfp4, Precision::Tf32}) {
      for (const GemmShape& start : kStarts) {
        for (const auto dimension : {&GemmShape::m, &GemmShape::n, &GemmShape::k, &GemmShape::batch}) {
          expect_growing_time(gpu, calibration, precision, start, dimension);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hexaplan::presets
