// Clusters from what machines say of themselves.
#include "presets/machines/imported_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "machine_samples.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/json/input_error.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::presets {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::string member(const ImportedCluster& cluster, std::string_view key) {
  for (const auto& [name, value] : cluster.cluster) {
    if (name == key) return to_text(value, JsonStyle::Compact);
  }
  return "";
}
ImportedCluster imported(std::vector<MachineFile> files, MachineWords words = {}) {
  return import_cluster(files, words);
}
std::string error_of(const std::vector<MachineFile>& files, const MachineWords& words = {}) {
  try {
    (void)import_cluster(files, words);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(imported_cluster, a_matrix_of_links_gives_gpus_and_their_nvlinks) {
  const MachineTopology eight = read_topology(samples::kTopologyH100, "topo.txt");
  EXPECT_EQ(eight.gpus, 8);
  EXPECT_EQ(eight.cards, 12);
  EXPECT_EQ(eight.nvlinks, 18);
  EXPECT_EQ(eight.without_nvlink, "");
  const MachineTopology named = read_topology(samples::kTopologyNamedCards, "topo.txt");
  EXPECT_EQ(named.gpus, 4);
  EXPECT_EQ(named.cards, 2);
  EXPECT_EQ(named.nvlinks, 6);
  const MachineTopology bridges = read_topology(samples::kTopologyBridges, "topo.txt");
  EXPECT_EQ(bridges.nvlinks, 0);
  EXPECT_EQ(bridges.without_nvlink, "GPU0 and GPU2: SYS");
}

TEST(imported_cluster, a_log_of_nvidia_smi_gives_the_type_and_its_memory) {
  const MachineGpus gpus = read_nvidia_smi(samples::kSmiA100, "smi.xml");
  EXPECT_EQ(gpus.name, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(gpus.count, 4);
  EXPECT_EQ(gpus.memory_mib, 81920);  // of the GPU, not of its instances
  EXPECT_TRUE(gpus.instances);
  EXPECT_EQ(gpus.watts, 500);
}

TEST(imported_cluster, nodes_of_slurm_count_where_jobs_are_given_to_them) {
  const std::vector<SlurmNode> nodes = read_slurm_nodes(samples::kSlurmNodes, "nodes.txt");
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_EQ(nodes[0].gpu, "h100");
  EXPECT_EQ(nodes[0].gpus, 8);
  EXPECT_EQ(nodes[0].memory_mib, 1031533);
  EXPECT_TRUE(nodes[1].usable);
  EXPECT_FALSE(nodes[2].usable);
  EXPECT_EQ(nodes[3].gpus, 0);
}

TEST(imported_cluster, all_files_together_are_a_cluster_that_the_planner_reads) {
  const ImportedCluster cluster = imported({{"topo.txt", samples::kTopologyH100},
                                            {"ibstat.txt", samples::kIbstatH100},
                                            {"nodes.txt", samples::kSlurmNodes}});
  EXPECT_EQ(member(cluster, "gpu"), "\"h100-80-sxm\"");
  EXPECT_EQ(member(cluster, "nodes"), "2");
  EXPECT_EQ(member(cluster, "gpus_per_node"), "8");
  EXPECT_EQ(member(cluster, "network"), "\"ib\"");
  EXPECT_EQ(member(cluster, "network_gbps"), "800.0");  // 2 × 400; Ethernet and what is down are left out
  EXPECT_EQ(member(cluster, "host_memory"), "\"1031533 MiB\"");
  EXPECT_THAT(cluster.notes,
              Contains(HasSubstr("ibstat.txt:13: mlx5_1 is not counted: 100 Gbit/s Ethernet")));
  EXPECT_THAT(cluster.notes, Contains(HasSubstr("ibstat.txt:22: mlx5_2 is not counted: it is not active")));
  EXPECT_THAT(cluster.notes, Contains(HasSubstr("slinky-2 is not counted: it is down or drained")));

  const tests::TemporaryFolder folder;
  const std::filesystem::path file = folder.file("cluster.json", to_text(JsonValue{cluster.cluster}));
  const costmodel::ClusterSpec spec = parse_cluster(file.string());
  EXPECT_EQ(spec.gpus, 16);
  EXPECT_EQ(spec.gpu.name, "h100-80-sxm");
  EXPECT_EQ(spec.gpus_per_node, 8);
  EXPECT_DOUBLE_EQ(spec.levels.back().bandwidth.value(), 800e9 / 8 / 8);
  EXPECT_DOUBLE_EQ(spec.host.memory.value(), 1031533.0 * 1024 * 1024);
}

TEST(imported_cluster, ethernet_cards_are_roce) {
  const ImportedCluster cluster =
      imported({{"ibstat.txt", samples::kIbstatRoce}}, {.title = {}, .gpu = "H200", .nodes = 4});
  EXPECT_EQ(member(cluster, "network"), "\"roce\"");
  EXPECT_EQ(member(cluster, "network_gbps"), "400.0");
  EXPECT_EQ(member(cluster, "nodes"), "4");
  EXPECT_THAT(cluster.notes, Contains(HasSubstr("do not say the GPUs of a node: 8")));
}

TEST(imported_cluster, what_a_file_of_clusters_cannot_say_is_noted) {
  const ImportedCluster instances = imported({{"smi.xml", samples::kSmiA100}});
  EXPECT_EQ(member(instances, "gpu"), "\"a100-80-sxm\"");
  EXPECT_EQ(member(instances, "gpus_per_node"), "4");
  EXPECT_THAT(instances.notes, Contains(HasSubstr("smi.xml:7: MIG is on")));
  EXPECT_THAT(instances.notes, Contains(HasSubstr("the files say no rate of the network")));
  const ImportedCluster bridges =
      imported({{"topo.txt", samples::kTopologyBridges}}, {.title = {}, .gpu = "a100-80-pcie", .nodes = 0});
  EXPECT_THAT(bridges.notes,
              Contains(HasSubstr("topo.txt:1: GPU0 and GPU2: SYS: NVLink joins some GPUs only")));
  std::string capped = samples::kSmiA100;
  capped.replace(capped.find("500.00 W"), 8, "300.00 W");
  EXPECT_THAT(imported({{"smi.xml", capped}}).notes,
              Contains(HasSubstr("the power limit is 300 W instead of 500 W")));
}

struct Refused {
  std::vector<MachineFile> files;
  const char* expected;
};
TEST(imported_cluster, errors_name_the_file_and_the_line) {
  std::string other_gpu = samples::kSmiA100;
  other_gpu.replace(other_gpu.find("A100-SXM4-80GB"), 14, "GeForce GT 1030");
  std::string worse = samples::kTopologyNamedCards;
  worse.replace(worse.find("GPU2    NV6"), 11, "GPU2    NVx");
  const Refused cases[] = {
      {{{"n.log", "# nThread 1 nGpus 8\n"}}, "'hexaplan calibrate --from n.log --cluster CLUSTER' reads"},
      {{{"a.txt", "hello\n"}}, "a.txt:1: got \"hello\", expected the output of nvidia-smi topo -m"},
      {{{"smi.xml", other_gpu}},
       "smi.xml:7: got \"NVIDIA GeForce GT 1030\", expected a GPU that has a preset"},
      {{{"smi.xml", samples::kSmiA100}, {"topo.txt", samples::kTopologyH100}},
       "smi.xml:7: got 4, expected 8 GPUs of a node, as topo.txt:1 says"},
      {{{"topo.txt", worse}}, "topo.txt:4: got \"NVx\", expected NV18, SYS, NODE, PHB, PXB or PIX"},
      {{{"topo.txt", "\tGPU0\tGPU1\nGPU0\t X \tNV4\n"}},
       "topo.txt:2: got \"the end of the text\", expected the row of GPU1"},
      {{{"topo.txt", "\tGPU0\tGPU1\nGPU0\t X \n"}}, "topo.txt:2: got \"GPU0"},
      {{{"smi.xml", "<nvidia_smi_log>\n<gpu>\n"}}, "smi.xml:2: got \"the end of the text\", expected </gpu>"},
      {{{"smi.xml", "<nvidia_smi_log>\n<gpu>\n</gpus>"}}, "smi.xml:3: got \"gpus\", expected </gpu>"},
      {{{"ib.txt", "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n"}},
       "ib.txt:2: got \"mlx5_0\", expected State, Rate and Link layer"},
      {{{"ib.txt", "CA 'mlx5_0'\n\tPort 1:\n\t\tRate: fast\n"}},
       "ib.txt:3: got \"fast\", expected a rate in Gbit/s"},
      {{{"n.txt", "NodeName=a Gres=gpu:h100:many State=IDLE\n"}},
       "n.txt:1: got \"gpu:h100:many\", expected GPUs of a node"},
      {{{"n.txt", "NodeName=a Gres=gpu:h100:8\n"}}, "n.txt:1: got \"a\", expected the State of each node"},
      {{{"topo.txt", samples::kTopologyH100}},
       "topo.txt: expected the type of the GPUs; give the output of 'nvidia-smi -q -x'"},
  };
  for (const Refused& each : cases) EXPECT_THAT(error_of(each.files), HasSubstr(each.expected));
}

/// Cut off anywhere, bytes changed anywhere: a cluster or one error of one line.
TEST(imported_cluster, garbled_files_are_one_error) {
  std::mt19937 random{11};
  const char* texts[] = {samples::kTopologyH100, samples::kTopologyNamedCards, samples::kTopologyBridges,
                         samples::kSmiA100,      samples::kIbstatH100,         samples::kIbstatRoce,
                         samples::kSlurmNodes};
  int errors = 0;
  for (int draw = 0; draw < 4000; ++draw) {
    std::string text = texts[random() % std::size(texts)];
    if (random() % 2 == 0) text.resize(random() % (text.size() + 1));
    for (auto n = random() % 6; n > 0 && !text.empty(); --n) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0) {
        text.erase(at, random() % 20);
      } else {
        text[at] = static_cast<char>(random() % 256);
      }
    }
    const std::string error = error_of({{"file", text}}, {.title = {}, .gpu = "H100", .nodes = 0});
    errors += error.empty() ? 0 : 1;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    EXPECT_LT(error.size(), 400U);
  }
  EXPECT_GT(errors, 1000);
}

}  // namespace
}  // namespace hexaplan::presets
