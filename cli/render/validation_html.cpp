#include "cli/render/validation_html.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "charts/comparison_svg.h"
#include "charts/svg.h"
#include "cli/render/numbers.h"
#include "cli/render/validation_text.h"
#include "cli/version.h"
#include "costmodel/units/format_units.h"
#include "report/html.h"
#include "validator/measure/compare/findings.h"

namespace hexaplan::cli {

using charts::ComparedPoint;
using charts::escaped_markup;
using charts::Measure;
using costmodel::Bytes;
using costmodel::Seconds;
using report::Cell;
using report::Table;
using validator::ComparedTotal;
using validator::ScenarioUse;
using validator::TermGroup;
using validator::ValidatedScenario;

namespace {

void append_total(const std::optional<ComparedTotal>& total, TermGroup group, std::vector<Cell>& row) {
  if (!total) return row.insert(row.end(), 4, Cell{"–"}), void();
  row.emplace_back(term_value_text(total->predicted, group));
  row.emplace_back(term_value_text(total->measured, group));
  row.emplace_back(format_signed_percent(total->error()));
  row.emplace_back(total->inside() ? report::marked("yes", "good") : report::marked("no", "bad"));
}

std::string scenarios_table(const ValidateReport& report) {
  Table table{.heads = {"scenario", "use", "outcome", "step predicted", "measured", "error", "in interval",
                        "memory predicted", "measured", "error", "in interval", "MFU"},
              .rows = {}};
  for (const ValidatedScenario& s : report.scenarios) {
    std::vector<Cell> row{s.name + (s.solo ? " (solo)" : ""), name_of(s.use), name_of(s.outcome)};
    append_total(s.step, TermGroup::Kind, row);
    append_total(s.memory, TermGroup::Memory, row);
    row.emplace_back(s.mfu > 0 ? costmodel::format_percent(s.mfu) : "–");
    table.rows.push_back(std::move(row));
  }
  return to_html(table);
}

std::vector<ComparedPoint> points_of(const ValidateReport& report,
                                     std::optional<ComparedTotal> ValidatedScenario::*figure) {
  std::vector<ComparedPoint> points;
  for (const ValidatedScenario& s : report.scenarios) {
    const std::optional<ComparedTotal>& total = s.*figure;
    if (!total) continue;
    points.push_back({.label = s.name,
                      .predicted = total->predicted,
                      .measured = total->measured,
                      .low = total->interval.low,
                      .high = total->interval.high,
                      .held_out = s.use != ScenarioUse::Fitted});
  }
  return points;
}

std::string plots(const ValidateReport& report) {
  const auto steps = points_of(report, &ValidatedScenario::step);
  const auto memory = points_of(report, &ValidatedScenario::memory);
  std::string html = "<div class=\"plots\">\n";
  if (!steps.empty()) {
    html += charts::scatter_svg(steps, Measure::Seconds, "Step time");
    html += charts::error_bars_svg(steps, Measure::Seconds, "Error of the step time");
  }
  html += charts::scatter_svg(memory, Measure::Bytes, "Memory of the fullest rank");
  html += charts::error_bars_svg(memory, Measure::Bytes, "Error of the memory");
  return html + "</div>\n";
}

std::vector<ComparedPoint> bars_of(const validator::ComparedRank& rank, TermGroup group) {
  std::vector<ComparedPoint> bars;
  for (const validator::ComparedTerm& term : rank.terms) {
    if (term.group == group)
      bars.push_back({.label = term.name, .predicted = term.predicted, .measured = term.measured});
  }
  return bars;
}

std::string facts_table(const ValidatedScenario& s) {
  if (s.facts.empty()) return {};
  Table table{.heads = {"the device says", ""}, .rows = {}};
  for (const validator::DeviceFact& fact : s.facts) {
    table.rows.push_back({fact.name, fact.unit.empty() ? fact.text
                                     : fact.unit == "bytes"
                                         ? costmodel::format_binary(Bytes{fact.value})
                                         : fmt::format("{:.6g} {}", fact.value, fact.unit)});
  }
  return to_html(table);
}

std::string scenario_details(const ValidatedScenario& s) {
  std::string html = fmt::format("<p>{}</p>\n", escaped_markup(s.title));
  if (!s.reason.empty()) html += fmt::format("<p class=\"bad\">{}</p>\n", escaped_markup(s.reason));
  if (s.solo && s.step) {
    html += fmt::format(
        "<p>Step of all {} GPUs: {} computed by one rank (measured) + {} messages and waiting "
        "(modelled).</p>\n",
        s.gpus, costmodel::format_duration(s.measured_compute),
        costmodel::format_duration(s.modelled_messages));
  }
  for (const std::string& line : {other_text(s), ranks_text(s)}) {
    if (!line.empty()) html += fmt::format("<p>{}</p>\n", escaped_markup(line));
  }
  for (const std::string& finding : findings(s)) html += fmt::format("<p>{}</p>\n", escaped_markup(finding));
  constexpr std::string_view kTitles[] = {"Time by phase", "Time by kind of operation",
                                          "Messages, priced one by one; measured with waiting",
                                          "Memory at the peak"};
  for (const validator::ComparedRank& rank : s.ranks) {
    html += fmt::format("<h3>Rank {}, stage {}</h3>\n<div class=\"plots\">\n", rank.rank, rank.stage);
    for (int g = 0; g < validator::kTermGroups; ++g) {
      const auto group = static_cast<TermGroup>(g);
      const auto bars = bars_of(rank, group);
      if (bars.empty()) continue;
      html += charts::paired_bars_svg(bars, group == TermGroup::Memory ? Measure::Bytes : Measure::Seconds,
                                      kTitles[static_cast<std::size_t>(g)]);
    }
    html += "</div>\n";
  }
  return report::unfolding({escaped_markup(s.name)}, html + facts_table(s));
}

std::string summary_table(const ValidateReport& report) {
  Table table{.heads = {"", "scenarios", "mean error", "worst", "bias", "in 90 % interval"}, .rows = {}};
  constexpr std::pair<ScenarioUse, std::string_view> kUses[] = {{ScenarioUse::Unknown, "all"},
                                                                {ScenarioUse::Fitted, "may have been fitted"},
                                                                {ScenarioUse::HeldOut, "held out"}};
  for (const auto& [use, name] : kUses) {
    const validator::ValidationSummary summary = summarise(report.scenarios, use);
    const std::pair<const validator::ErrorCounts&, const char*> figures[] = {{summary.step, "step time"},
                                                                             {summary.memory, "memory"}};
    for (const auto& [counts, figure] : figures) {
      if (counts.scenarios == 0) continue;
      table.rows.push_back({fmt::format("{}, {}", figure, name), std::to_string(counts.scenarios),
                            costmodel::format_percent(counts.mean), costmodel::format_percent(counts.worst),
                            format_signed_percent(counts.bias), costmodel::format_percent(counts.inside)});
    }
  }
  return table.rows.empty() ? std::string{} : to_html(table);
}

}  // namespace

std::string validation_html(const ValidateReport& report) {
  const std::string head = fmt::format("Predicted and measured: {} scenario{} on {}", report.scenarios.size(),
                                       report.scenarios.size() == 1 ? "" : "s", report.hardware);
  std::string html = fmt::format("<h1>{}</h1>\n", escaped_markup(head));
  html += fmt::format(
      "<p>Device {}; {}; median of {} steps after {} to warm up; hexaplan {}. An error is "
      "predicted/measured − 1.</p>\n",
      escaped_markup(report.device),
      report.calibration.empty() ? "time is not compared: no calibration of this hardware"
                                 : "curves: " + escaped_markup(report.calibration),
      report.steps, report.warm_up, escaped_markup(version_text()));
  html += fmt::format("<p><code>{}</code></p>\n", escaped_markup(report.command));
  const std::string unfinished = unfinished_text(report);
  if (!unfinished.empty()) html += fmt::format("<p class=\"bad\">{}</p>\n", escaped_markup(unfinished));
  for (const std::string& note : report.notes) html += fmt::format("<p>{}</p>\n", escaped_markup(note));
  html += "<h2>Summary</h2>\n" + summary_table(report) + plots(report);
  html += "<p>Filled marks: scenarios that were not used for fitting.</p>\n";
  html += "<h2>Scenarios</h2>\n" + scenarios_table(report);
  html += "<h2>Term by term</h2>\n";
  for (const ValidatedScenario& scenario : report.scenarios) html += scenario_details(scenario);
  return report::page(head, html);
}

}  // namespace hexaplan::cli
