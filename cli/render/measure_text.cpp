#include "cli/render/measure_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "charts/table_text.h"
#include "cli/render/heading.h"
#include "cli/render/numbers.h"
#include "cli/render/snapshot_text.h"
#include "cli/render/trace_text.h"
#include "costmodel/communication/bus_share.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "presets/calibration/fabric/collective_names.h"
#include "presets/json/spec_names.h"

namespace hexaplan::cli {

using charts::Cells;
using costmodel::format_binary;
using costmodel::format_duration;
using costmodel::format_percent;
using costmodel::format_signed_percent;
using costmodel::Seconds;

namespace {

constexpr std::size_t kListed = 4;
constexpr std::size_t kPhasesShown = 8;
constexpr double kDriftWorthSaying = 0.02;

/// A duration, or the rate that it is the inverse of.
std::string amount(const ImportedRun& run, Seconds time) {
  switch (run.unit) {
    case StepUnit::TokenPerGpu:
      return fmt::format("{:.1f} tokens/s per GPU", 1 / time.value());
    case StepUnit::Sample:
      return fmt::format("{:.2f} sequences/s", 1 / time.value());
    default:
      return format_duration(time);
  }
}

std::string title_line(const ImportedRun& run, const TextStyle& style) {
  const auto& first = run.timed.front();
  const auto& last = run.timed.back();
  const bool means =
      std::any_of(run.timed.begin(), run.timed.end(), [](const auto& s) { return s.steps > 1; });
  return fmt::format(
      "{}: {}, steps {} to {}, {} {}{}\n", style.bold(run.log.file), title_of(run.log.format),
      first.iteration, last.iteration, run.timed.size(), run.timed.size() == 1 ? "line" : "lines",
      means && !run.log.whole_run_mean ? ", each the mean of the steps since the line before" : "");
}

std::string left_out(const ImportedRun& run, const std::vector<std::size_t>& which, std::string_view what) {
  if (which.empty()) return {};
  std::string text = fmt::format("  {} {}:", which.size(), what);
  for (std::size_t i = 0; i < std::min(which.size(), kListed); ++i) {
    const auto& step = run.timed[which[i]];
    text += fmt::format("{} step {} (line {}) {}", i == 0 ? "" : ",", step.iteration,
                        run.log.steps[run.logged[which[i]]].line, amount(run, step.time));
  }
  return text + (which.size() > kListed ? ", …\n" : "\n");
}

std::string steady_lines(const ImportedRun& run) {
  const auto& steady = run.steady;
  std::string text = fmt::format("  {}: {}", run.unit == StepUnit::Step ? "a step takes" : "rate",
                                 amount(run, steady.median));
  if (steady.used.size() > 1)
    text += fmt::format(" (median of {}; 80 % lie in {} to {}, spread {})", steady.used.size(),
                        amount(run, run.unit == StepUnit::Step ? steady.low : steady.high),
                        amount(run, run.unit == StepUnit::Step ? steady.high : steady.low),
                        format_percent(steady.spread));
  text += "\n";
  if (std::abs(steady.drift) > kDriftWorthSaying)
    text += fmt::format("  the last third is {} against the first\n", format_signed_percent(steady.drift));
  return text + left_out(run, steady.warm_up, "of warm-up left out") +
         left_out(run, steady.disturbed, "disturbed, left out");
}

/// The middle one of what the framework itself says about its rate.
std::string framework_rate(const ImportedRun& run) {
  std::vector<double> rates;
  for (const std::size_t i : run.steady.used) {
    const auto& rate = run.log.steps[run.logged[i]].tflops_per_gpu;
    if (rate) rates.push_back(*rate);
  }
  if (rates.empty()) return {};
  std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2), rates.end());
  return fmt::format("  {:.1f} TFLOP/s per GPU by the framework's own formula\n", rates[rates.size() / 2]);
}

