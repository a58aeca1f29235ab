// What is written is read by the reader of real snapshots; scripts/check_snapshot.py hands it to PyTorch's
// own tools.
#include "presets/trace/allocation_snapshot.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/program/step_allocations.h"
#include "costmodel/step/estimate.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/runs/memory_snapshot.h"
#include "presets/runs/pickle_data.h"
#include "tests/costmodel/step/example_scenario.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::presets {
namespace {

using costmodel::AllocatorSettings;
using costmodel::Bytes;
using costmodel::Estimate;
using costmodel::Scenario;

struct Case {
  const char* name;
  const char* framework;
  int dp, tp, pp;
  int zero;
  bool expandable;
  double gigabytes;  // of the GPU
  bool runs_out = false;
};

Scenario scenario_of(const Case& c) {
  Scenario sc = costmodel::example_scenario();
  sc.framework = find_framework(c.framework);
  sc.cluster.gpu.memory = Bytes{c.gigabytes * 1e9};
  sc.layout.dp = c.dp;
  sc.layout.tp = c.tp;
  sc.layout.pp = c.pp;
  sc.layout.sp = c.tp > 1;
  sc.layout.sharding.stage = c.zero;
  sc.cluster.gpus = c.dp * c.tp * c.pp;
  return sc;
}

class Snapshot : public testing::TestWithParam<Case> {
 protected:
  Scenario scenario = scenario_of(GetParam());
  Estimate estimate = estimate_step(scenario, {});
  AllocatorSettings settings{.expandable_segments = GetParam().expandable};
  tests::TemporaryFolder folder;
  std::filesystem::path file = folder.file("snapshot.pickle", written());

  [[nodiscard]] std::string written() const {
    std::string text;
    const auto refused = write_allocation_snapshot(scenario, estimate, settings,
                                                   [&](std::string_view piece) { text += piece; });
    EXPECT_EQ(refused, std::nullopt);
    return text;
  }
};

TEST_P(Snapshot, holds_what_the_simulated_allocator_holds) {
  const MemorySnapshot snapshot = read_memory_snapshot(file);
  ASSERT_EQ(snapshot.devices.size(), estimate.stages.size());
  EXPECT_EQ(snapshot.expandable, settings.expandable_segments);
  for (const auto& stage : estimate.stages) {
    settings.capacity = allocator_capacity(estimate, stage);
    const auto calls =
        costmodel::program::step_allocations(scenario, stage.stage, costmodel::program::kSimulatedSteps);
    const auto expected = costmodel::program::run_calls(*calls, settings);
    const SnapshotDevice& device = snapshot.devices[static_cast<std::size_t>(stage.stage)];
    EXPECT_EQ(device.device, stage.stage);
    EXPECT_EQ(device.reserved, expected.use.reserved);
    EXPECT_EQ(device.allocated, expected.use.allocated);
    EXPECT_EQ(device.peak_reserved, expected.use.peak_reserved);
    EXPECT_EQ(expected.ran_out, GetParam().runs_out);
    EXPECT_EQ(device.ran_out, expected.ran_out ? 1 : 0);
    // The reader makes the calls that it has read: the same rules, the same answer.
    EXPECT_EQ(device.simulated_reserved, expected.use.peak_reserved);
  }
}

/// Blocks that are held when the events end are those of the segments, with their sizes.
TEST_P(Snapshot, has_segments_that_are_what_its_events_leave) {
  const PickleDocument document = read_pickle(file);
  const auto& traces = document.items(document.root(), "device_traces");
  for (std::size_t number = 0; number < traces.size(); ++number) {
    std::map<std::int64_t, std::int64_t> alive, blocks;
    std::int64_t reserved = 0, held = 0;
    const auto* trace = std::get_if<PickleValue::List>(&document.at(traces[number]).data);
    for (const auto index : trace->items) {
      const PickleValue& event = document.at(index);
      const std::string_view action = document.text(event, "action");
      const std::int64_t at = document.integer(event, "addr", -1), size = document.integer(event, "size", -1);
      EXPECT_FALSE(document.items(event, "frames").empty());
      if (action == "alloc") {
        EXPECT_TRUE(alive.emplace(at, size).second) << "two tensors in one place";
      } else if (action == "free_completed") {
        EXPECT_EQ(alive.erase(at), 1U);
      }
      if (action == "segment_alloc" || action == "segment_map") reserved += size;
      if (action == "segment_free" || action == "segment_unmap") reserved -= size;
    }
    for (const auto index : document.items(document.root(), "segments")) {
      const PickleValue& segment = document.at(index);
      if (document.integer(segment, "device", -1) != static_cast<std::int64_t>(number)) continue;
      std::int64_t of_blocks = 0;
      for (const auto of_segment : document.items(segment, "blocks")) {
        const PickleValue& block = document.at(of_segment);
        of_blocks += document.integer(block, "size", 0);
        if (document.text(block, "state") != "inactive")
          blocks.emplace(document.integer(block, "address", -1),
                         document.integer(block, "requested_size", -1));
      }
      EXPECT_EQ(document.integer(segment, "total_size", -1), of_blocks);
      held += of_blocks;
    }
    EXPECT_EQ(alive, blocks);
    EXPECT_EQ(reserved, held);
  }
}

INSTANTIATE_TEST_SUITE_P(of, Snapshot,
                         testing::Values(Case{"one_rank", "fsdp2", 1, 1, 1, 0, false, 200},
                                         Case{"gathers", "fsdp2", 8, 1, 1, 3, false, 80},
                                         Case{"pages", "fsdp2", 8, 1, 1, 3, true, 80},
                                         Case{"streams", "megatron", 2, 2, 4, 1, false, 80},
                                         Case{"streams_and_pages", "megatron", 2, 2, 4, 1, true, 80},
                                         Case{"out_of_memory", "ddp", 2, 1, 1, 0, false, 48, true},
                                         Case{"pages_run_out", "ddp", 2, 1, 1, 0, true, 48, true}),
                         [](const auto& info) { return std::string{info.param.name}; });

TEST(allocation_snapshot, says_why_where_the_allocator_is_not_simulated) {
  Scenario sc = scenario_of({"", "maxtext", 8, 1, 1, 3, false, 80});
  std::string text;
  const auto refused = write_allocation_snapshot(sc, estimate_step(sc, {}), {},
                                                 [&](std::string_view piece) { text += piece; });
  EXPECT_EQ(refused, "the framework has an allocator of its own");
}

}  // namespace
}  // namespace hexaplan::presets
