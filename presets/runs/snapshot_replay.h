#pragma once
#include <optional>
#include <vector>

#include "costmodel/program/step_allocations.h"
#include "presets/runs/pickle_data.h"

namespace hexaplan::presets {

/// What a device's allocator was asked for while a snapshot recorded it, as calls: first what was there
/// already, in the order of its addresses. A block that other streams used is freed when they were done.
/// `events`: the device's trace; `root`: the snapshot. Nothing where more than
/// 2^50 bytes or 1,024 streams would be alive.
[[nodiscard]] std::optional<std::vector<costmodel::program::AllocationEvent>> recorded_calls(
    const PickleDocument& document, const std::vector<PickleValue::Index>& events, std::int64_t device);

/// The settings that the snapshot names.
[[nodiscard]] costmodel::AllocatorSettings recorded_settings(const PickleDocument& document);

}  // namespace hexaplan::presets