std::string list_of_ranks(const std::vector<std::int64_t>& ranks) {
  if (ranks.empty()) return "a rank";
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (std::size_t i = 0; i < std::min(ranks.size(), 2 * kListed); ++i) text += fmt::format(" {}", ranks[i]);
  return text + (ranks.size() > 2 * kListed ? " …" : "");
}

/// Ranks with the same peaks share a line.
std::string peak_lines(const ImportedRun& run) {
  std::vector<std::pair<presets::LoggedPeak, std::vector<std::int64_t>>> groups;
  for (const auto& peak : run.log.peaks) {
    auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return peak.rank && group.first.rank && group.first.allocated == peak.allocated &&
             group.first.reserved == peak.reserved;
    });
    if (same == groups.end()) same = groups.insert(same, {peak, {}});
    if (peak.rank) same->second.push_back(*peak.rank);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(groups.size(), 2 * kListed); ++i) {
    const auto& [peak, ranks] = groups[i];
    const bool both = peak.allocated.value() > 0 && peak.reserved.value() > 0;
    text += fmt::format("  peak of {}: {}{}{}\n", list_of_ranks(ranks),
                        peak.allocated.value() > 0 ? format_binary(peak.allocated) + " allocated" : "",
                        both ? ", " : "",
                        peak.reserved.value() > 0 ? format_binary(peak.reserved) + " reserved" : "");
  }
  if (groups.size() > 2 * kListed) text += fmt::format("  … and {} more\n", groups.size() - 2 * kListed);
  return text;
}

std::string phase_lines(const ImportedRun& run) {
  if (run.log.phases.empty()) return {};
  std::vector<std::pair<double, std::string>> phases;
  for (const auto& phase : run.log.phases) {
    std::vector<costmodel::Seconds> times = phase.times;
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    phases.emplace_back(times[times.size() / 2].value(), phase.name);
  }
  std::stable_sort(phases.begin(), phases.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = "  the framework's timers (medians; parts lie inside others):";
  for (std::size_t i = 0; i < std::min(phases.size(), kPhasesShown); ++i)
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", phases[i].second,
                        format_duration(Seconds{phases[i].first}));
  return text + "\n";
}

std::string compared_lines(const ImportedRun& run, const TextStyle& style) {
  if (!run.step && run.peaks.empty()) return {};
  Cells rows{{"", "predicted", "measured", "error", ""}};
  if (run.step) {
    const auto& interval = run.step->interval;
    rows.push_back(
        {"  step", format_duration(Seconds{run.step->predicted}),
         format_duration(Seconds{run.step->measured}), format_signed_percent(run.step->error()),
         fmt::format("{} {} to {}", run.step->inside() ? "inside" : style.warn("outside"),
                     format_duration(Seconds{interval.low}), format_duration(Seconds{interval.high}))});
  }
  for (const ComparedPeak& peak : run.peaks) {
    if (rows.size() > 2 * kListed) break;
    rows.push_back({fmt::format("  {}, {}", peak.reserved ? "reserved" : "allocated",
                                peak.rank ? fmt::format("rank {}", *peak.rank) : "fullest rank"),
                    format_binary(peak.predicted), format_binary(peak.measured),
                    format_signed_percent(peak.error()), fmt::format("stage {}", peak.stage)});
  }
  return format_table(rows);
}

