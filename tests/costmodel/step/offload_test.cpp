// Offloaded tensors leave the GPU, are somewhere else, and travel.
#include <gtest/gtest.h>

#include "costmodel/compute/host_time.h"
#include "costmodel/memory/layer_ledger.h"
#include "costmodel/step/estimate.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

/// 16 GPUs, everything over data parallelism, on nodes whose hosts are known.
Scenario sharded(int stage, int offload) {
  Scenario sc = example_scenario();
  sc.layout = {.dp = 16};
  sc.layout.sharding.stage = stage;
  sc.recipe.offload = static_cast<std::uint8_t>(offload);
  sc.cluster.gpu.pcie = BytesPerSecond{64e9};
  sc.cluster.host = {.memory = Bytes{2e12},
                     .memory_bandwidth = BytesPerSecond{600e9},
                     .disk = Bytes{30e12},
                     .disk_read = BytesPerSecond{50e9},
                     .disk_write = BytesPerSecond{30e9}};
  return sc;
}

double device_states(const Scenario& sc) {
  double bytes = 0;
  for (const TensorEntry& entry : build_ledger(sc, 0)) {
    if (entry.kind == TensorKind::OptimizerState) bytes += entry.size().value();
  }
  return bytes;
}

const StageMemory memory_of(const Scenario& sc) {
  return estimate_step(sc, {}).stages.at(0);
}

TEST(offload, states_that_leave_the_gpu_are_on_the_host_with_the_gradient_that_the_cpu_reads) {
  const double states = device_states(sharded(3, 0));  // master and two moments: 12 bytes per parameter
  const Scenario sc = sharded(3, kOffloadOptimizer);
  EXPECT_EQ(device_states(sc), 0);
  EXPECT_NEAR(memory_of(sc).host.value() / (states * (12 + 4) / 12), 1, 1e-12);
}

TEST(offload, a_share_of_the_states_divides_them_between_gpu_and_host) {
  const double whole = device_states(sharded(3, 0));
  Scenario sc = sharded(3, kOffloadOptimizer);
  const double all_on_host = memory_of(sc).host.value();
  sc.recipe.offload_fraction = 0.25;
  EXPECT_NEAR(device_states(sc), 0.75 * whole, 1);
  EXPECT_NEAR(memory_of(sc).host.value(), 0.25 * all_on_host, 1);
}

TEST(offload, states_on_disks_leave_the_hosts_memory) {
  Scenario sc = sharded(3, kOffloadOptimizer | kOffloadParameters);
  const double in_memory = memory_of(sc).host.value();
  sc.recipe.offload_device = OffloadDevice::Nvme;
  EXPECT_EQ(memory_of(sc).host.value(), 0);
  EXPECT_EQ(memory_of(sc).disk.value(), in_memory);
}

TEST(offload, activations_go_to_the_host_beyond_the_two_layers_that_stay) {
  Scenario sc = sharded(3, 0);
  const auto saved = [](const Scenario& s) {
    double bytes = 0;
    for (const TensorEntry& entry : build_ledger(s, 0)) {
      if (entry.kind == TensorKind::Activation && entry.layer_class >= 0) bytes += entry.size().value();
    }
    return bytes;
  };
  const double everything = saved(sc);
  sc.recipe.offload = kOffloadActivations;
  EXPECT_NEAR(memory_of(sc).host.value() + saved(sc), everything, everything * 1e-9);
}

TEST(offload, a_node_must_have_the_room) {
  Scenario sc = sharded(3, kOffloadOptimizer);
  const Estimate fits = estimate_step(sc, {});
  ASSERT_TRUE(std::holds_alternative<Fits>(fits.verdict));
  EXPECT_EQ(fits.host_memory, fits.stages[0].host * 8);
  sc.cluster.host.memory = fits.host_memory;
  EXPECT_TRUE(std::holds_alternative<Fits>(estimate_step(sc, {}).verdict));
  sc.cluster.host.memory = fits.host_memory - Bytes{1};
  const Estimate short_of = estimate_step(sc, {});
  EXPECT_EQ(std::get<Rejected>(short_of.verdict).rule, "fits-in-host-memory");
  sc.cluster.host.memory = {};  // not known: no limit
  EXPECT_TRUE(std::holds_alternative<Fits>(estimate_step(sc, {}).verdict));
}

TEST(offload, the_cpu_updates_at_the_rate_of_the_nodes_memory) {
  const Scenario sc = sharded(3, kOffloadOptimizer);
  // Per parameter: gradient 4, master and moments read and written 24, bf16 copy 2; eight shards in a node.
  const double parameters = estimate_step(sc, {}).parameters;
  const double seconds = parameters / 16 * 8 * 30 / (0.75 * 600e9);
  EXPECT_NEAR(estimate_step(sc, {}).time.optimizer.value() / seconds, 1, 0.01);
}

TEST(offload, what_is_offloaded_costs_time_and_more_on_slower_links) {
  for (const int what : {int{kOffloadOptimizer}, int{kOffloadParameters}, int{kOffloadActivations},
                         kOffloadOptimizer | kOffloadParameters | kOffloadActivations}) {
    SCOPED_TRACE(what);
    const double without = estimate_step(sharded(3, 0), {}).time.total().value();
    double last = 0;
    for (const double link : {450e9, 64e9, 32e9, 4e9}) {
      Scenario sc = sharded(3, what);
      sc.cluster.gpu.pcie = BytesPerSecond{link};
      const double step = estimate_step(sc, {}).time.total().value();
      EXPECT_GE(step, last);
      last = step;
    }
    EXPECT_GT(last, without);
  }
}

TEST(offload, copies_hide_behind_what_computes) {
  Scenario sc = sharded(3, kOffloadActivations);
  sc.cluster.gpu.pcie = BytesPerSecond{1e15};
  sc.cluster.host.memory_bandwidth = BytesPerSecond{1e17};
  EXPECT_EQ(estimate_step(sc, {}).time.offload.value(), 0);
}

TEST(offload, parameters_from_the_host_and_from_neighbours_share_the_lanes_of_pcie) {
  const auto added = [](Fabric fabric) {
    Scenario sc = sharded(3, 0);
    sc.cluster.levels.front().fabric = fabric;
    const Seconds without = estimate_step(sc, {}).time.total();
    sc.recipe.offload = kOffloadParameters;
    return estimate_step(sc, {}).time.total() - without;
  };
  EXPECT_GT(added(Fabric::Pcie).value(), 1.5 * added(Fabric::NvSwitch).value());
}

TEST(offload, disks_are_slower_than_memory) {
  Scenario sc = sharded(3, kOffloadOptimizer);
  const double memory = estimate_step(sc, {}).time.optimizer.value();
  sc.recipe.offload_device = OffloadDevice::Nvme;
  EXPECT_GT(estimate_step(sc, {}).time.optimizer.value(), memory);
}

TEST(offload, gpus_of_a_node_share_its_memory_and_disks) {
  ClusterSpec cluster = sharded(3, 0).cluster;
  const Bytes bytes{1e9};
  const double eight = host_update_time(bytes, false, cluster).value();
  cluster.gpus_per_node = 1;
  EXPECT_NEAR(eight / host_update_time(bytes, false, cluster).value(), 8, 1e-9);
  EXPECT_NEAR(host_copy_time(bytes, false, cluster).value(), 1e9 / (0.8 * 64e9), 1e-12);
  EXPECT_NEAR(host_copy_time(bytes, true, cluster).value(), 1e9 / 50e9, 1e-12);
}

}  // namespace
}  // namespace hexaplan::costmodel
