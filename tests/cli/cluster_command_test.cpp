// `hexaplan cluster import`: a cluster's file that the other commands read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using testing::HasSubstr;

// The form of NVIDIA/nccl-tests#78.
constexpr const char* kTopology =
    "        GPU0    GPU1    mlx5_0  CPU Affinity\n"
    "GPU0     X      NV18    PIX     0-23\n"
    "GPU1    NV18     X      PXB     0-23\n";
constexpr const char* kNodes =
    "NodeName=a Gres=gpu:h100:2 RealMemory=500000 State=IDLE\n"
    "NodeName=b Gres=gpu:h100:2 RealMemory=500000 State=MIXED\n";

TEST(cluster_command, the_file_that_it_writes_is_a_cluster) {
  const TemporaryFile topology{kTopology, ".txt"}, nodes{kNodes, ".txt"};
  const Finished made = run_hexaplan("cluster import " + topology.path() + " " + nodes.path());
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr(":1: 2 GPUs, 18 NVLinks between any two, 1 network cards"));
  EXPECT_THAT(made.err, HasSubstr("note: the files say no rate of the network"));
  const TemporaryFile cluster{made.out, ".json"};
  const Finished asked = run_hexaplan(
      "estimate --model llama-3.2-1b --seq 2048 --global-batch 8 --json --cluster " + cluster.path());
  EXPECT_EQ(asked.exit_code, 0) << asked.err;
  EXPECT_THAT(asked.out, HasSubstr("\"gpus\": 4"));
}

TEST(cluster_command, json_has_the_file_and_what_was_said) {
  const TemporaryFile nodes{kNodes, ".txt"};
  const Finished made = run_hexaplan("cluster import --json " + nodes.path());
  for (const char* part : {"\"schema\": \"hexaplan/cluster-import/1\"", "\"nodes\": 2",
                           "\"host_memory\": \"500000 MiB\"", "\"said\"", "\"notes\""})
    EXPECT_THAT(made.out, HasSubstr(part));
}

TEST(cluster_command, errors_are_one_line_with_file_and_line) {
  const TemporaryFile cut{"        GPU0    GPU1\nGPU0     X      NV18\n", ".txt"};
  const Finished broken = run_hexaplan("cluster import " + cut.path());
  EXPECT_EQ(broken.exit_code, 4);
  EXPECT_THAT(broken.err,
              HasSubstr(cut.path() + ":2: got \"the end of the text\", expected the row of GPU1"));
  EXPECT_EQ(run_hexaplan("cluster import").exit_code, 2);
  EXPECT_EQ(run_hexaplan("cluster export x").exit_code, 2);
  EXPECT_EQ(run_hexaplan("cluster import --nodes many " + cut.path()).exit_code, 2);
}

}  // namespace
}  // namespace hexaplan::cli
