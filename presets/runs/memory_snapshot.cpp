#include "presets/runs/memory_snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "presets/json/input_error.h"
#include "presets/runs/pickle_data.h"
#include "presets/runs/snapshot_replay.h"

namespace hexaplan::presets {
namespace {

using costmodel::Bytes;
using Items = std::vector<PickleValue::Index>;

constexpr std::int64_t kMostDevices = 1024;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr std::int64_t kAllocationRounding = 512;  // kMinBlockSize of c10/cuda/CUDACachingAllocator.cpp

std::int64_t as_allocated(std::int64_t bytes) {
  return (bytes + kAllocationRounding - 1) / kAllocationRounding * kAllocationRounding;
}

class SnapshotReader {
 public:
  explicit SnapshotReader(const std::filesystem::path& path) : document_{read_pickle(path)} {
    snapshot_.file = path.string();
  }

  MemorySnapshot read() {
    const PickleValue& root = document_.root();
    if (document_.find(root, "segments") == nullptr)
      throw InputError({.file = snapshot_.file,
                        .value = "a pickle without \"segments\"",
                        .expected = "a snapshot that torch.cuda.memory._dump_snapshot wrote"});
    for (const auto index : document_.items(root, "segments")) add_segment(document_.at(index));
    const Items& traces = document_.items(root, "device_traces");
    for (std::size_t i = 0; i < traces.size() && i < static_cast<std::size_t>(kMostDevices); ++i) {
      const auto* events = std::get_if<PickleValue::List>(&document_.at(traces[i]).data);
      if (events == nullptr || events->items.empty()) continue;
      replay(device(static_cast<std::int64_t>(i)), events->items);
      simulate(device(static_cast<std::int64_t>(i)), events->items);
    }
    if (const PickleValue* settings = document_.find(root, "allocator_settings"))
      snapshot_.expandable = document_.is_true(*settings, "expandable_segments");
    for (auto& [number, found] : devices_) {
      if (found.events == 0) {
        found.peak_allocated = found.allocated;
        found.peak_reserved = found.reserved;
      }
      snapshot_.devices.push_back(std::move(found));
    }
    if (snapshot_.devices.empty())
      throw InputError({.file = snapshot_.file,
                        .value = "no segment and no event",
                        .expected = "a snapshot with memory in it"});
    return std::move(snapshot_);
  }

 private:
  std::int64_t size(const PickleValue& dict, std::string_view key) const {
    const std::int64_t bytes = document_.integer(dict, key, 0);
    if (bytes < 0 || bytes > kMostBytes)
      throw InputError({.file = snapshot_.file,
                        .field = std::string{key},
                        .value = std::to_string(bytes),
                        .expected = "a size in bytes"});
    return bytes;
  }
  SnapshotDevice& device(std::int64_t number) {
    if (number < 0 || number >= kMostDevices)
      throw InputError({.file = snapshot_.file,
                        .field = "device",
                        .value = std::to_string(number),
                        .expected = "a device from 0 to 1023"});
    SnapshotDevice& found = devices_[number];
    found.device = static_cast<int>(number);
    return found;
  }

  void add_segment(const PickleValue& segment) {
    if (!std::holds_alternative<PickleValue::Dict>(segment.data))
      throw InputError({.file = snapshot_.file,
                        .field = "segments",
                        .value = "a segment that is no dict",
                        .expected = "a snapshot that torch.cuda.memory._dump_snapshot wrote"});
    SnapshotDevice& on = device(document_.integer(segment, "device", 0));
    const bool expandable = document_.is_true(segment, "is_expandable");
    const bool small = document_.text(segment, "segment_type") == "small";
    SegmentSum& sum = on.kinds[expandable ? 2 : small ? 0 : 1];
    const auto reserved = static_cast<double>(size(segment, "total_size"));
    const auto allocated = static_cast<double>(size(segment, "allocated_size"));
    ++sum.segments;
    sum.reserved += Bytes{reserved};
    sum.allocated += Bytes{allocated};
    on.reserved += Bytes{reserved};
    on.allocated += Bytes{allocated};
    add_blocks(segment, sum, allocated > 0);
  }
  void add_blocks(const PickleValue& segment, SegmentSum& sum, bool in_use) {
    for (const auto index : document_.items(segment, "blocks")) {
      const PickleValue& block = document_.at(index);
      const Bytes bytes{static_cast<double>(size(block, "size"))};
      if (document_.text(block, "state") != "inactive") {
        ++sum.blocks;
        continue;
      }
      if (in_use) sum.free += bytes;
      sum.largest_free = std::max(sum.largest_free, bytes);
    }
  }

