#include "presets/runs/log_fields.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "costmodel/units/parse_number.h"

namespace hexaplan::presets {
namespace {

using Q = LogQuantity;
constexpr double kMilli = 1e-3;
constexpr double kMebi = 1 << 20;
constexpr double kGibi = 1 << 30;

constexpr LogField kLogFields[] = {
    // Megatron-LM (megatron/training/training.py training_log), its forks and nanotron.
    {"elapsed time per iteration (ms)", Q::Seconds, kMilli},
    {"elapsed time per iteration (s)", Q::Seconds},  // bigscience's Megatron-DeepSpeed
    {"elapsed_time_per_iteration_ms", Q::Seconds, kMilli},
    {"time_per_iteration_ms", Q::Seconds, kMilli},  // nanotron since 2025
    {"train_step_timing in s", Q::Seconds},         // NeMo
    {"Step Time", Q::Seconds},                      // Megatron-Bridge
    {"global_step", Q::Iteration},                  // NeMo, DeepSpeed; from 0 in NeMo
    {"iteration", Q::Iteration},
    {"step", Q::Iteration},              // torchtitan
    {"stop]", Q::IterationBehindSlash},  // DeepSpeed before 0.9: "[timer.py:197:stop] 0/17,"
    {"tps", Q::TokensPerSecondPerGpu},   // torchtitan; before 0.1: wps
    {"wps", Q::TokensPerSecondPerGpu},
    {"tokens_per_sec_per_gpu", Q::TokensPerSecondPerGpu},
    {"tokens per gpu per second (tgs)", Q::TokensPerSecondPerGpu},
    {"tokens_per_gpu_per_second_tgs", Q::TokensPerSecondPerGpu},
    {"CurrSamplesPerSec", Q::SamplesPerSecond},
    {"SamplesPerSec", Q::SamplesPerSecond},  // DeepSpeed before 0.6
    {"train_runtime", Q::WholeRunSeconds},   // Hugging Face's Trainer
    {"train_steps_per_second", Q::StepsPerSecond},
    {"train_samples_per_second", Q::SamplesPerSecond},
    {"throughput per GPU (TFLOP/s/GPU)", Q::TflopsPerGpu},
    {"TFLOPS_per_GPU", Q::TflopsPerGpu},
    {"model_tflops_per_gpu", Q::TflopsPerGpu},
    {"GPU utilization", Q::TflopsPerGpu},
    {"TFLOPs", Q::TflopsPerGpu},
    {"tflops", Q::TflopsPerGpu},
    {"global batch size", Q::GlobalBatch},
    {"global_batch_size", Q::GlobalBatch},  // nanotron's steps count tokens in it: see run_log.cpp
    {"sequence length", Q::Sequence},
    {"sequence_length", Q::Sequence},
    {"actual seqlen", Q::Sequence},
    {"actual_seqlen", Q::Sequence},
    {"world size", Q::WorldSize},
    // Peaks. PyTorch's tools divide by 1024 and write MB or GB.
    {"max allocated", Q::MaxAllocated, kMebi},  // Megatron-LM report_memory
    {"max reserved", Q::MaxReserved, kMebi},
    {"max_memory_allocated", Q::MaxAllocated},  // NeMo's callback: bytes
    {"max_memory_reserved", Q::MaxReserved},
    {"MaxMemAllocated", Q::MaxAllocated},  // DeepSpeed timer: 15.59GB
    {"Max_MA", Q::MaxAllocated},           // DeepSpeed see_memory_usage: 1.25 GB
    {"Max_CA", Q::MaxReserved},            // … rounded to whole GB
    {"Peak allocated", Q::MaxAllocated},   // nanotron: 309.29MiB
    {"Peak reserved", Q::MaxReserved},
    {"cuda_max_memory_reserved", Q::MaxReserved},            // nanotron, in its steps: 547M of bytes
    {"memory", Q::MaxReservedOfStep},                        // torchtitan: 8.44GiB(13.20%)
    {"memory/max_allocated (GiB)", Q::MaxAllocated, kGibi},  // Axolotl
    {"memory/device_reserved (GiB)", Q::MaxReserved, kGibi},
};

/// A format and the words of its steps' lines: all of them.
struct StepLine {
  LogFormat format;
  std::string_view words[2];
};
constexpr StepLine kStepLines[] = {
    {LogFormat::Nemo, {"train_step_timing in s", ""}},
    {LogFormat::Nanotron, {"time_per_iteration_ms", "tokens_per_sec_per_gpu"}},
    {LogFormat::Megatron, {"elapsed time per iteration (", ""}},
    {LogFormat::Megatron, {"elapsed_time_per_iteration_ms", ""}},
    {LogFormat::Torchtitan, {"step:", "tps:"}},
    {LogFormat::Torchtitan, {"step:", "wps:"}},
    {LogFormat::MegatronBridge, {"Step Time", "GPU utilization"}},
    {LogFormat::DeepSpeed, {"SamplesPerSec=", "stop]"}},
    {LogFormat::HfTrainer, {"train_runtime", "train_samples_per_second"}},
};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Behind the first `label` that is no part of a longer word; npos when there is none.
std::size_t end_of_label(std::string_view text, std::string_view label) {
  for (std::size_t at = text.find(label); at != std::string_view::npos; at = text.find(label, at + 1)) {
    const std::size_t end = at + label.size();
    const bool starts = at == 0 || !is_word(text[at - 1]);
    if (starts && (end == text.size() || !is_word(text[end]))) return end;
  }
  return std::string_view::npos;
}

/// Factor of the letters behind a number. "MB" counts as MiB: see log_fields.h.
double factor_of(std::string_view letters) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"KB", 0x1p10},
      {"MB", 0x1p20},  {"GB", 0x1p30},  {"TB", 0x1p40},  {"K", 1e3},      {"M", 1e6},
      {"G", 1e9},      {"B", 1e9},      {"T", 1e12}};
  for (const auto& [unit, factor] : kUnits) {
    if (letters.starts_with(unit) && (letters.size() == unit.size() || !is_word(letters[unit.size()])))
      return factor;
  }
  return 1;
}

