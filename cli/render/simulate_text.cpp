#include "cli/render/simulate_text.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "cli/render/gantt_text.h"
#include "cli/render/heading.h"
#include "cli/render/not_modelled.h"
#include "cli/render/numbers.h"
#include "cli/render/simulate_rows.h"

namespace hexaplan::cli {

using costmodel::Bytes;
using costmodel::format_binary;
using costmodel::format_duration;
using costmodel::format_percent;
using costmodel::Seconds;
using costmodel::Simulation;
using costmodel::StageTimeline;

namespace {

std::string summary(const SimulateReport& report, const TextStyle& style) {
  const Simulation& s = *report.simulation;
  const Seconds closed = report.estimate.time.total();
  const StageTimeline& peak = s.stages[static_cast<std::size_t>(s.peak_stage)];
  const Bytes device = peak.peak + peak.outside, capacity = report.estimate.capacity;
  std::string text =
      fmt::format("{} {} simulated; closed form {} ({})\n", style.bold("Step"), format_duration(s.total),
                  format_duration(closed), format_signed_percent(closed / s.total - 1));
  text += fmt::format(
      "  waiting for other stages {} of the ranks' time, for communication {}; stage {} computes "
      "longest\n",
      format_percent(s.bubble_share()), format_percent(s.exposed_share()), s.slowest);
  return text + fmt::format("  memory is highest on stage {}: {} on the device of {}: {}\n", s.peak_stage,
                            format_binary(device), format_binary(capacity),
                            device <= capacity ? style.good("fits") : style.bad("does not fit"));
}

/// The chain that the step's length follows from.
std::string critical_path_line(const std::optional<costmodel::PathTimes>& path) {
  if (!path)
    return fmt::format("  critical path: not followed through more than {} passes\n",
                       costmodel::format_count(costmodel::kMostFollowedTasks));
  const std::string shares = shares_text(*path);
  return shares.empty() ? shares
                        : fmt::format("  critical path over {} stage{}: {}\n", path->stages,
                                      path->stages == 1 ? "" : "s", shares);
}

std::string by_stage(const Simulation& simulation, const TextStyle& style) {
  std::vector<std::vector<std::string>> rows{{"stage"}};
  for (const StageTimeName& name : kStageTimeNames) rows[0].emplace_back(name.column);
  rows[0].insert(rows[0].end(), {"share", "in flight", "live GiB", "device GiB"});
  for (std::size_t s = 0; s < simulation.stages.size(); ++s) {
    const StageTimeline& stage = simulation.stages[s];
    std::vector<std::string> row{fmt::format("{}", s)};
    for (const StageTimeName& name : kStageTimeNames)
      row.push_back(format_duration(stage.times.*name.member));
    row.push_back(format_percent(stage.times.bubble / simulation.total));
    row.push_back(fmt::format("{:.4g}", stage.microbatches_in_flight));
    row.push_back(gib_digits(stage.peak));
    row.push_back(gib_digits(stage.peak + stage.outside));
    rows.push_back(std::move(row));
  }
  return fmt::format("\n{} (share: of the bubble; micro-batches in flight and memory: at the peak)\n",
                     style.bold("What each stage does with the step")) +
         format_table(rows);
}

/// Runs the step once more.
TimelineFeed feed_of(const Question& question) {
  return [&](const costmodel::TakePiece& take) {
    static_cast<void>(costmodel::simulate_step(question.scenario, question.calibration,
                                               {.keep_memory = false, .take = take}));
  };
}

}  // namespace

std::string simulate_text(const SimulateReport& report, const TextStyle& style) {
  const std::string head = heading(report.question, report.parameters, report.estimate, style);
  if (!report.simulation)
    return head + rejected_lines(std::get<costmodel::Rejected>(report.estimate.verdict), style);
  return head + summary(report, style) + critical_path_line(report.path) +
         by_stage(*report.simulation, style) +
         gantt_text(*report.simulation, report.survey, feed_of(report.question), style) +
         not_modelled_text(costmodel::not_modelled(report.question.scenario), style);
}

}  // namespace hexaplan::cli
