#include "presets/runs/device_trace.h"

#include "presets/json/input_error.h"
#include "presets/runs/kineto_trace.h"
#include "presets/runs/nsight_export.h"

namespace hexaplan::presets {
namespace {

/// Nsight Systems' own format, which nobody but it reads.
bool is_nsight_report(const std::filesystem::path& path) {
  return path.extension() == ".nsys-rep" || path.extension() == ".qdrep";
}

}  // namespace

std::vector<DeviceTrace> read_traces(const std::filesystem::path& path, const TraceReading& reading) {
  if (is_nsight_report(path))
    throw InputError({.file = path.string(),
                      .value = "a report of Nsight Systems",
                      .expected = "its export to SQLite",
                      .hint = "write nsys export --type sqlite " + path.filename().string()});
  if (is_nsight_export(path)) return read_nsight_export(path, reading);
  std::vector<DeviceTrace> traces;
  traces.push_back(read_kineto_trace(path, reading));
  return traces;
}

bool is_trace(const std::filesystem::path& path) {
  return is_nsight_report(path) || is_nsight_export(path) || is_kineto_trace(path);
}

}  // namespace hexaplan::presets
