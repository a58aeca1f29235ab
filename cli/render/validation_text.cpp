#include "cli/render/validation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/render/numbers.h"
#include "costmodel/units/format_units.h"
#include "validator/measure/compare/findings.h"

namespace hexaplan::cli {

using charts::Cells;
using costmodel::Bytes;
using costmodel::format_binary;
using costmodel::format_duration;
using costmodel::format_percent;
using costmodel::Seconds;
using validator::ComparedTerm;
using validator::ComparedTotal;
using validator::Outcome;
using validator::ScenarioUse;
using validator::TermGroup;
using validator::ValidatedScenario;

namespace {

constexpr std::size_t kScenariosInFull = 3;

std::string_view heading_of(TermGroup group) {
  constexpr std::string_view kNames[] = {"Time by phase", "Time by kind of operation",
                                         "Messages (priced one by one; measured with waiting)",
                                         "Memory at the peak"};
  return kNames[static_cast<std::size_t>(group)];
}

/// Predicted, measured, error, inside the interval.
void append_total(const std::optional<ComparedTotal>& total, TermGroup group, const TextStyle& style,
                  std::vector<std::string>& row) {
  if (!total) {
    row.insert(row.end(), {"", "", "", ""});
    return;
  }
  row.push_back(term_value_text(total->predicted, group));
  row.push_back(term_value_text(total->measured, group));
  row.push_back(format_signed_percent(total->error()));
  row.push_back(total->inside() ? style.good("yes") : style.bad("no"));
}

std::string scenarios_table(const ValidateReport& report, const TextStyle& style) {
  const bool time = !report.calibration.empty();
  Cells rows{{"scenario", "use"}};
  for (const char* head : {"step predicted", "measured", "error", "inside"}) {
    if (time) rows[0].emplace_back(head);
  }
  for (const char* head : {"memory predicted", "measured", "error", "inside"}) rows[0].emplace_back(head);
  for (const ValidatedScenario& s : report.scenarios) {
    std::vector<std::string> row{s.name + (s.solo ? " (solo)" : ""), std::string{name_of(s.use)}};
    if (s.outcome != Outcome::Measured) {
      const bool as_predicted = s.outcome == Outcome::OutOfMemory && !s.predicted_to_fit;
      row.push_back(style.bad(name_of(s.outcome)) + (as_predicted ? ", as predicted" : ""));
    } else {
      if (time) append_total(s.step, TermGroup::Kind, style, row);
      append_total(s.memory, TermGroup::Memory, style, row);
    }
    rows.push_back(std::move(row));
  }
  return fitted_table(std::move(rows), style, {.left = 2, .expendable = {"use"}});
}

bool has_bus_rates(const validator::ComparedRank& rank, TermGroup group) {
  return std::any_of(rank.terms.begin(), rank.terms.end(),
                     [group](const ComparedTerm& term) { return term.group == group && term.bus_rate > 0; });
}

/// Rows of one group of terms under its heading; nothing without terms.
void append_group(const validator::ComparedRank& rank, TermGroup group, Cells& rows) {
  bool first = true;
  for (const ComparedTerm& term : rank.terms) {
    if (term.group != group) continue;
    if (first) rows.push_back({std::string{heading_of(group)}, "predicted", "measured", "error"});
    if (first && has_bus_rates(rank, group)) rows.back().emplace_back("bus");
    first = false;
    const auto error = term.error();
    rows.push_back({"  " + term.name, term_value_text(term.predicted, group),
                    term_value_text(term.measured, group),
                    error ? format_signed_percent(*error) : std::string{}});
    if (term.bus_rate > 0) rows.back().push_back(fmt::format("{:.4g} GB/s", term.bus_rate / 1e9));
  }
}

std::string terms_of(const ValidatedScenario& s, const TextStyle& style) {
  std::string text = fmt::format("\n{}: {}\n", style.bold(s.name), s.title);
  if (!s.reason.empty()) text += fmt::format("  {}: {}\n", name_of(s.outcome), s.reason);
  if (s.solo && s.step) {
    text +=
        fmt::format("  step of all {} GPUs: {} computed (measured) + {} messages and waiting (modelled)\n",
                    s.gpus, format_duration(s.measured_compute), format_duration(s.modelled_messages));
  }
  for (const std::string& line : {other_text(s), ranks_text(s)}) {
    if (!line.empty()) text += "  " + line + "\n";
  }
  for (const std::string& finding : findings(s)) text += "  " + finding + "\n";
  for (const validator::ComparedRank& rank : s.ranks) {
    Cells rows;
    for (int g = 0; g < validator::kTermGroups; ++g) append_group(rank, static_cast<TermGroup>(g), rows);
    text += fmt::format("rank {}, stage {}\n", rank.rank, rank.stage) + format_table(rows);
  }
  return text;
}

/// Several scenarios that one thing kept from running are one paragraph.
struct NotRun {
  std::string reason;
  std::vector<const ValidatedScenario*> scenarios;
};
std::vector<NotRun> not_run(const ValidateReport& report) {
  std::vector<NotRun> groups;
  for (const ValidatedScenario& s : report.scenarios) {
    if (s.outcome != Outcome::NotRun) continue;
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const NotRun& group) { return group.reason == s.reason; });
    NotRun& group = same != groups.end() ? *same : groups.emplace_back(NotRun{s.reason, {}});
    group.scenarios.push_back(&s);
  }
  return groups;
}

std::string not_run_text(const ValidateReport& report, const TextStyle& style) {
  std::string text;
  for (const NotRun& group : not_run(report)) {
    if (group.scenarios.size() == 1) {
      text += terms_of(*group.scenarios.front(), style);
      continue;
    }
    text += fmt::format("\n{} scenarios {}: {}\n", group.scenarios.size(), name_of(Outcome::NotRun),
                        group.reason);
    for (const ValidatedScenario* s : group.scenarios) text += fmt::format("  {}\n", s->name);
  }
  return text;
}

