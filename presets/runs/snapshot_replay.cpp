#include "presets/runs/snapshot_replay.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace hexaplan::presets {
namespace {

using costmodel::StreamNumber;
using costmodel::program::AllocationEvent;

constexpr std::int64_t kMostAlive = std::int64_t{1} << 50;
constexpr std::size_t kMostStreams = 1024;

class CallReplay {
 public:
  CallReplay(const PickleDocument& document, const std::vector<PickleValue::Index>& events,
             std::int64_t device)
      : document_{document}, events_{events} {
    // Blocks that other streams use end behind what was asked for; the oldest versions record no such end.
    const auto ends = std::find_if(events.begin(), events.end(), [&](PickleValue::Index index) {
      return document.text(document.at(index), "action") == "free_completed";
    });
    freed_ = ends == events.end() ? "free_requested" : "free_completed";
    find_earlier(device);
  }

  std::optional<std::vector<AllocationEvent>> run() {
    for (const auto& [address, block] : earlier_) {
      take(address, block);
      if (alive_bytes_ > kMostAlive) return std::nullopt;
    }
    for (const PickleValue::Index index : events_) {
      const PickleValue& event = document_.at(index);
      const std::string_view action = document_.text(event, "action");
      const std::int64_t address = document_.integer(event, "addr", 0);
      if (action == "alloc") take(address, block_of(event));
      if (action == freed_) give(address);
      if (alive_bytes_ > kMostAlive || streams_.size() > kMostStreams) return std::nullopt;
    }
    return std::move(calls_);
  }

 private:
  struct Block {
    std::int64_t bytes = 0, stream = 0;
  };
  struct Alive {
    std::uint32_t tensor;
    std::int64_t bytes;
  };

  [[nodiscard]] Block block_of(const PickleValue& event) const {
    return {std::clamp(document_.integer(event, "size", 0), std::int64_t{0}, kMostAlive),
            document_.integer(event, "stream", 0)};
  }
  /// What the trace frees and has not allocated, and what is there at its end and was not allocated in it.
  void find_earlier(std::int64_t device) {
    std::unordered_map<std::int64_t, bool> alive;
    for (const PickleValue::Index index : events_) {
      const PickleValue& event = document_.at(index);
      const std::string_view action = document_.text(event, "action");
      const std::int64_t address = document_.integer(event, "addr", 0);
      if (action == "alloc") alive[address] = true;
      if (action == freed_ && alive.erase(address) == 0) earlier_.try_emplace(address, block_of(event));
    }
    for (const PickleValue::Index index : document_.items(document_.root(), "segments")) {
      const PickleValue& segment = document_.at(index);
      if (document_.integer(segment, "device", 0) != device) continue;
      std::int64_t address = document_.integer(segment, "address", 0);
      for (const PickleValue::Index of : document_.items(segment, "blocks")) {
        const PickleValue& block = document_.at(of);
        Block found = block_of(block);
        const std::int64_t size = found.bytes;
        found.stream = document_.integer(segment, "stream", 0);
        if (const std::int64_t asked = document_.integer(block, "requested_size", 0); asked > 0)
          found.bytes = std::min(asked, size);
        if (document_.text(block, "state") != "inactive" && alive.count(address) == 0)
          earlier_.try_emplace(address, found);
        if (__builtin_add_overflow(address, size, &address)) break;
      }
    }
  }
  void take(std::int64_t address, const Block& block) {
    if (block.bytes == 0) return;
    give(address);
    const auto stream = streams_.try_emplace(block.stream, static_cast<StreamNumber>(streams_.size())).first;
    calls_.push_back({AllocationEvent::Call::Allocate, next_, block.bytes, stream->second});
    alive_[address] = {next_++, block.bytes};
    alive_bytes_ += block.bytes;
  }
  void give(std::int64_t address) {
    const auto found = alive_.find(address);
    if (found == alive_.end()) return;
    calls_.push_back({.call = AllocationEvent::Call::Free, .tensor = found->second.tensor});
    alive_bytes_ -= found->second.bytes;
    alive_.erase(found);
  }

  const PickleDocument& document_;
  const std::vector<PickleValue::Index>& events_;
  std::string_view freed_;
  std::map<std::int64_t, Block> earlier_;  // by address
  std::unordered_map<std::int64_t, Alive> alive_;
  std::map<std::int64_t, StreamNumber> streams_;
  std::vector<AllocationEvent> calls_;
  std::int64_t alive_bytes_ = 0;
  std::uint32_t next_ = 0;
};

}  // namespace

std::optional<std::vector<AllocationEvent>> recorded_calls(const PickleDocument& document,
                                                           const std::vector<PickleValue::Index>& events,
                                                           std::int64_t device) {
  return CallReplay{document, events, device}.run();
}

costmodel::AllocatorSettings recorded_settings(const PickleDocument& document) {
  costmodel::AllocatorSettings settings;
  const PickleValue* said = document.find(document.root(), "allocator_settings");
  if (said == nullptr) return settings;
  settings.expandable_segments = document.is_true(*said, "expandable_segments");
  if (const std::int64_t most = document.integer(*said, "max_split_size", -1); most > 0)
    settings.max_split_size = most;
  return settings;
}

}  // namespace hexaplan::presets
