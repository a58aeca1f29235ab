#include "presets/trace/allocation_snapshot.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "costmodel/program/step_allocations.h"
#include "presets/trace/pickle_writer.h"

namespace hexaplan::presets {

using costmodel::AllocationId;
using costmodel::AllocatorObserver;
using costmodel::AllocatorSettings;
using costmodel::CachingAllocator;
using costmodel::SegmentChange;
using costmodel::SegmentState;
using costmodel::StageMemory;
using costmodel::program::AllocationEvent;
using costmodel::program::AllocationOrigin;
using costmodel::program::CallRunner;

namespace {

/// Where a device's memory begins: addresses of devices differ, and any viewer's numbers are exact there.
std::int64_t base_of(int device) {
  constexpr std::int64_t room = std::int64_t{1} << 44;
  return room * (device % 256 + 1);
}

/// The stack of frames that a tensor has in place of a program's: innermost first. Frames are written once.
class Frames {
 public:
  explicit Frames(PickleWriter& out) : out_{out} {}

  void write(const AllocationOrigin& origin) {
    out_.begin_list();
    if (origin.layer >= 0) {
      frame(origin.tensor, "layer", origin.layer);
    } else {
      frame(origin.tensor, "tensor", 0);
    }
    if (origin.microbatch >= 0)
      frame(costmodel::name_of(origin.instant), "micro-batch", origin.microbatch);
    else
      frame(costmodel::name_of(origin.instant), "instant", 0);
    frame("hexaplan: predicted, not measured", "step", origin.step);
    out_.end_list();
  }

 private:
  void frame(std::string_view name, std::string_view file, int line) {
    out_.next_item();
    const auto [entry, first] = known_.try_emplace({name, file, line}, 0);
    if (!first) return out_.remembered(entry->second);
    out_.begin_dict();
    out_.key("name");
    out_.text(name);
    out_.key("filename");
    out_.text(file);
    out_.key("line");
    out_.number(line);
    out_.end_dict();
    entry->second = out_.remember();
  }

  PickleWriter& out_;
  std::map<std::tuple<std::string_view, std::string_view, int>, std::uint32_t> known_;
};

/// What is left on a device when its calls are made.
struct HeldDevice {
  int number = 0;
  std::vector<SegmentState> segments;
  std::vector<std::optional<std::uint32_t>> tensors;  // alive ones, by allocation
  std::vector<std::int64_t> sizes;                    // asked for, by tensor
  std::vector<AllocationOrigin> origins;              // by tensor
};

/// Writes the events of one device.
class AllocationTrace final : public AllocatorObserver {
 public:
  AllocationTrace(PickleWriter& out, Frames& frames, const AllocatorSettings& settings, HeldDevice& device)
      : out_{out},
        frames_{frames},
        device_{device},
        capacity_{settings.capacity},
        allocator_{settings},
        runner_{allocator_} {
    allocator_.observe(*this);
  }

  void run(const std::vector<AllocationEvent>& calls) {
    out_.begin_list();
    for (const AllocationEvent& call : calls) {
      call_ = &call;
      if (!make()) break;
      ++time_;
    }
    out_.end_list();
    device_.segments = allocator_.segments();
  }

 private:
  using Call = AllocationEvent::Call;

  bool make() {
    const AllocationEvent& call = *call_;
    if (call.call == Call::Free) write_freed("free_requested", runner_.allocation_of(call.tensor));
    if (!runner_.make(call)) {
      begin("oom", "device_free", capacity_ - costmodel::whole(allocator_.use().reserved));
      end(call.bytes, call.stream, call.tensor);
      return false;
    }
    if (call.call != Call::Allocate) return true;
    const AllocationId made = runner_.allocation_of(call.tensor);
    device_.sizes.push_back(call.bytes);
    streams_.push_back(call.stream);
    if (made >= device_.tensors.size()) device_.tensors.resize(made + 1);
    device_.tensors[made] = call.tensor;
    begin("alloc", "addr", base_of(device_.number) + allocator_.address_of(made));
    end(call.bytes, call.stream, call.tensor);
    return true;
  }

  void changed(const SegmentChange& change) override {
    const std::string_view action = change.pages ? (change.taken ? "segment_map" : "segment_unmap")
                                                 : (change.taken ? "segment_alloc" : "segment_free");
    begin(action, "addr", base_of(device_.number) + change.address);
    end(change.size, change.stream, call_->tensor);
  }
  void returned(AllocationId id) override {
    write_freed("free_completed", id);
    device_.tensors[id].reset();
  }
  void write_freed(std::string_view action, AllocationId id) {
    const std::uint32_t tensor = device_.tensors[id].value();
    begin(action, "addr", base_of(device_.number) + allocator_.address_of(id));
    end(device_.sizes[tensor], streams_[tensor], tensor);
  }