std::string errors_line(std::string_view what, const validator::ErrorCounts& counts) {
  if (counts.scenarios == 0) return {};
  return fmt::format("  {} of {} scenario{}: mean error {}, worst {}, bias {}; {} inside the 90 % interval\n",
                     what, counts.scenarios, counts.scenarios == 1 ? "" : "s", format_percent(counts.mean),
                     format_percent(counts.worst), format_signed_percent(counts.bias),
                     format_percent(counts.inside));
}

std::string summary_of(const ValidateReport& report, ScenarioUse use, std::string_view name,
                       const TextStyle& style) {
  const validator::ValidationSummary summary = summarise(report.scenarios, use);
  std::string lines = errors_line("step time", summary.step) + errors_line("memory", summary.memory);
  if (summary.fits_asked > 0) {
    lines += fmt::format("  whether it fits: right for {} of {}\n", summary.fits_right, summary.fits_asked);
  }
  return lines.empty() ? lines : style.bold(name) + "\n" + lines;
}

}  // namespace

std::string term_value_text(double value, validator::TermGroup group) {
  return group == validator::TermGroup::Memory ? format_binary(Bytes{value})
                                               : format_duration(Seconds{value});
}

std::string unfinished_text(const ValidateReport& report) {
  if (report.complete()) return {};
  const std::string how = report.signal == 0 ? "unfinished" : "stopped by " + report.stopped_by();
  return fmt::format("{} after {} of {} scenarios", how, report.finished, report.scenarios.size());
}

std::string other_text(const ValidatedScenario& s) {
  if (!s.other) return {};
  return fmt::format("predicted for {}: step {}, {} of the GPU; what ran is Hexaplan's own executor",
                     s.other->framework, format_duration(s.other->step), format_binary(s.other->device));
}

std::string ranks_text(const ValidatedScenario& s) {
  if (s.all_ranks.size() < 2 || s.solo) return {};
  std::set<std::string_view> hosts;
  std::vector<const validator::RankSummary*> order;
  for (const validator::RankSummary& rank : s.all_ranks) {
    hosts.insert(rank.host);
    order.push_back(&rank);
  }
  const bool timed =
      std::all_of(order.begin(), order.end(), [](const auto* rank) { return rank->computing > Seconds{}; });
  const auto time = [timed](const validator::RankSummary& rank) {
    return timed ? rank.computing : rank.step;
  };
  std::sort(order.begin(), order.end(), [&](const auto* a, const auto* b) { return time(*a) < time(*b); });
  const Seconds median = time(*order[(order.size() - 1) / 2]);
  const auto named = [&](const validator::RankSummary& rank) {
    return fmt::format("rank {} on {}, {} ({})", rank.rank, rank.host, format_duration(time(rank)),
                       format_signed_percent(time(rank) / median - 1));
  };
  return fmt::format("{} ranks on {} host{}; {} of the median rank: {}; slowest: {}; fastest: {}",
                     order.size(), hosts.size(), hosts.size() == 1 ? "" : "s", timed ? "computing" : "step",
                     format_duration(median), named(*order.back()), named(*order.front()));
}

std::string validation_text(const ValidateReport& report, bool terms, const TextStyle& style) {
  std::string text =
      fmt::format("{} {} {} predicted as {} {} median of {} steps after {}\n\n", style.bold("Validation"),
                  report.device, style.dot(), report.hardware, style.dot(), report.steps, report.warm_up);
  text += scenarios_table(report, style);
  for (const ValidatedScenario& s : report.scenarios) {
    const bool all = terms || report.scenarios.size() <= kScenariosInFull || s.outcome != Outcome::Measured;
    if (all && s.outcome != Outcome::NotRun) text += terms_of(s, style);
  }
  text += not_run_text(report, style);
  text += "\n" + summary_of(report, ScenarioUse::Unknown, "All scenarios", style);
  for (const ScenarioUse use : {ScenarioUse::Fitted, ScenarioUse::HeldOut}) {
    text += summary_of(report, use, use == ScenarioUse::Fitted ? "May have been fitted" : "Held out", style);
  }
  const std::string unfinished = unfinished_text(report);
  if (!unfinished.empty()) text += style.bad(unfinished) + "; ";
  return text + fmt::format("{} in all\n", format_duration(report.elapsed));
}

Cells validation_cells(const ValidateReport& report) {
  Cells rows{{"scenario", "use", "solo", "outcome", "gpus", "step_predicted_seconds", "step_measured_seconds",
              "step_error", "step_inside", "memory_predicted_bytes", "memory_measured_bytes", "memory_error",
              "memory_inside", "mfu"}};
  const auto add = [](const std::optional<ComparedTotal>& total, std::vector<std::string>& row) {
    if (!total) return row.insert(row.end(), {"", "", "", ""}), void();
    row.push_back(fmt::format("{:.9g}", total->predicted));
    row.push_back(fmt::format("{:.9g}", total->measured));
    row.push_back(fmt::format("{:.4f}", total->error()));
    row.emplace_back(total->inside() ? "yes" : "no");
  };
  for (const ValidatedScenario& s : report.scenarios) {
    std::vector<std::string> row{s.name, std::string{name_of(s.use)}, s.solo ? "yes" : "no",
                                 std::string{name_of(s.outcome)}, std::to_string(s.gpus)};
    add(s.step, row);
    add(s.memory, row);
    row.push_back(s.mfu > 0 ? fmt::format("{:.4f}", s.mfu) : "");
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace hexaplan::cli
