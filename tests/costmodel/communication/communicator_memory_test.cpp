#include "costmodel/communication/communicator_memory.h"

#include <gtest/gtest.h>

#include <string>

#include "clusters.h"

namespace hexaplan::costmodel {
namespace {

struct MemoryCase {
  std::string name;
  CollectiveKind kind;
  GroupPlacement group;
  ClusterSpec cluster;
  double measured;  // bytes
  double tolerance;
};
TEST(communicator_memory, agrees_with_what_users_of_nccl_measured) {
  const MemoryCase cases[] = {
      {"nccl issue 964: two GPUs", CollectiveKind::AllReduce, placed(2, 2), a100_nodes(1), 544e6, 0.15},
      {"nccl issue 964: more than two", CollectiveKind::AllReduce, placed(4, 4), a100_nodes(1), 688e6, 0.15},
      {"nccl issue 864: 8 GPUs, with what the first kernels load", CollectiveKind::AllReduce, placed(8, 8),
       h100_nodes(1), 1.6e9, 0.35},
      {"nccl issue 1685: first all-to-all, 1.06 to 4.34 GB", CollectiveKind::AllToAll, placed(8, 8),
       h100_nodes(1), 3.28e9, 0.15},
  };
  for (const MemoryCase& row : cases) {
    EXPECT_NEAR(communicator_memory(row.kind, row.group, row.cluster).value(), row.measured,
                row.tolerance * row.measured)
        << row.name;
  }
}

TEST(communicator_memory, of_an_all_to_all_counts_ten_and_two_mebibytes_per_channel_and_peer) {
  // nccl issue 1685 logs 32 channels per pair and these two sizes.
  EXPECT_EQ(communicator_memory(CollectiveKind::AllToAll, placed(8, 8), h100_nodes(1)).value(),
            32 * 7 * 12.0 * 1048576);
}

TEST(communicator_memory, one_rank_has_no_communicator) {
  EXPECT_EQ(communicator_memory(CollectiveKind::AllReduce, placed(1, 1), h100_nodes(1)).value(), 0);
}

TEST(communicator_memory, of_peers_on_the_network_is_a_shared_pool_and_does_not_grow_with_them) {
  const auto bytes = [](std::int64_t nodes) {
    return communicator_memory(CollectiveKind::AllToAll, placed(nodes, 1), h100_nodes(nodes)).value();
  };
  EXPECT_GT(bytes(2), 0);
  EXPECT_EQ(bytes(64), bytes(2));
}

TEST(communicator_memory, of_pcie_cards_is_small) {
  const ClusterSpec pcie = cluster_of(1, "ada", Fabric::Pcie, 32, 25);
  EXPECT_LT(communicator_memory(CollectiveKind::AllReduce, placed(8, 8), pcie).value(), 0.2e9);
}

}  // namespace
}  // namespace hexaplan::costmodel
