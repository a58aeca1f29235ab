#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/units/quantity.h"

namespace hexaplan::presets {

/// Segments of one kind that PyTorch's allocator took from the driver: the small ones (2 MiB, for blocks
/// below 1 MiB), the large ones, and those that grow (expandable_segments).
struct SegmentSum {
  std::int64_t segments = 0, blocks = 0;  // blocks: in use
  costmodel::Bytes reserved, allocated;
  costmodel::Bytes free;          // of segments in use: reserved and of no use to others
  costmodel::Bytes largest_free;  // block
};

/// What was alive at the peak, by where it was allocated.
struct AliveGroup {
  std::string where;  // "training.py:33 cross_entropy_loss"
  std::int64_t blocks = 0;
  costmodel::Bytes bytes;
};

/// One device of a snapshot.
struct SnapshotDevice {
  int device = 0;
  costmodel::Bytes allocated, reserved;  // when the snapshot was taken
  /// Over the recorded events; as when it was taken, where none were recorded. Allocated: with the sizes that
  /// were asked for, rounded up to 512 bytes as the allocator does.
  costmodel::Bytes peak_allocated, peak_reserved;
  std::int64_t events = 0;          // recorded
  std::int64_t ran_out = 0;         // of memory, times
  costmodel::Bytes asked;           // for, when it last ran out
  std::array<SegmentSum, 3> kinds;  // small, large, expandable
  std::vector<AliveGroup> at_peak;  // largest first; those whose allocation was recorded
  costmodel::Bytes alive_before;    // at the peak, allocated before the first event
  /// Most reserved when the recorded calls run through the allocator's rules (costmodel/memory/
  /// caching_allocator.h): under the settings that were recorded, and with expandable segments. Nothing where
  /// nothing was recorded.
  std::optional<costmodel::Bytes> simulated_reserved, expandable_reserved;
  [[nodiscard]] costmodel::Bytes unused() const { return reserved - allocated; }
};

struct MemorySnapshot {
  std::string file;
  std::vector<SnapshotDevice> devices;  // that hold memory or have events
  bool expandable = false;              // PYTORCH_CUDA_ALLOC_CONF says expandable_segments
};

/// Reads what torch.cuda.memory._dump_snapshot writes, gzip'ed or not, without running anything. InputError
/// when the file is no such snapshot.
[[nodiscard]] MemorySnapshot read_memory_snapshot(const std::filesystem::path& path);

}  // namespace hexaplan::presets
