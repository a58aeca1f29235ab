#pragma once
#include <filesystem>
#include <vector>

#include "presets/runs/device_trace.h"

namespace hexaplan::presets {

// Reports of Nsight Systems, exported by `nsys export --type sqlite` (NVIDIA Nsight Systems documentation,
// "SQLite Schema Reference"; tables and columns that a version does not have are done without).

/// One trace for every process and device that ran kernels, in their order: kernels, copies, and CUDA graphs
/// that were recorded as a whole; steps, where the program marked them with ranges of NVTX; shapes of
/// products, where PyTorch's operators are such ranges (emit_nvtx(record_shapes=True), as Megatron-LM,
/// Megatron-Bridge and NeMo call it); messages with their size and ranks, where NCCL's ranges carry them.
/// Times are microseconds from the start of the recording. InputError when nothing ran on a device, or the
/// file is damaged.
[[nodiscard]] std::vector<DeviceTrace> read_nsight_export(const std::filesystem::path& path,
                                                          const TraceReading& reading = {});
/// Whether a file is a database of SQLite with tables of Nsight Systems.
[[nodiscard]] bool is_nsight_export(const std::filesystem::path& path);

}  // namespace hexaplan::presets