std::string gpu_log_lines(const ImportedGpuLog& imported, const TextStyle& style) {
  const auto cell = [](const std::optional<double>& value, const char* unit) {
    return value ? fmt::format("{:.0f} {}", *value, unit) : std::string{"-"};
  };
  std::string text = fmt::format("{}: log of nvidia-smi\n", style.bold(imported.log.file));
  Cells rows{
      {"  GPU", "samples", "busy", "memory", "of", "utilisation", "power", "SM clock", "of", "hottest"}};
  for (const presets::LoggedGpu& gpu : imported.log.gpus)
    rows.push_back({fmt::format("  {} {}", gpu.gpu, gpu.name), fmt::format("{}", gpu.samples),
                    fmt::format("{}", gpu.busy), gpu.memory ? format_binary(*gpu.memory) : "-",
                    gpu.capacity ? format_binary(*gpu.capacity) : "-", cell(gpu.utilisation, "%"),
                    cell(gpu.watts, "W"), cell(gpu.sm_mhz, "MHz"), cell(gpu.most_sm_mhz, "MHz"),
                    cell(gpu.celsius, "C")});
  text += format_table(rows);
  if (imported.memory)
    text += fmt::format("  fullest GPU: {} predicted, {} measured, {}\n",
                        format_binary(imported.memory->predicted), format_binary(imported.memory->measured),
                        format_signed_percent(imported.memory->error()));
  return text +
         fmt::format("  {}\n",
                     style.dim("memory and temperature are the most of all samples; utilisation and power "
                               "the mean, the clock the median of the busy ones"));
}

std::string links_lines(const ImportedLinks& links, const TextStyle& style) {
  const presets::NcclTest& test = links.test;
  std::string text = fmt::format(
      "{}: {} of nccl-tests over {} ranks on {} host{}, {}{}\n", style.bold(links.file),
      presets::name_in(presets::kCollectiveNames, test.kind), test.ranks, test.nodes,
      test.nodes == 1 ? "" : "s", test.device, test.version.empty() ? "" : ", NCCL " + test.version);
  const bool compared = !links.sizes.empty() && links.sizes.front().predicted;
  Cells rows{{"  size", "measured", "bus"}};
  if (compared) rows[0].insert(rows[0].end(), {"predicted", "error"});
  for (const ImportedLinks::Size& size : links.sizes) {
    rows.push_back({"  " + format_binary(size.payload), format_duration(size.measured),
                    fmt::format("{:.4g} GB/s", 1e-9 * costmodel::bus_share(test.kind, test.ranks) *
                                                   (size.payload / size.measured).value())});
    if (compared)
      rows.back().insert(rows.back().end(),
                         {format_duration(*size.predicted), format_signed_percent(size.error())});
  }
  text += format_table(rows);
  for (const std::string& note : links.notes) text += fmt::format("  {}\n", style.dim(note));
  return text + fmt::format("  {}\n", style.dim("times are means of out of place and in place; 'hexaplan "
                                                "calibrate --from FILE' makes curves of such tables"));
}

}  // namespace

std::string measure_text(const MeasureReport& report, const TextStyle& style) {
  std::string text;
  if (report.question) {
    text += heading(*report.question, costmodel::count_parameters(report.question->scenario.model).total,
                    *report.estimate, style);
    if (const auto* rejected = std::get_if<costmodel::Rejected>(&report.estimate->verdict);
        rejected != nullptr && !report.priced())
      text += rejected_lines(*rejected, style) + "\n";
  }
  for (const ImportedRun& run : report.runs) {
    if (&run != &report.runs.front()) text += "\n";
    text += title_line(run, style) + steady_lines(run) + framework_rate(run) + peak_lines(run) +
            phase_lines(run) + compared_lines(run, style);
    for (const std::string& note : run.notes) text += fmt::format("  {}\n", style.dim(note));
  }
  if (!report.runs.empty() && !report.traces.empty()) text += "\n";
  text += traces_text(report.traces, style);
  if (!report.snapshots.empty() && report.runs.size() + report.traces.size() > 0) text += "\n";
  text += snapshots_text(report.snapshots, style);
  const auto gap = [&] { return text.empty() || text.ends_with("\n\n") ? "" : "\n"; };
  for (const ImportedGpuLog& log : report.gpu_logs) text += gap() + gpu_log_lines(log, style);
  for (const ImportedLinks& links : report.links) text += gap() + links_lines(links, style);
  return text;
}

}  // namespace hexaplan::cli