  void begin(std::string_view action, std::string_view what, std::int64_t value) {
    out_.next_item();
    out_.begin_dict();
    out_.key("action");
    out_.text(action);
    out_.key(what);
    out_.number(value);
  }
  void end(std::int64_t size, int stream, std::uint32_t tensor) {
    out_.key("size");
    out_.number(size);
    out_.key("stream");
    out_.number(stream);
    out_.key("time_us");
    out_.number(time_);
    out_.key("frames");
    frames_.write(device_.origins[tensor]);
    out_.end_dict();
  }

  PickleWriter& out_;
  Frames& frames_;
  HeldDevice& device_;
  std::int64_t capacity_;
  CachingAllocator allocator_;
  CallRunner runner_;
  const AllocationEvent* call_ = nullptr;
  std::vector<int> streams_;  // by tensor
  std::int64_t time_ = 0;
};

void write_block(PickleWriter& out, Frames& frames, const HeldDevice& device,
                 const SegmentState::Block& block, std::int64_t address) {
  out.begin_dict();
  out.key("size");
  out.number(block.size);
  out.key("address");
  out.number(address);
  const bool lives = block.allocated || block.pending;
  const std::uint32_t* const tensor = lives ? &device.tensors[block.id].value() : nullptr;
  out.key("requested_size");
  out.number(lives ? device.sizes[*tensor] : block.size);
  out.key("state");
  out.text(block.allocated ? "active_allocated" : block.pending ? "active_pending_free" : "inactive");
  out.key("frames");
  if (lives) {
    frames.write(device.origins[*tensor]);
  } else {
    out.begin_list();
    out.end_list();
  }
  out.end_dict();
}

void write_segment(PickleWriter& out, Frames& frames, const HeldDevice& device, const SegmentState& segment) {
  std::int64_t allocated = 0, active = 0, requested = 0;
  for (const SegmentState::Block& block : segment.blocks) {
    if (block.allocated) {
      allocated += block.size;
      requested += device.sizes[device.tensors[block.id].value()];
    }
    active += block.allocated || block.pending ? block.size : 0;
  }
  out.begin_dict();
  const auto number = [&](std::string_view key, std::int64_t value) {
    out.key(key);
    out.number(value);
  };
  std::int64_t address = base_of(device.number) + segment.address;
  number("device", device.number);
  number("address", address);
  number("total_size", segment.size);
  number("allocated_size", allocated);
  number("active_size", active);
  number("requested_size", requested);
  number("stream", segment.stream);
  out.key("segment_type");
  out.text(segment.small ? "small" : "large");
  out.key("segment_pool_id");
  out.pair_of_zeros();
  out.key("is_expandable");
  out.truth(segment.grows);
  out.key("frames");
  out.begin_list();
  out.end_list();
  out.key("blocks");
  out.begin_list();
  for (const SegmentState::Block& block : segment.blocks) {
    out.next_item();
    write_block(out, frames, device, block, address);
    address += block.size;
  }
  out.end_list();
  out.end_dict();
}

/// As PyTorch names the settings, what says most of how it reserves.
void write_settings(PickleWriter& out, const AllocatorSettings& settings) {
  const bool splits_all = settings.max_split_size == AllocatorSettings::kUnlimited;
  out.begin_dict();
  out.key("PYTORCH_CUDA_ALLOC_CONF");
  out.text(settings.expandable_segments ? "expandable_segments:True" : "");
  out.key("max_split_size");
  out.number(splits_all ? -1 : settings.max_split_size);
  out.key("expandable_segments");
  out.truth(settings.expandable_segments);
  out.end_dict();
}

}  // namespace

std::int64_t allocator_capacity(const costmodel::Estimate& estimate, const StageMemory& stage) {
  return costmodel::whole(estimate.capacity - (stage.device - stage.reserved));
}

std::optional<std::string> write_allocation_snapshot(const costmodel::Scenario& scenario,
                                                     const costmodel::Estimate& estimate,
                                                     AllocatorSettings settings, const TraceSink& sink) {
  if (const auto reason = costmodel::program::not_simulated(scenario)) return std::string{*reason};
  PickleWriter out{sink};
  Frames frames{out};
  std::vector<HeldDevice> devices;
  out.begin_dict();
  out.key("device_traces");
  out.begin_list();
  for (const StageMemory& stage : estimate.stages) {
    auto calls =
        costmodel::program::named_allocations(scenario, stage.stage, costmodel::program::kSimulatedSteps);
    if (!calls) return "a step makes more than a million calls";
    HeldDevice& device = devices.emplace_back(
        HeldDevice{.number = stage.stage, .segments = {}, .tensors = {}, .sizes = {}, .origins = {}});
    device.origins = std::move(calls->origins);
    settings.capacity = allocator_capacity(estimate, stage);
    out.next_item();
    AllocationTrace{out, frames, settings, device}.run(calls->events);
  }
  out.end_list();
  out.key("segments");
  out.begin_list();
  for (const HeldDevice& device : devices) {
    for (const SegmentState& segment : device.segments) {
      out.next_item();
      write_segment(out, frames, device, segment);
    }
  }
  out.end_list();
  out.key("allocator_settings");
  write_settings(out, settings);
  out.end_dict();
  out.finish();
  return std::nullopt;
}

}  // namespace hexaplan::presets
