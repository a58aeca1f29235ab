#include "presets/gpus/gpu_preset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "presets/catalog/catalog.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/json/input_error.h"
#include "tests/presets/json/error_text.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::presets {
namespace {

using costmodel::GpuSpec;
using costmodel::Precision;

constexpr double kGiB = 1024.0 * 1024 * 1024;

struct GpuCase {
  std::string name;
  double memory_gib, bandwidth_tb, bf16_tflops, fp8_tflops;  // 0 = no such unit
  int sm_count;
  double watts;
};
void PrintTo(const GpuCase& row, std::ostream* out) {
  *out << row.name;
}
class Gpu : public testing::TestWithParam<GpuCase> {};
TEST_P(Gpu, has_the_figures_of_its_datasheet) {
  const GpuSpec gpu = find_gpu(GetParam().name);
  EXPECT_EQ(gpu.name, GetParam().name);
  EXPECT_NEAR(gpu.memory.value() / kGiB, GetParam().memory_gib, 0.005);
  EXPECT_NEAR(gpu.memory_bandwidth.value() / 1e12, GetParam().bandwidth_tb, 0.0005);
  EXPECT_NEAR(gpu.peak_of(Precision::Bf16).value() / 1e12, GetParam().bf16_tflops, 0.05);
  EXPECT_NEAR(gpu.peak_of(Precision::Fp8).value() / 1e12, GetParam().fp8_tflops, 0.05);
  EXPECT_EQ(gpu.sm_count, GetParam().sm_count);
  EXPECT_EQ(gpu.power_watts, GetParam().watts);
}
INSTANTIATE_TEST_SUITE_P(table, Gpu,
                         testing::Values(GpuCase{"v100-16", 15.77, 0.9, 0, 0, 80, 300},
                                         GpuCase{"v100-32-sxm3", 31.73, 0.9, 0, 0, 80, 350},
                                         GpuCase{"v100-32-450w", 31.73, 0.9, 0, 0, 80, 450},
                                         GpuCase{"a100-40-sxm", 39.49, 1.555, 312, 0, 108, 400},
                                         GpuCase{"a100-80-sxm", 79.25, 2.039, 312, 0, 108, 400},
                                         GpuCase{"h100-80-sxm", 79.18, 3.352, 989.4, 1978.9, 132, 700},
                                         GpuCase{"h100-80-pcie", 79.18, 2.039, 756, 1513, 114, 350},
                                         GpuCase{"h100-96-hbm2e", 95, 2.4, 989.4, 1978.9, 132, 500},
                                         GpuCase{"h200", 139.8, 4.8, 989.4, 1978.9, 132, 700},
                                         GpuCase{"b200", 178.35, 7.67, 2250, 4500, 148, 1000},
                                         GpuCase{"b200-750w", 178.35, 7.67, 2250, 4500, 148, 750},
                                         GpuCase{"gb200", 184.31, 8, 2500, 5000, 152, 1200},
                                         GpuCase{"mi300x", 191.98, 5.3, 1307.4, 2614.9, 304, 750},
                                         GpuCase{"rtx4090", 23.64, 1.008, 165.2, 330.3, 128, 450},
                                         GpuCase{"rtx5090", 31.36, 1.792, 209.5, 419, 170, 575},
                                         GpuCase{"rtx-pro-6000", 94.97, 1.792, 500, 1000, 188, 600},
                                         GpuCase{"rtx-a6000", 47.54, 0.768, 154.8, 0, 84, 300},
                                         GpuCase{"a40", 44.43, 0.696, 149.7, 0, 84, 300},
                                         GpuCase{"t4", 14.56, 0.32, 0, 0, 40, 70}),
                         [](const auto& row) {
                           std::string name = row.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(gpu_presets, cover_the_gpus_of_published_measurements) {
  for (const char* name :
       {"v100-16", "v100-32",     "a100-40-pcie", "a100-40-sxm", "a100-80-pcie",  "a100-80-sxm",
        "a800-80", "h100-80-sxm", "h100-80-pcie", "h100-94-nvl", "h100-96-hbm2e", "h200",
        "h800",    "h20",         "b200",         "b300",        "gb200",         "gb300",
        "mi250x",  "mi300x",      "mi325x",       "mi350x",      "mi355x",        "l4",
        "l40s",    "a10g",        "rtx3090",      "rtx4090"}) {
    EXPECT_NO_THROW((void)find_gpu(name)) << name;
  }
}

TEST(gpu_presets, are_all_readable_and_plausible) {
  for (const std::string& name : list_presets(PresetKind::Gpu)) {
    const GpuPreset preset = find_gpu_preset(name);
    const GpuSpec& gpu = preset.spec;
    EXPECT_GT(gpu.memory.value(), 8 * kGiB) << name;
    if (name == "cpu") continue;  // nominal: what its calibration refers to
    EXPECT_GT(gpu.peak_of(Precision::Fp16).value(), gpu.peak_of(Precision::Fp32).value()) << name;
    EXPECT_GE(gpu.peak_of(Precision::Fp32).value(), gpu.peak_vector.value()) << name;
    EXPECT_EQ(gpu.peak_of(Precision::Fp8), gpu.peak_of(Precision::Fp8Block)) << name;
    EXPECT_THAT((std::vector<std::string>{"volta", "turing", "ampere", "ada", "hopper", "blackwell", "cdna2",
                                          "cdna3", "cdna4"}),
                testing::Contains(gpu.architecture))
        << name;
    EXPECT_NO_THROW((void)find_network(preset.node.network)) << name;
    for (std::size_t i = 0; i + 1 < preset.node.links.size(); ++i) {
      EXPECT_LT(preset.node.links[i].ranks, preset.node.links[i + 1].ranks) << name;
    }
    for (const auto& [field, source] : preset.sources) {
      EXPECT_GE(source.size(), 20u) << name << " " << field;
    }
  }
}

TEST(gpu_presets, know_what_a_device_cannot_do) {
  EXPECT_EQ(find_gpu("v100-32").peak_of(Precision::Bf16).value(), 0);
  EXPECT_EQ(find_gpu("a100").peak_of(Precision::Fp8).value(), 0);
  EXPECT_EQ(find_gpu("h100").peak_of(Precision::Mxfp8).value(), 0);
  EXPECT_GT(find_gpu("b200").peak_of(Precision::Mxfp8).value(), 0);
  EXPECT_GT(find_gpu("b200").peak_of(Precision::Nvfp4).value(),
            find_gpu("b200").peak_of(Precision::Fp8).value());
}

class BadGpu : public testing::Test {
 protected:
  /// Error of the H100's file with one text replaced by another.
  static std::string error_with(const std::string& from, const std::string& to) {
    std::ifstream original{find_preset(PresetKind::Gpu, "h100")};
    std::string text{std::istreambuf_iterator<char>{original}, {}};
    const std::size_t at = text.rfind(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const tests::TemporaryFolder folder;
    const std::string error =
        error_text([&] { (void)read_gpu_preset(folder.file("h100-80-sxm.json", text)); });
    return error.substr(std::min(error.size(), error.find(": ")));
  }
};
TEST_F(BadGpu, is_one_clear_line) {
  EXPECT_EQ(error_with("\"79.18 GiB\"", "79.18"),
            ": /memory: got 79.18, expected a size with its unit, such as \"80 GiB\"");
  EXPECT_EQ(error_with("\"sm_count\": 132", "\"sm_count\": 0"),
            ": /sm_count: got 0, expected a whole number from 1 to 100000");
  EXPECT_EQ(error_with("\"nvswitch\"", "\"nvswich\""),
            ": /node/links/0/fabric: got \"nvswich\", expected one of nvlink, nvswitch, pcie, "
            "infinity-fabric; did you "
            "mean \"nvswitch\"?");
  EXPECT_EQ(error_with("\"fp16\"", "\"fp61\""),
            ": /peak/fp61: got an unknown key, expected one of fp32, tf32, fp16, bf16, fp8, fp8-block, "
            "mxfp8, nvfp4; "
            "did you mean \"fp16\"?");
}
TEST_F(BadGpu, lacks_the_source_of_a_number) {
  EXPECT_EQ(error_with("\"power_watts\": \"", "\"watts\": \""),
            ": /sources: got an object, expected a source for power_watts");
}

TEST(gpu_files, of_the_users_own_are_read_like_presets) {
  const tests::TemporaryFolder own;
  const std::filesystem::path& folder = own.path();
  std::filesystem::copy_file(find_preset(PresetKind::Gpu, "rtx4090"), folder / "mine.json");
  std::ofstream{folder / "cluster.json"} << R"({"title": "Mine", "gpu": ")" << (folder / "mine.json").string()
                                         << R"(", "nodes": 2, "gpus_per_node": 4, "network": "ib",
    "network_gbps": 400, "sources": {}})";
  EXPECT_EQ(find_gpu((folder / "mine.json").string()).name, "mine");
  EXPECT_EQ(parse_cluster("8x" + (folder / "mine.json").string()).gpu.name, "mine");
  const costmodel::ClusterSpec cluster = parse_cluster((folder / "cluster.json").string());
  EXPECT_EQ(cluster.gpus, 8);
  EXPECT_EQ(cluster.gpu.name, "mine");
  EXPECT_THROW((void)find_gpu((folder / "other.json").string()), InputError);
}

}  // namespace
}  // namespace hexaplan::presets