  /// Backwards from how it was when the snapshot was taken: the recording may have begun late, and forgets
  /// its oldest events.
  void replay(SnapshotDevice& on, const Items& events) {
    on.events = static_cast<std::int64_t>(events.size());
    double allocated = on.allocated.value(), reserved = on.reserved.value();
    on.peak_allocated = on.allocated;
    on.peak_reserved = on.reserved;
    std::size_t peak = events.size();
    for (std::size_t i = events.size(); i-- > 0;) {
      const PickleValue& event = document_.at(events[i]);
      const std::string_view action = document_.text(event, "action");
      const std::int64_t bytes = size(event, "size");
      if (action == "alloc") allocated -= static_cast<double>(as_allocated(bytes));
      if (action == "free_requested") allocated += static_cast<double>(as_allocated(bytes));
      if (action == "segment_alloc" || action == "segment_map") reserved -= static_cast<double>(bytes);
      if (action == "segment_free" || action == "segment_unmap") reserved += static_cast<double>(bytes);
      if (action == "oom") note_oom(on, bytes);
      if (allocated > on.peak_allocated.value()) {
        on.peak_allocated = Bytes{allocated};
        peak = i;
      }
      on.peak_reserved = std::max(on.peak_reserved, Bytes{reserved});
    }
    find_alive(on, events, peak);
  }
  /// The recorded calls once more, by the allocator's rules.
  void simulate(SnapshotDevice& on, const Items& events) const {
    const auto calls = recorded_calls(document_, events, on.device);
    if (!calls) return;
    costmodel::AllocatorSettings settings = recorded_settings(document_);
    on.simulated_reserved = run_calls(*calls, settings).use.peak_reserved;
    settings.expandable_segments = true;
    on.expandable_reserved = run_calls(*calls, settings).use.peak_reserved;
  }
  static void note_oom(SnapshotDevice& on, std::int64_t bytes) {
    if (on.ran_out == 0) on.asked = Bytes{static_cast<double>(bytes)};
    ++on.ran_out;
  }

  struct Block {
    std::int64_t bytes;
    std::string_view file, function;
    std::int64_t line;
  };

  /// What the events before `peak` leave allocated.
  void find_alive(SnapshotDevice& on, const Items& events, std::size_t peak) {
    std::unordered_map<std::int64_t, Block> alive;
    for (std::size_t i = 0; i < peak; ++i) {
      const PickleValue& event = document_.at(events[i]);
      const std::string_view action = document_.text(event, "action");
      const std::int64_t address = document_.integer(event, "addr", 0);
      if (action == "alloc") alive.insert_or_assign(address, block_of(event));
      if (action == "free_requested") alive.erase(address);
    }
    std::map<std::string, AliveGroup> groups;
    double known = 0;
    for (const auto& [address, block] : alive) {
      std::string where = place_of(block);
      AliveGroup& group = groups[where];
      group.where = std::move(where);
      ++group.blocks;
      group.bytes += Bytes{static_cast<double>(block.bytes)};
      known += static_cast<double>(block.bytes);
    }
    for (auto& [where, group] : groups) on.at_peak.push_back(std::move(group));
    std::stable_sort(on.at_peak.begin(), on.at_peak.end(),
                     [](const auto& a, const auto& b) { return b.bytes < a.bytes; });
    on.alive_before = Bytes{std::max(0.0, on.peak_allocated.value() - known)};
  }
  static std::string place_of(const Block& block) {
    if (block.file.empty()) return "not recorded where";
    const std::string_view name = block.file.substr(block.file.rfind('/') + 1);
    return fmt::format("{}:{} {}", name, block.line, block.function);
  }

  /// The innermost frame of the user's own Python; else of any Python.
  Block block_of(const PickleValue& event) const {
    Block block{as_allocated(size(event, "size")), {}, {}, 0};
    for (const auto index : document_.items(event, "frames")) {
      const PickleValue& frame = document_.at(index);
      const std::string_view file = document_.text(frame, "filename");
      if (!file.ends_with(".py")) continue;
      const bool own = file.find("/torch/") == std::string_view::npos;
      if (!own && !block.file.empty()) continue;
      block.file = file;
      block.function = document_.text(frame, "name");
      block.line = document_.integer(frame, "line", 0);
      if (own) break;
    }
    return block;
  }

  PickleDocument document_;
  MemorySnapshot snapshot_;
  std::map<std::int64_t, SnapshotDevice> devices_;
};

}  // namespace

MemorySnapshot read_memory_snapshot(const std::filesystem::path& path) {
  return SnapshotReader{path}.read();
}

}  // namespace hexaplan::presets
