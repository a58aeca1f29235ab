#include "presets/runs/run_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>

#include "costmodel/units/parse_number.h"
#include "presets/json/input_error.h"
#include "presets/json/read_json.h"
#include "presets/json/read_text_file.h"
#include "presets/runs/file_kind.h"
#include "presets/runs/log_fields.h"

namespace hexaplan::presets {
namespace {

using costmodel::Bytes;
using costmodel::Seconds;

constexpr std::size_t kLogFormats = 7;
constexpr std::array<std::string_view, kLogFormats> kTitles = {
    "NeMo", "Megatron-LM", "nanotron", "torchtitan", "Megatron-Bridge", "DeepSpeed", "Hugging Face Trainer"};

/// Beyond these a figure is a mistake of the log, and would overflow what is made of it.
constexpr double kMostInLog = 1e15;
constexpr std::size_t kMostPhases = 200;

/// Without colours (CSI sequences, ECMA-48 §5.4).
std::string without_colours(std::string_view line) {
  std::string plain;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] != '\x1b') {
      plain += line[at];
      continue;
    }
    if (at + 1 < line.size() && line[at + 1] == '[') ++at;
    while (at + 1 < line.size() && (line[at + 1] < '@' || line[at + 1] > '~')) ++at;
    ++at;
  }
  return plain;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<std::int64_t> whole_in_log(double value) {
  if (!(value >= 0 && value < kMostInLog)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

class LogReader {
 public:
  LogReader(std::string_view text, std::string file) : text_{text} { log_.file = std::move(file); }

  RunLog read() {
    std::string_view rest = text_;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find_first_of("\n\r"), rest.size());
      const bool line_ends = end < rest.size() && rest[end] == '\n';
      read_line(rest.substr(0, end));
      line_ += line_ends ? 1 : 0;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    finish();
    return std::move(log_);
  }

 private:
  void read_line(std::string_view line) {
    std::string plain;
    if (line.find('\x1b') != std::string_view::npos) line = plain = without_colours(line);
    // Ranks write at the same time: two reports may share a line.
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t next = std::min(line.find("[Rank ", at + 1), line.size());
      read_part(line.substr(at, next - at));
      at = next;
    }
  }

  void read_part(std::string_view part) {
    const auto format = format_of_step_line(part);
    if (format) read_step(part, *format);
    read_facts(part, format);
    read_phases(part);
    read_argument(part);
    read_progress(part);
  }

  /// "100%|█████| 378/378 [2:31:57<00:00": how many steps a run of Trainer had.
  void read_progress(std::string_view part) {
    constexpr std::string_view kDone = "100%|";
    const std::size_t bar = part.find(kDone);
    if (bar == std::string_view::npos) return;
    const std::size_t behind = part.find('|', bar + kDone.size());
    if (behind == std::string_view::npos) return;
    std::string_view counts = trimmed(part.substr(behind + 1));
    const auto done = costmodel::take_number<std::int64_t>(counts);
    if (done && *done > 0 && counts.starts_with('/')) progress_ = *done;
  }

  void read_step(std::string_view part, LogFormat format) {
    LoggedStep step{.line = line_};
    for (const LogField& field : log_fields()) read_step_field(part, field, format, step);
    std::vector<LoggedStep>& steps = steps_[static_cast<std::size_t>(format)];
    if (!step.time && !step.tokens_per_gpu && !step.samples) return;
    if (format == LogFormat::HfTrainer) steps.clear();  // the summary of a run that was resumed counts
    if (steps.size() >= kMostLoggedSteps)
      throw InputError({.file = log_.file,
                        .value = fmt::format("more than {} steps", kMostLoggedSteps),
                        .expected = "the log of one run",
                        .hint = "cut the file"});
    steps.push_back(step);
  }

  void read_step_field(std::string_view part, const LogField& field, LogFormat format, LoggedStep& step) {
    const bool behind_slash = field.quantity == LogQuantity::IterationBehindSlash;
    const auto value =
        behind_slash ? number_behind_slash(part, field.label) : number_behind(part, field.label);
    if (!value || !(*value > 0 || field.quantity == LogQuantity::Iteration) || *value > kMostInLog) return;
    const double number = *value * field.scale;
    const auto keep = [&](auto& target, auto kept) {
      if (!target) target = kept;
    };
    switch (field.quantity) {
      case LogQuantity::Iteration:
      case LogQuantity::IterationBehindSlash:
        keep(step.iteration, whole_in_log(number));
        break;
      case LogQuantity::Seconds:
        keep(step.time, Seconds{number});
        break;
      case LogQuantity::TokensPerSecondPerGpu:
        keep(step.tokens_per_gpu, number);
        break;
      case LogQuantity::SamplesPerSecond:
        keep(step.samples, number);
        break;
      case LogQuantity::TflopsPerGpu:
        keep(step.tflops_per_gpu, number);
        break;
      case LogQuantity::StepsPerSecond:
        keep(step.time, Seconds{1 / number});
        break;
      case LogQuantity::WholeRunSeconds:
        whole_run_ = number;
        break;
      case LogQuantity::GlobalBatch:
        // nanotron counts tokens here since 2025 (LogItem "global_batch_size").
        if (format != LogFormat::Nanotron) keep(step.global_batch, whole_in_log(number));
        break;
      default:
        break;
    }
  }

  void read_facts(std::string_view part, std::optional<LogFormat> step) {
    const auto rank = number_behind(part, "[Rank");
    std::map<LogQuantity, double> peaks;
    for (const LogField& field : log_fields()) {
      if (field.quantity < LogQuantity::GlobalBatch) continue;
      if (field.quantity == LogQuantity::MaxReservedOfStep && !step) continue;
      const auto value = number_behind(part, field.label);
      if (!value || !(*value > 0) || *value * field.scale > kMostInLog) continue;
      keep_fact(field.quantity, *value * field.scale, step, peaks);
    }
    if (peaks.empty()) return;
    LoggedPeak& peak = peaks_[rank ? whole_in_log(*rank).value_or(-1) : -1];
    for (const auto& [quantity, bytes] : peaks) {
      Bytes& fullest = quantity == LogQuantity::MaxAllocated ? peak.allocated : peak.reserved;
      fullest = std::max(fullest, Bytes{std::round(bytes)});
    }
  }

  void keep_fact(LogQuantity quantity, double value, std::optional<LogFormat> step,
                 std::map<LogQuantity, double>& peaks) {
    const auto keep = [&](std::optional<std::int64_t>& target) {
      if (!target) target = whole_in_log(value);
    };
    switch (quantity) {
      case LogQuantity::GlobalBatch:
        if (step != LogFormat::Nanotron) keep(log_.global_batch);
        break;
      case LogQuantity::Sequence:
        keep(log_.sequence);
        break;
      case LogQuantity::WorldSize:
        keep(log_.world_size);
        break;
      case LogQuantity::MaxReservedOfStep:
        peaks.try_emplace(LogQuantity::MaxReserved, value);
        break;
      default:
        peaks.try_emplace(quantity, value);
        break;
    }
  }

  /// "time (ms) | fwd: 3865.91 | bwd: 11249.43" (DeepSpeed, Megatron-LM before 2023), and the rows below
  /// "(min, max) time across ranks (ms):" (Megatron-LM): "    forward-backward ....: (11.58, 11.60)".
  void read_phases(std::string_view part) {
    if (const std::size_t at = part.find("time (ms) |"); at != std::string_view::npos) {
      in_timers_ = false;
      read_phase_list(part.substr(at + std::string_view{"time (ms) |"}.size()));
    } else if (part.find("time across ranks (ms):") != std::string_view::npos) {
      in_timers_ = true;
    } else if (in_timers_) {
      in_timers_ = read_timer(part);
    }
  }
  void read_phase_list(std::string_view list) {
    while (!list.empty()) {
      const std::size_t end = std::min(list.find('|'), list.size());
      const std::string_view entry = list.substr(0, end);
      const std::size_t colon = entry.rfind(':');
      if (colon != std::string_view::npos)
        keep_phase(trimmed(entry.substr(0, colon)), trimmed(entry.substr(colon + 1)));
      list.remove_prefix(std::min(end + 1, list.size()));
    }
  }
  bool read_timer(std::string_view row) {
    const std::size_t dots = row.find("..");
    const std::size_t comma = row.rfind(", ");
    const std::size_t close = row.rfind(')');
    if (dots == std::string_view::npos || comma == std::string_view::npos ||
        close == std::string_view::npos || close < comma)
      return false;
    keep_phase(trimmed(row.substr(0, dots)), trimmed(row.substr(comma + 2, close - comma - 2)));
    return true;
  }
  void keep_phase(std::string_view name, std::string_view milliseconds) {
    const auto value = costmodel::parse_number<double>(milliseconds);
    if (name.empty() || name.size() > 80 || !value || !(*value >= 0 && *value < kMostInLog)) return;
    auto found = std::find_if(log_.phases.begin(), log_.phases.end(),
                              [&](const LoggedPhase& phase) { return phase.name == name; });
    if (found == log_.phases.end()) {
      if (log_.phases.size() == kMostPhases) return;
      found = log_.phases.insert(found, {std::string{name}, {}});
    }
    if (found->times.size() < kMostLoggedSteps) found->times.emplace_back(*value * 1e-3);
  }

  /// "  hidden_size ..................................... 1024", between two rows of dashes.
  void read_argument(std::string_view part) {
    if (part.find("--- arguments ---") != std::string_view::npos) {
      in_arguments_ = true;
      log_.arguments.clear();
    } else if (part.find("end of arguments") != std::string_view::npos) {
      in_arguments_ = false;
    } else if (in_arguments_) {
      keep_argument(part);
    }
  }
  void keep_argument(std::string_view part) {
    constexpr std::size_t kMostArguments = 5000;
    const std::size_t dots = part.find(" ..");
    if (dots == std::string_view::npos || log_.arguments.size() == kMostArguments) return;
    std::string_view value = part.substr(dots + 1);
    value.remove_prefix(std::min(value.find_first_not_of('.'), value.size()));
    std::string_view name = trimmed(part.substr(0, dots));
    name = name.substr(std::min(name.find_last_of(" ]:") + 1, name.size()));  // tags of launchers
    value = trimmed(value);
    if (!name.empty() && value != "None") log_.arguments.emplace_back(name, value);
  }

  void finish() {
    const auto found =
        std::find_if(steps_.begin(), steps_.end(), [](const auto& steps) { return !steps.empty(); });
    if (found == steps_.end())
      throw InputError({.file = log_.file,
                        .value = "no line of a training step",
                        .expected = fmt::format("a log of {}", known_log_formats()),
                        .hint = reader_hint(text_, log_.file)});
    log_.format = static_cast<LogFormat>(found - steps_.begin());
    log_.steps = std::move(*found);
    if (log_.format == LogFormat::HfTrainer) finish_trainer(log_.steps.front());
    join_averages();
    for (auto& [rank, peak] : peaks_) {
      if (rank >= 0) peak.rank = rank;
      log_.peaks.push_back(peak);
    }
  }

  /// Steps per second are printed with three digits; the runtime over the steps of the progress bar has more.
  void finish_trainer(LoggedStep& run) {
    log_.whole_run_mean = true;
    if (progress_ == 0 || whole_run_ <= 0) return;
    run.iteration = run.steps = progress_;
    run.time = Seconds{whole_run_ / static_cast<double>(progress_)};
  }

  /// A line every ten steps has their mean (Megatron-LM, nanotron, torchtitan); NeMo, DeepSpeed and Bridge
  /// print the last step alone.
  void join_averages() {
    const bool means = log_.format == LogFormat::Megatron || log_.format == LogFormat::Torchtitan;
    for (std::size_t i = 0; means && i < log_.steps.size(); ++i) {
      const auto now = log_.steps[i].iteration;
      const auto before = i == 0 ? std::optional<std::int64_t>{} : log_.steps[i - 1].iteration;
      if (now && before && *now > *before) log_.steps[i].steps = *now - *before;
    }
  }

  std::string_view text_;
  RunLog log_;
  std::array<std::vector<LoggedStep>, kLogFormats> steps_;
  std::map<std::int64_t, LoggedPeak> peaks_;  // −1: no rank is said
  std::size_t line_ = 1;
  double whole_run_ = 0;
  std::int64_t progress_ = 0;
  bool in_arguments_ = false, in_timers_ = false;
};

