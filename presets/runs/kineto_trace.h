#pragma once
#include <filesystem>

#include "presets/runs/device_trace.h"

namespace hexaplan::presets {

// Traces of PyTorch's profiler (Kineto): Chrome trace JSON, one file per rank. Times are microseconds from
// the first event of the file.

/// Reads a trace, gzip'ed or not, event by event: what is kept are kernels, shapes of products, messages and
/// steps. A file that ends in the middle gives what is whole, `cut_off`. InputError when no event can be
/// read, or when nothing in it ran.
[[nodiscard]] DeviceTrace read_kineto_trace(const std::filesystem::path& path,
                                            const TraceReading& reading = {});
/// Whether a file begins as such a trace does: an object, or an array, of JSON (perhaps gzip'ed) that has
/// "traceEvents" or "ph" within its first pieces. Reads no further.
[[nodiscard]] bool is_kineto_trace(const std::filesystem::path& path);

}  // namespace hexaplan::presets