/// The number that `text` begins with, its groups joined; `text` is left behind it.
std::optional<double> take_grouped(std::string_view& text) {
  std::string digits;
  std::size_t end = 0;
  const auto is_digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  while (end < text.size() && digits.size() < 40) {
    const bool group = text[end] == ',' && is_digit(end + 1) && is_digit(end + 2) && is_digit(end + 3);
    if (!group && !is_digit(end) && std::string_view{".eE+-"}.find(text[end]) == std::string_view::npos)
      break;
    if (!group) digits += text[end];
    ++end;
  }
  std::string_view rest = digits;
  const auto value = costmodel::take_number<double>(rest);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  text.remove_prefix(end - rest.size());
  return value;
}

/// What stands behind a label: its number, and where that ends. A time of day (0:03:12) is no number.
std::optional<double> take_value(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t:='\""), text.size()));
  const auto value = take_grouped(text);
  if (!value || text.starts_with(':')) return std::nullopt;
  std::string_view unit = text;
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  return *value * factor_of(unit);
}

}  // namespace

std::span<const LogField> log_fields() {
  return kLogFields;
}

std::optional<double> number_behind(std::string_view text, std::string_view label) {
  const std::size_t end = end_of_label(text, label);
  if (end == std::string_view::npos) return std::nullopt;
  text.remove_prefix(end);
  return take_value(text);
}

std::optional<double> number_behind_slash(std::string_view text, std::string_view label) {
  const std::size_t end = end_of_label(text, label);
  if (end == std::string_view::npos) return std::nullopt;
  text.remove_prefix(end);
  if (!take_value(text) || !text.starts_with('/')) return std::nullopt;
  text.remove_prefix(1);
  return take_value(text);
}

std::optional<LogFormat> format_of_step_line(std::string_view line) {
  for (const StepLine& row : kStepLines) {
    const bool all = std::all_of(std::begin(row.words), std::end(row.words), [&](std::string_view word) {
      return line.find(word) != std::string_view::npos;
    });
    if (all) return row.format;
  }
  return std::nullopt;
}

}  // namespace hexaplan::presets
