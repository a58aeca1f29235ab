#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "costmodel/units/quantity.h"

namespace hexaplan::presets {

// What a training run tells about itself: the logs of the frameworks, as their users have them.

/// Whose log it is. Where one file holds lines of several, the earlier here counts: DeepSpeed's timer under a
/// trainer of its own sees only a part of the step.
enum class LogFormat : std::uint8_t {
  Nemo,
  Megatron,  // -LM, -DeepSpeed and Bridge
  Nanotron,
  Torchtitan,
  MegatronBridge,  // its "Step Time" lines alone
  DeepSpeed,
  HfTrainer,
};
/// "Megatron-LM", "torchtitan", ….
[[nodiscard]] std::string_view title_of(LogFormat format);
/// The lines by which each format is known, for messages.
[[nodiscard]] std::string known_log_formats();

/// What one line says about one step, or about the mean of several. Unset: it does not say.
struct LoggedStep {
  std::size_t line = 0;                      // of the file, from 1
  std::optional<std::int64_t> iteration;     // the last one that the figures are of
  std::int64_t steps = 1;                    // that they are the mean of
  std::optional<costmodel::Seconds> time;    // of one step
  std::optional<double> tokens_per_gpu;      // per second
  std::optional<double> samples;             // per second, of the whole job
  std::optional<double> tflops_per_gpu;      // by the framework's own formula
  std::optional<std::int64_t> global_batch;  // sequences
};

/// The fullest that an allocator says it was, of one rank; 0: not said.
struct LoggedPeak {
  std::optional<std::int64_t> rank;
  costmodel::Bytes allocated, reserved;
};

/// A part of the step as the framework's own timers have it.
struct LoggedPhase {
  std::string name;
  std::vector<costmodel::Seconds> times;  // one per line
};

struct RunLog {
  std::string file;
  LogFormat format = LogFormat::Megatron;
  std::vector<LoggedStep> steps;  // in the order of the file
  std::vector<LoggedPeak> peaks;  // one per rank, by rank; the one of no stated rank first
  std::vector<LoggedPhase> phases;
  std::optional<std::int64_t> world_size, sequence, global_batch;
  bool whole_run_mean = false;  // the only figure is a mean with the start in it
  /// Megatron-LM's list of its arguments as printed, less those that are None: {"num_layers", "24"}.
  std::vector<std::pair<std::string, std::string>> arguments;
};

/// Steps of one file: a log with more is cut by its owner (nobody logs that many).
inline constexpr std::size_t kMostLoggedSteps = 2'000'000;

/// Reads the log of Megatron-LM (also under DeepSpeed, Bridge and NeMo), NeMo, nanotron, torchtitan,
/// DeepSpeed or Hugging Face's Trainer; trainer_state.json, too. Other lines, tags of launchers in front,
/// colours and carriage returns do not matter. InputError, naming the known formats, for a text in which no
/// line speaks of a step.
[[nodiscard]] RunLog parse_run_log(std::string_view text, std::string file);
/// The same from a regular file of at most kLargestFile bytes.
[[nodiscard]] RunLog read_run_log(const std::filesystem::path& path);

/// Value of one of the arguments; empty: not listed, or None.
[[nodiscard]] std::string_view argument_of(const RunLog& log, std::string_view name);
/// The arguments as a launch script that import_plan reads, on `world_size` processes (8 per node); empty
/// when the log lists none. What the list has of defaults and of the data stays out.
[[nodiscard]] std::string launch_script_of(const RunLog& log);

}  // namespace hexaplan::presets
