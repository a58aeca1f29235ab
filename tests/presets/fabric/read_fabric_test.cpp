#include "presets/calibration/fabric/read_fabric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "costmodel/communication/collective_time.h"
#include "presets/clusters/cluster_preset.h"
#include "tests/presets/json/error_text.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::presets {
namespace {

using costmodel::Bytes;
using costmodel::BytesPerSecond;
using costmodel::Calibration;
using costmodel::ClusterSpec;
using costmodel::CollectiveKind;
using costmodel::Fabric;
using costmodel::GroupPlacement;
using costmodel::Provenance;
using costmodel::Seconds;

const std::filesystem::path kFolder =
    std::filesystem::path{HEXAPLAN_SOURCE_DIR} / "presets/calibration/fabric";

ClusterSpec cluster(const std::string& gpu, const std::string& architecture, Fabric fabric,
                    double inside_gbps, std::int64_t node, const std::string& network) {
  ClusterSpec result;
  result.gpu.name = gpu;
  result.gpu.architecture = architecture;
  result.gpus = 64 * node;
  result.levels = {
      {"inside", fabric, node, BytesPerSecond{inside_gbps * 1e9}, Seconds{}, architecture != "ampere"},
      {network, Fabric::Network, 64 * node, BytesPerSecond{50e9}, Seconds{}, false}};
  return result;
}
GroupPlacement group(std::int64_t ranks, std::int64_t per_node) {
  GroupPlacement placement;
  placement.ranks = ranks;
  placement.levels = 2;
  placement.within = {std::min(ranks, per_node), ranks, ranks, ranks};
  return placement;
}
/// nccl-tests' bus bandwidth in GB/s.
double bus(CollectiveKind kind, double bytes, const GroupPlacement& placement, const ClusterSpec& on) {
  Calibration calibration;
  read_fabric(kFolder, on, calibration);
  const double n = static_cast<double>(placement.ranks);
  const double factor = (kind == CollectiveKind::AllReduce ? 2 : 1) * (n - 1) / n;
  return factor * bytes /
         costmodel::collective_cost(kind, Bytes{bytes}, placement, on, calibration).time.value() / 1e9;
}

struct CurveFile {
  std::string gpu, architecture;
  std::int64_t node;
  std::size_t curves;
};
TEST(fabric_presets, hold_measured_curves_of_these_gpus) {
  const CurveFile files[] = {
      {"v100-32", "volta", 8, 7},       {"a100-80-sxm", "ampere", 8, 12}, {"a100-40-sxm", "ampere", 8, 12},
      {"h100-80-sxm", "hopper", 8, 12}, {"h200", "hopper", 8, 12},        {"b200", "blackwell", 8, 12},
      {"b300", "blackwell", 8, 12},     {"gb200", "blackwell", 72, 8},    {"gb300", "blackwell", 72, 8}};
  for (const CurveFile& file : files) {
    Calibration calibration;
    const FabricOrigin origin =
        read_fabric(kFolder, cluster(file.gpu, file.architecture, Fabric::NvSwitch, 450, file.node, "ib-ndr"),
                    calibration);
    EXPECT_EQ(calibration.collectives.size(), file.curves) << file.gpu;
    EXPECT_EQ(origin.inside, Provenance::Measured) << file.gpu;
    EXPECT_FALSE(origin.inside_source.empty()) << file.gpu;
  }
}

TEST(fabric_presets, have_no_curves_for_gpus_nobody_measured_or_on_another_link) {
  for (const char* gpu : {"mi300x", "h800", "a100-80-pcie", "h100-80-pcie"}) {
    Calibration calibration;
    calibration.collectives.resize(3);
    const FabricOrigin origin =
        read_fabric(kFolder, cluster(gpu, "ampere", Fabric::NvSwitch, 450, 8, "ib-ndr"), calibration);
    EXPECT_TRUE(calibration.collectives.empty()) << gpu;
    EXPECT_EQ(origin.inside, Provenance::Prior) << gpu;
  }
  Calibration calibration;
  read_fabric(kFolder, cluster("h100-80-sxm", "hopper", Fabric::Pcie, 64, 8, "ib-ndr"), calibration);
  EXPECT_TRUE(calibration.collectives.empty());
}

struct NetworkCase {
  std::string level, gpu, architecture, entry;
  Provenance provenance;
};
TEST(fabric_presets, know_networks_by_kind_and_take_a_prior_for_others) {
  const NetworkCase cases[] = {{"ib400", "h200", "hopper", "ib", Provenance::Measured},
                               {"ib50", "a100-80-sxm", "ampere", "ib", Provenance::Measured},
                               {"ib-ndr", "h200", "hopper", "ib", Provenance::Measured},
                               {"efa400", "h100-80-sxm", "hopper", "efa", Provenance::Measured},
                               {"efa400", "b200", "blackwell", "efa v4", Provenance::Measured},
                               {"roce50", "a800-80", "ampere", "roce", Provenance::Prior},
                               {"carrier pigeon", "h200", "hopper", "unknown", Provenance::Prior}};
  for (const NetworkCase& row : cases) {
    Calibration calibration;
    const FabricOrigin origin = read_fabric(
        kFolder, cluster(row.gpu, row.architecture, Fabric::NvSwitch, 450, 8, row.level), calibration);
    EXPECT_EQ(origin.network, row.entry) << row.level;
    EXPECT_EQ(origin.network_provenance, row.provenance) << row.level;
    EXPECT_FALSE(origin.network_source.empty()) << row.level;
    EXPECT_GT(calibration.network.bandwidth_efficiency, 0) << row.level;
  }
}

TEST(fabric_presets, speak_of_every_network_that_a_cluster_can_be_written_with) {
  const std::pair<std::string, std::string> clusters[] = {{"16x8xH100", "ib"},
                                                          {"4x8xH100+efa3200", "efa"},
                                                          {"4x8xB200+efa3200", "efa v4"},
                                                          {"jean-zay", "omni-path"},
                                                          {"perlmutter", "slingshot"},
                                                          {"llama3-405b", "roce"},
                                                          {"2x8xH100+ethernet100", "ethernet"}};
  for (const auto& [text, entry] : clusters) {
    Calibration calibration;
    EXPECT_EQ(read_fabric(kFolder, parse_cluster(text), calibration).network, entry) << text;
  }
}

TEST(fabric_presets, hold_a_ceiling_for_tcp_that_faster_cards_do_not_lift) {
  const auto rate = [](double card_gbps) {
    ClusterSpec on = cluster("a100-80-sxm", "ampere", Fabric::NvSwitch, 300, 8, "ethernet");
    on.levels.back().bandwidth = BytesPerSecond{card_gbps * 1e9};
    return bus(CollectiveKind::AllGather, 1e9, group(16, 8), on);
  };
  EXPECT_LT(rate(0.5), rate(5));
  EXPECT_EQ(rate(50), rate(5));
}

// Inside a node: figures the curves were not made from. Between nodes: those networks.json was fitted to.

struct PublishedBus {
  std::string source;
  CollectiveKind kind;
  double bytes;
  GroupPlacement group;
  ClusterSpec cluster;
  double gbps, tolerance;
};
TEST(fabric_presets, reproduce_published_bus_bandwidths) {
  const auto h200 = cluster("h200", "hopper", Fabric::NvSwitch, 450, 8, "ib-ndr");
  const auto b200 = cluster("b200", "blackwell", Fabric::NvSwitch, 900, 8, "efa400");
  const auto vista = cluster("gh200", "hopper", Fabric::NvSwitch, 450, 1, "ib-ndr");
  const double gib = 1073741824.0;
  const PublishedBus rows[] = {
      {"ml-engineering l.979: H200, 8 GPUs", CollectiveKind::AllReduce, 16 * gib, group(8, 8), h200, 480,
       0.05},
      {"ml-engineering l.979: H200, 8 GPUs", CollectiveKind::AllGather, 16 * gib, group(8, 8), h200, 361.4,
       0.05},
      {"ml-engineering l.979: H200, 8 GPUs", CollectiveKind::ReduceScatter, 16 * gib, group(8, 8), h200,
       362.9, 0.05},
      {"ml-engineering l.1400: B200, 8 GPUs", CollectiveKind::AllReduce, 4 * gib, group(8, 8), b200, 740.6,
       0.05},
      {"ml-engineering l.1400: 4 p6-b200, 16 GiB", CollectiveKind::AllReduce, 16 * gib, group(32, 8), b200,
       381.8, 0.05},
      {"ml-engineering l.1400: 4 p6-b200, 64 MiB", CollectiveKind::AllReduce, gib / 16, group(32, 8), b200,
       156.7, 0.15},
      {"ml-engineering l.1400: 4 p6-b200, 1 MiB", CollectiveKind::AllReduce, gib / 1024, group(32, 8), b200,
       5.37, 0.15},
      {"Vista: 8 GH200, 2 GB", CollectiveKind::AllReduce, 2.39e9, group(8, 1), vista, 48.5, 0.05},
  };
  for (const PublishedBus& row : rows) {
    EXPECT_NEAR(bus(row.kind, row.bytes, row.group, row.cluster), row.gbps, row.tolerance * row.gbps)
        << row.source;
  }
}

// --- errors
// ---------------------------------------------------------------------------------------------------------

struct BrokenCase {
  std::string name, collectives, message;
};
TEST(fabric_presets, that_are_broken_say_where_and_what_was_expected) {
  const BrokenCase cases[] = {
      {"falling times", R"({"kind": "all_reduce", "ranks": 8, "size_bytes": [1, 2], "microseconds": [9, 8]})",
       "/collectives/0/microseconds: got an array, expected times that never fall as the size grows"},
      {"unequal lengths", R"({"kind": "all_reduce", "ranks": 8, "size_bytes": [1, 2], "microseconds": [9]})",
       "/collectives/0/microseconds: got an array, expected one time per size"},
      {"unordered sizes",
       R"({"kind": "all_reduce", "ranks": 8, "size_bytes": [2, 2], "microseconds": [8, 9]})",
       "/collectives/0/size_bytes: got an array, expected sizes that rise, at least one"},
      {"unknown kind", R"({"kind": "all_redce", "ranks": 8, "size_bytes": [1], "microseconds": [9]})",
       "all_reduce"},
  };
  const tests::TemporaryFolder own;
  const std::filesystem::path& folder = own.path();
  for (const BrokenCase& row : cases) {
    std::ofstream{folder / "h200.json"}
        << R"({"schema": "hexaplan/fabric/1", "gpus": ["h200"], "date": "", "source": "x",
      "fit": {}, "collectives": [)"
        << row.collectives << "]}";
    Calibration calibration;
    const std::string message = error_text([&] {
      read_fabric(folder, cluster("h200", "hopper", Fabric::NvSwitch, 450, 8, "ib-ndr"), calibration);
    });
    EXPECT_NE(message.find(row.message), std::string::npos) << row.name << ": " << message;
  }
}

}  // namespace
}  // namespace hexaplan::presets