const JsonValue* last_summary(const JsonValue& history) {
  const auto* entries = history.get_if<JsonArray>();
  if (entries == nullptr) return nullptr;
  const auto found = std::find_if(entries->rbegin(), entries->rend(), [](const JsonValue& entry) {
    return entry.find("train_runtime") != nullptr;
  });
  return found == entries->rend() ? nullptr : &*found;
}

double number_of(const JsonValue* value) {
  if (value == nullptr) return 0;
  if (const auto* real = value->get_if<double>()) return *real;
  const auto* integer = value->get_if<std::int64_t>();
  return integer == nullptr ? 0 : static_cast<double>(*integer);
}

/// trainer_state.json: the summary that Trainer adds at the end of a run.
RunLog parse_trainer_state(const JsonValue& history, std::string file) {
  const JsonValue* summary = last_summary(history);
  const double runtime = number_of(summary == nullptr ? nullptr : summary->find("train_runtime"));
  const double steps = number_of(summary == nullptr ? nullptr : summary->find("step"));
  if (!(runtime > 0 && steps >= 1 && runtime < kMostInLog && steps < kMostInLog))
    throw InputError({.file = std::move(file),
                      .field = "/log_history",
                      .value = "no entry with train_runtime",
                      .expected = "the state of a run that ended",
                      .hint = "give what the run printed, or the state beside its last checkpoint"});
  RunLog log{.file = std::move(file), .format = LogFormat::HfTrainer, .whole_run_mean = true};
  const double samples = number_of(summary->find("train_samples_per_second"));
  LoggedStep step{.line = 1,
                  .iteration = static_cast<std::int64_t>(steps),
                  .steps = static_cast<std::int64_t>(steps),
                  .time = Seconds{runtime / steps}};
  if (samples > 0 && samples < kMostInLog) step.samples = samples;
  log.steps.push_back(step);
  return log;
}

}  // namespace

std::string_view title_of(LogFormat format) {
  return kTitles[static_cast<std::size_t>(format)];
}

std::string known_log_formats() {
  return "Megatron-LM, Megatron-DeepSpeed or Megatron-Bridge (\"elapsed time per iteration (ms):\"), NeMo "
         "(\"train_step_timing in s\"), nanotron (\"elapsed_time_per_iteration_ms:\"), torchtitan (\"step: … "
         "tps:\"), DeepSpeed (\"SamplesPerSec=\") or Hugging Face's Trainer (\"train_runtime\", "
         "trainer_state.json)";
}

RunLog parse_run_log(std::string_view text, std::string file) {
  const std::string_view start = trimmed(text.substr(0, std::min<std::size_t>(text.size(), 64)));
  if (start.starts_with('{') && text.find("\"log_history\"") != std::string_view::npos) {
    const JsonDocument document = parse_json(text, file);
    if (const JsonValue* history = document.root.find("log_history"))
      return parse_trainer_state(*history, std::move(file));
  }
  return LogReader{text, std::move(file)}.read();
}

RunLog read_run_log(const std::filesystem::path& path) {
  return parse_run_log(read_text_file(path), path.string());
}

}  // namespace hexaplan::presets
