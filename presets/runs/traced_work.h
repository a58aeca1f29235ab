#pragma once
#include <optional>
#include <string>
#include <vector>

#include "costmodel/calibrate/measured_work.h"
#include "presets/runs/device_trace.h"
#include "presets/runs/trace_profile.h"

namespace hexaplan::presets {

// A trace in the words of the operation list, so that it can be held against a prediction.

/// What the steps of a trace run: products of recorded shapes, messages of known size, and all by kind.
[[nodiscard]] costmodel::MeasuredWork work_of(const TraceProfile& profile);

/// One step of a trace, kernel by kernel: the one whose length is the median of all that are whole, or the
/// whole trace where no step is marked. Kernels of one product that follow each other are one run.
[[nodiscard]] costmodel::MeasuredStep typical_step(const DeviceTrace& trace);

/// What a reader must know of a trace: that it is cut off, has no device, no marked steps, or no shapes.
[[nodiscard]] std::vector<std::string> notes_of(const DeviceTrace& trace, const TraceProfile& profile);

}  // namespace hexaplan::presets
