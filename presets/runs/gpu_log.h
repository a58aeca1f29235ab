#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/units/quantity.h"

namespace hexaplan::presets {

// What nvidia-smi logged beside a run: nvidia-smi --query-gpu=… --format=csv -l 1.

/// One GPU over the log. Unset: no column says it, or no sample has a number.
struct LoggedGpu {
  std::string gpu;   // index, bus or UUID, whichever column there is; empty: the log names none
  std::string name;  // as the driver has it
  std::size_t samples = 0;
  /// Those that count below: GPU utilisation is at least half of the largest; all, where it is not logged.
  std::size_t busy = 0;
  std::optional<costmodel::Bytes> memory, capacity;  // most used, all processes and contexts; in total
  std::optional<double> utilisation, watts;          // means
  std::optional<double> sm_mhz, most_sm_mhz;         // median; what clocks.max.sm says
  std::optional<double> celsius;                     // most
};
struct GpuLog {
  std::string file;
  std::vector<LoggedGpu> gpus;  // in the order of the log
};
[[nodiscard]] bool is_gpu_log(const std::filesystem::path& path);
/// With units or without (nounits). Throws InputError when a row is ragged, a value no number, or no column
/// says anything of the above.
[[nodiscard]] GpuLog parse_gpu_log(std::string_view text, std::string file);
[[nodiscard]] GpuLog read_gpu_log(const std::filesystem::path& path);

}  // namespace hexaplan::presets
