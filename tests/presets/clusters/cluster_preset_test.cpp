#include "presets/clusters/cluster_preset.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "presets/catalog/catalog.h"
#include "tests/presets/json/error_text.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::presets {
namespace {

using costmodel::ClusterSpec;
using costmodel::Fabric;

/// "h100-80-sxm 64/8: nvlink4 8 450 > ib400 64 50": GPU, GPUs / per node, then each level's name, ranks,
/// GB/s.
std::string shape_of(const ClusterSpec& cluster) {
  std::string text = fmt::format("{} {}/{}:", cluster.gpu.name, cluster.gpus, cluster.gpus_per_node);
  for (const auto& level : cluster.levels) {
    text += fmt::format("{} {} {} {:g}", &level == &cluster.levels.front() ? "" : " >", level.name,
                        level.ranks, level.bandwidth.value() / 1e9);
  }
  return text;
}

struct ClusterCase {
  std::string name, text, shape;
};
void PrintTo(const ClusterCase& row, std::ostream* out) {
  *out << row.name;
}
class Cluster : public testing::TestWithParam<ClusterCase> {};
TEST_P(Cluster, is_written_as_it_was_asked_for) {
  const std::string written = to_cluster_text(parse_cluster_request(GetParam().text));
  EXPECT_EQ(shape_of(parse_cluster(written)), GetParam().shape) << written;
}
TEST_P(Cluster, is_read_as) {
  EXPECT_EQ(shape_of(parse_cluster(GetParam().text)), GetParam().shape);
}
INSTANTIATE_TEST_SUITE_P(
    table, Cluster,
    testing::Values(
        ClusterCase{"one_node", "8xH100", "h100-80-sxm 8/8: nvlink4 8 450"},
        ClusterCase{"part_of_a_node", "4xH100", "h100-80-sxm 4/4: nvlink4 4 450"},
        ClusterCase{"one_gpu", "1xRTX4090", "rtx4090 1/1: pcie4 1 32"},
        ClusterCase{"number_in_the_name", "8x3090", "rtx3090 8/8: pcie4 8 32"},
        ClusterCase{"x_in_the_name", "8xMI300X", "mi300x 8/8: infinity-fabric 8 448"},
        ClusterCase{"reference_network", "64xA100-80GB", "a100-80-sxm 64/8: nvlink3 8 300 > ib200 64 25"},
        ClusterCase{"nodes_and_rate_per_gpu", "16x8xH200+ib400", "h200 128/8: nvlink4 8 450 > ib400 128 50"},
        ClusterCase{"roce", "16x8xH200+roce200", "h200 128/8: nvlink4 8 450 > roce200 128 25"},
        ClusterCase{"efa_is_per_node", "2x8xH100+efa3200", "h100-80-sxm 16/8: nvlink4 8 450 > efa400 16 50"},
        ClusterCase{"rate_of_the_node", "2x8xA100+ib800/node",
                    "a100-80-sxm 16/8: nvlink3 8 300 > ib100 16 12.5"},
        ClusterCase{"kind_only", "2x8xH100+roce", "h100-80-sxm 16/8: nvlink4 8 450 > roce400 16 50"},
        ClusterCase{"smaller_nodes_keep_a_card_per_gpu", "4x2xH100",
                    "h100-80-sxm 8/2: nvlink4 2 450 > ib400 8 50"},
        ClusterCase{"one_gpu_per_node", "4x1xH100", "h100-80-sxm 4/1: nvlink4 1 450 > ib400 4 50"},
        ClusterCase{"cut_nvlink", "16xH800", "h800 16/8: nvlink4 8 200 > ib400 16 50"},
        ClusterCase{"rack", "72xGB200", "gb200 72/4: nvlink5 72 900"},
        ClusterCase{"racks_in_nodes", "36x4xGB200", "gb200 144/4: nvlink5 72 900 > ib400 144 50"},
        ClusterCase{"part_of_a_rack", "8xGB200", "gb200 8/4: nvlink5 8 900"},
        ClusterCase{"two_racks", "144xGB200", "gb200 144/4: nvlink5 72 900 > ib400 144 50"},
        ClusterCase{"equal_racks", "256xGB200", "gb200 256/4: nvlink5 64 900 > ib400 256 50"},
        ClusterCase{"racks_of_eight", "4x8xGB300", "gb300 32/4: nvlink5 8 900 > ib800 32 100"},
        ClusterCase{"bridged_pairs", "16xH100-NVL",
                    "h100-94-nvl 16/8: nvlink4-bridge 2 300 > pcie5 8 64 > ib200 16 25"},
        ClusterCase{"one_bridged_pair", "2xH100-NVL", "h100-94-nvl 2/2: nvlink4-bridge 2 300"},
        ClusterCase{"named", "eos", "h100-80-sxm 4608/8: nvlink4 8 450 > ib400 4608 50"},
        ClusterCase{"named_with_another_network", "EOS + roce200",
                    "h100-80-sxm 4608/8: nvlink4 8 450 > roce200 4608 25"},
        ClusterCase{"pods", "1024x8xH100+roce400+tier:pod:3072+tier:core:x7:2us",
                    "h100-80-sxm 8192/8: nvlink4 8 450 > roce400 pod 3072 50 > core 8192 7.14286"},
        ClusterCase{"tiers_that_are_not_reached", "64xH100+tier:pod:3072+tier:core:x7",
                    "h100-80-sxm 64/8: nvlink4 8 450 > ib400 pod 64 50"},
        ClusterCase{"rails_are_joined_above", "64xH100+tier:su:256:rail+tier:spine:1024+tier:core:x2",
                    "h100-80-sxm 64/8: nvlink4 8 450 > ib400 su 64 50 > spine 64 50"},
        ClusterCase{"sites", "128xH100+tier:site:64+tier:wan:1600gbps:10ms",
                    "h100-80-sxm 128/8: nvlink4 8 450 > ib400 site 64 50 > wan 128 3.125"},
        ClusterCase{"pods_of_racks", "16x72xGB200+tier:pod:576+tier:core:x2",
                    "gb200 1152/4: nvlink5 72 900 > ib400 pod 576 50 > core 1152 25"},
        ClusterCase{"rails_of_racks", "superpod-gb200",
                    "gb200 1152/4: nvlink5 72 900 > ib400 scalable-unit 576 50 > spine 1152 50"},
        ClusterCase{"tiers_of_a_file", "llama3-405b",
                    "h100-80-sxm 16384/8: nvlink4 8 450 > roce400 pod 3072 50 > aggregation 16384 7.14286"},
        ClusterCase{"other_tiers_than_those_of_a_file", "llama3-405b+tier:pod:2048+tier:core:x2",
                    "h100-80-sxm 16384/8: nvlink4 8 450 > roce400 pod 2048 50 > core 16384 25"},
        ClusterCase{"omni_path", "2x4xV100+omni-path100", "v100-32 8/4: nvlink2 4 150 > omni-path100 8 12.5"},
        ClusterCase{"alias", "nvl72", "gb200 72/4: nvlink5 72 900"}),
    [](const auto& row) { return row.param.name; });

/// A cluster file with these tiers, as parse_cluster takes it.
std::string file_with_tiers(const std::string& tiers, const std::string& sources) {
  static const tests::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "tiers.json";
  std::ofstream{path}
      << R"({"title": "t", "gpu": "h100-80-sxm", "nodes": 64, "gpus_per_node": 8, "network": "ib",)"
      << R"( "network_gbps": 3200, "network_tiers": )" << tiers << R"(, "sources": {)" << sources << "}}";
  return path.string();
}
const std::string kTierSource = R"("network_tiers": "s")";

TEST(cluster_file, says_what_lies_between_its_nodes) {
  const std::string file = file_with_tiers(
      R"([{"name": "su", "nodes": 4, "rail_optimised": true}, {"name": "pod", "gpus": 128, "oversubscription": 2},)"
      R"( {"name": "wan", "uplink_gbps": 6400, "latency": "10 ms"}])",
      kTierSource);
  const ClusterSpec cluster = parse_cluster(file);
  EXPECT_EQ(shape_of(cluster),
            "h100-80-sxm 512/8: nvlink4 8 450 > ib400 su 32 50 > pod 128 25 > wan 512 6.25");
  EXPECT_TRUE(cluster.levels[1].rail_optimised);
  EXPECT_FALSE(cluster.levels[2].rail_optimised);
  EXPECT_EQ(cluster.levels[3].latency, costmodel::Seconds{10e-3});
  EXPECT_EQ(shape_of(parse_cluster(to_cluster_text(parse_cluster_request(file)))), shape_of(cluster));
}

struct BadTiers {
  std::string tiers, sources, where, end;
};
TEST(cluster_file, with_wrong_tiers_gets_one_line_that_names_the_place) {
  const BadTiers cases[] = {
      {R"([{"name": "pod", "nodes": 4}, {"name": "core", "oversubscription": 0.5}])", kTierSource,
       "/network_tiers/1/oversubscription: got 0.5", "expected a number from 1 to 1000"},
      {R"([{"name": "pod", "nodes": 4}])", kTierSource, "/network_tiers: got ",
       "two tiers or more: one alone is the network without any"},
      {R"([{"name": "pod", "nodes": 4, "gpus": 32}, {"name": "core"}])", kTierSource,
       "/network_tiers/0/gpus: got 32", "nodes or gpus of a unit, not both"},
      {R"([{"name": "pod", "nodes": 4}, {"name": "core", "oversubscription": 2, "uplink_gbps": 10}])",
       kTierSource, "/network_tiers/1/uplink_gbps: got 10", "oversubscription or uplink_gbps, not both"},
      {R"([{"name": "pod", "nodes": 4}, {"name": "core", "latency": "2 s"}])", kTierSource,
       "/network_tiers/1/latency: got ", "at most 1 s"},
      {R"([{"name": "a pod", "nodes": 4}, {"name": "core"}])", kTierSource, "/network_tiers/0/name: got ",
       "a name of letters, digits, - and _"},
      {R"([{"name": "pod", "nodes": 4}, {"name": "core", "ratio": 2}])", kTierSource,
       "/network_tiers/1/ratio", ""},
      {R"([{"name": "pod", "nodes": 4}, {"name": "core"}])", "", "/sources/network_tiers",
       "a source for network_tiers"}};
  for (const BadTiers& row : cases) {
    const std::string text =
        error_text([&] { (void)parse_cluster(file_with_tiers(row.tiers, row.sources)); });
    EXPECT_THAT(text, testing::HasSubstr(row.where));
    EXPECT_THAT(text, testing::EndsWith(row.end));
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
}

TEST(network_text, names_tiers_with_size_ratio_and_latency) {
  EXPECT_EQ(network_text(parse_cluster("64xH100")), "ib400");
  EXPECT_EQ(network_text(parse_cluster("llama3-405b")), "roce400 pod of 3,072 GPUs, aggregation 1:7");
  EXPECT_EQ(network_text(parse_cluster("superpod-h100")),
            "ib400 scalable-unit of 256 GPUs by rails, spine 1:1");
  EXPECT_EQ(network_text(parse_cluster("two-sites-h100")),
            "ib400 site of 1,536 GPUs, long-haul 1:48 + 10.5 ms");
}

TEST(parse_cluster, keeps_the_name_as_written_and_the_kinds_of_link) {
  const ClusterSpec cluster = parse_cluster(" 64xH100 ");
  EXPECT_EQ(cluster.name, "64xH100");
  EXPECT_EQ(cluster.levels[0].fabric, Fabric::NvSwitch);
  EXPECT_TRUE(cluster.levels[0].multicast);
  EXPECT_EQ(cluster.levels[1].fabric, Fabric::Network);
  EXPECT_FALSE(parse_cluster("8xA100").levels[0].multicast);
  EXPECT_GT(parse_cluster("16xH100+efa3200").levels[1].latency.value(), cluster.levels[1].latency.value());
}

struct BadCluster {
  std::string name, text, begin, end;
};
void PrintTo(const BadCluster& row, std::ostream* out) {
  *out << row.name;
}
class Misread : public testing::TestWithParam<BadCluster> {};
TEST_P(Misread, is_one_clear_line) {
  const std::string text = error_text([] { (void)parse_cluster(GetParam().text); });
  EXPECT_THAT(text, testing::StartsWith(GetParam().begin));
  EXPECT_THAT(text, testing::EndsWith(GetParam().end));
}
constexpr const char* kNetworkHelp =
    "expected a network such as +ib400, +roce400/gpu or +efa3200/node (Gbit/s)";
constexpr const char* kOneType =
    "expected GPUs of one type: jobs on mixed types are not planned; plan each type by itself, or compare "
    "them "
    "with search --gpu h100,a100 --gpus 64";
INSTANTIATE_TEST_SUITE_P(
    table, Misread,
    testing::Values(
        BadCluster{"empty", " ", "cluster: got \" \"",
                   ", expected a cluster such as 8xH100, 16x8xH200+ib400 or a preset's name"},
        BadCluster{"no_number", "H100", "cluster: got \"H100\"", ", expected a number of GPUs; write 8xH100"},
        BadCluster{"no_gpu", "8x", "cluster: got \"8x\"", ", expected a GPU after the number; write 8xH100"},
        BadCluster{"zero", "0xH100", "cluster: got \"0xH100\"", ", expected 1 to 10000000 GPUs"},
        BadCluster{"absurd", "99999999999999999999xH100", "cluster: got \"9999",
                   ", expected 1 to 10000000 GPUs"},
        BadCluster{"absurd_product", "1000000x16xH100", "cluster: got \"1000000x16xH100\"",
                   ", expected 1 to 10000000 GPUs"},
        BadCluster{"unknown_gpu", "8xRTX4900", "gpu: got \"RTX4900\", expected one of rtx4090, ",
                   "; did you mean \"rtx4090\"?"},
        BadCluster{"unknown_name", "eoss", "cluster: got \"eoss\", expected one of eos, aws-p4d, ",
                   "; did you mean \"eos\"?"},
        BadCluster{"uneven", "12xH100",
                   "cluster: got \"12xH100\", expected at most 8 GPUs or a multiple of 8, what a node of "
                   "h100-80-sxm "
                   "holds; ",
                   "write NODESxGPUSxNAME for other nodes, such as 3x4xH100"},
        BadCluster{"node_too_large", "2x64xH100", "cluster: got \"2x64xH100\"",
                   ", expected at most 16 h100-80-sxm joined by their own links"},
        BadCluster{"misspelt_network", "8xH100+rocce400", "network: got \"rocce\"",
                   ", expected one of ib, roce, efa, slingshot, omni-path, ethernet; did you mean \"roce\"?"},
        BadCluster{"no_rate", "8xH100+ib0", "cluster: got \"8xH100+ib0\"", kNetworkHelp},
        BadCluster{"bad_scope", "8xH100+ib400/rack", "cluster: got \"8xH100+ib400/rack\"", kNetworkHelp},
        BadCluster{"two_clusters", "4x8xH100,4x8xA100-80GB", "cluster: got \"4x8xH100,4x8xA100-80GB\"",
                   kOneType},
        BadCluster{"two_types", "64xH100+H200", "cluster: got \"64xH100+H200\"", kOneType},
        BadCluster{"two_numbers", "64xH100+64xH200", "cluster: got \"64xH100+64xH200\"", kOneType},
        BadCluster{"tier_word", "64xH100+tier:pod:many+tier:core",
                   "cluster: got \"64xH100+tier:pod:many+tier:core\"",
                   "+tier:wan:12800gbps:20ms, not \"many\""},
        BadCluster{"two_rates_of_a_tier", "64xH100+tier:pod:16+tier:core:x2:400gbps", "cluster: got ",
                   "not \"400gbps\""},
        BadCluster{"below_one", "64xH100+tier:pod:16+tier:core:x0.5", "cluster: got ", "not \"x0.5\""},
        BadCluster{"one_tier", "64xH100+tier:pod", "network tier \"pod\": got tier:pod",
                   "expected 2 to 7 tiers"},
        BadCluster{"first_tier_with_a_rate", "64xH100+tier:pod:16:x2+tier:core", "network tier \"pod\": got ",
                   "oversubscription, uplink_gbps and latency belong to the tiers above"},
        BadCluster{"cut_nodes", "64xH100+tier:pod:12+tier:core:x2", "network tier \"pod\": got tier:pod:12",
                   "expected whole units below: a multiple of 8 GPUs"},
        BadCluster{"cut_pods", "64xH100+tier:pod:16+tier:row:24+tier:core:x2", "network tier \"row\"",
                   "expected whole units below: a multiple of 16 GPUs"},
        BadCluster{"size_of_the_last_tier", "64xH100+tier:pod:16+tier:core:64:x2", "network tier \"core\"",
                   "every tier but the last, which joins all GPUs, says how many are in one unit of it"},
        BadCluster{"no_size", "64xH100+tier:pod+tier:core:x2", "network tier \"pod\"",
                   "every tier but the last, which joins all GPUs, says how many are in one unit of it"},
        BadCluster{"rails_higher_up", "64xH100+tier:pod:16+tier:core:x2:rail", "network tier \"core\"",
                   "expected rail_optimised of the first tier alone"},
        BadCluster{"rails_without_nvlink", "64xL40S+tier:pod:16:rail+tier:core:x2", "network tier \"pod\"",
                   "messages to other rails take NVLink to the right card first"},
        BadCluster{"more_uplinks_than_cards", "64xH100+tier:pod:16+tier:core:12800gbps",
                   "network tier \"core\"",
                   "expected at most 6400 Gbit/s, what a unit of the tier below carries"},
        BadCluster{"not_a_rate", "8xH100+ib4e400", "cluster: got \"8xH100+ib4e400\"", kNetworkHelp}),
    [](const auto& row) { return row.param.name; });

TEST(parse_cluster, understands_the_order_of_cloud_providers) {
  EXPECT_EQ(shape_of(parse_cluster("H100x8")), shape_of(parse_cluster("8xH100")));
  EXPECT_EQ(shape_of(parse_cluster("a100-80-sxmX16")), shape_of(parse_cluster("16xa100-80-sxm")));
  EXPECT_EQ(shape_of(parse_cluster("rtx3090x4")), shape_of(parse_cluster("4x3090")));
}

TEST(parse_cluster, understands_what_people_write) {
  for (const char* text : {"8 x H100", "8×H100", "8H100", "8xH100"}) {
    const costmodel::ClusterSpec cluster = parse_cluster(text);
    EXPECT_EQ(cluster.gpus, 8) << text;
    EXPECT_EQ(cluster.gpu.name, "h100-80-sxm") << text;
  }
  EXPECT_EQ(parse_cluster("2 x 8 x H100 + ib400").gpus, 16);
}

TEST(make_cluster, takes_fields_and_the_reference_for_what_is_not_given) {
  EXPECT_EQ(shape_of(make_cluster("a100-80-sxm", 64, 8, 800)),
            "a100-80-sxm 64/8: nvlink3 8 300 > ib100 64 12.5");
  EXPECT_EQ(shape_of(make_cluster("a100-80-sxm", 64)), "a100-80-sxm 64/8: nvlink3 8 300 > ib200 64 25");
  EXPECT_EQ(shape_of(make_cluster("v100-32", 32, 16, 800)), "v100-32 32/16: nvlink2 16 150 > ib50 32 6.25");
  EXPECT_EQ(shape_of(make_cluster("gb200", 128, 4, 1600)), "gb200 128/4: nvlink5 64 900 > ib400 128 50");
  EXPECT_EQ(shape_of(make_cluster("h100-80-sxm", 12)), "h100-80-sxm 12/8: nvlink4 8 450 > ib400 12 50");
  EXPECT_EQ(shape_of(make_cluster("h100-80-sxm", 16, 8, 3200, "efa")),
            "h100-80-sxm 16/8: nvlink4 8 450 > efa400 16 50");
}

TEST(make_cluster, refuses_impossible_fields) {
  EXPECT_EQ(error_text([] { (void)make_cluster("h100", 0); }),
            "cluster: got \"0xh100-80-sxm\", expected 1 to 10000000 GPUs");
  EXPECT_EQ(error_text([] { (void)make_cluster("h100", 8, -1); }),
            "cluster: got \"8xh100-80-sxm\", expected GPUs per node and network rate >= 0");
  EXPECT_EQ(error_text([] { (void)make_cluster("h100", 8, 8, std::numeric_limits<double>::quiet_NaN()); }),
            "cluster: got \"8xh100-80-sxm\", expected GPUs per node and network rate >= 0");
}

TEST(cluster_presets, are_all_readable_and_end_at_all_their_gpus) {
  for (const std::string& name : list_presets(PresetKind::Cluster)) {
    const ClusterSpec cluster = parse_cluster(name);
    EXPECT_EQ(cluster.levels.back().ranks, cluster.gpus) << name;
    EXPECT_GT(cluster.levels.back().bandwidth.value(), 0) << name;
  }
}

}  // namespace
}  // namespace hexaplan::presets
