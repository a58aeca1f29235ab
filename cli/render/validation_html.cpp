#include "cli/render/validation_html.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "charts/comparison_svg.h"
#include "charts/svg.h"
#include "charts/table_text.h"
#include "cli/render/numbers.h"
#include "cli/render/validation_text.h"
#include "cli/version.h"
#include "costmodel/units/format_units.h"

namespace hexaplan::cli {

using charts::Cells;
using charts::ComparedPoint;
using charts::escaped_markup;
using charts::Measure;
using costmodel::Bytes;
using costmodel::Seconds;
using validator::ComparedTotal;
using validator::ScenarioUse;
using validator::TermGroup;
using validator::ValidatedScenario;

namespace {

// Colours: Okabe and Ito (https://jfly.uni-koeln.de/color/); blue is lighter on dark ground, for contrast.
constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark; --ink: #1a1a1a; --page: #ffffff; --soft: #f3f3f3; --grid: #d9d9d9;
        --predicted: #e69f00; --measured: #0072b2; --good: #007a5a; --bad: #b34700; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --page: #16181c; --soft: #22262c; --grid: #3a3f47; --measured: #56b4e9;
          --good: #4cc9a0; --bad: #ff9c5b; } }
body { font: 15px/1.45 system-ui, Helvetica, Arial, sans-serif; color: var(--ink); background: var(--page);
       max-width: 1180px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 2em; } h3 { font-size: 1em; margin: 1.4em 0 .4em; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25em .7em; white-space: nowrap; text-align: right; border-bottom: 1px solid var(--grid); }
th { background: var(--soft); } th:first-child, td:first-child { text-align: left; }
.good { color: var(--good); } .bad { color: var(--bad); } .wide { overflow-x: auto; }
.plots { display: flex; flex-wrap: wrap; gap: 2em; } svg { max-width: 100%; height: auto; }
details { margin: .8em 0; } summary { cursor: pointer; font-weight: 600; }
)css";

/// Cells that begin with '<' are markup already.
std::string table(const Cells& rows) {
  std::string html = "<div class=\"wide\"><table>\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const char* tag = i == 0 ? "th" : "td";
    html += "<tr>";
    for (const std::string& cell : rows[i])
      html += fmt::format("<{0}>{1}</{0}>", tag, cell.starts_with('<') ? cell : escaped_markup(cell));
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

void append_total(const std::optional<ComparedTotal>& total, TermGroup group, std::vector<std::string>& row) {
  if (!total) return row.insert(row.end(), {"–", "–", "–", "–"}), void();
  row.push_back(term_value_text(total->predicted, group));
  row.push_back(term_value_text(total->measured, group));
  row.push_back(format_signed_percent(total->error()));
  row.push_back(fmt::format("<span class=\"{}\">{}</span>", total->inside() ? "good" : "bad",
                            total->inside() ? "yes" : "no"));
}

std::string scenarios_table(const ValidateReport& report) {
  Cells rows{{"scenario", "use", "outcome", "step predicted", "measured", "error", "in interval",
              "memory predicted", "measured", "error", "in interval", "MFU"}};
  for (const ValidatedScenario& s : report.scenarios) {
    std::vector<std::string> row{s.name + (s.solo ? " (solo)" : ""), std::string{name_of(s.use)},
                                 std::string{name_of(s.outcome)}};
    append_total(s.step, TermGroup::Kind, row);
    append_total(s.memory, TermGroup::Memory, row);
    row.push_back(s.mfu > 0 ? costmodel::format_percent(s.mfu) : "–");
    rows.push_back(std::move(row));
  }
  return table(rows);
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
  Cells rows{{"the device says", ""}};
  for (const validator::DeviceFact& fact : s.facts) {
    rows.push_back({fact.name, fact.unit.empty()      ? fact.text
                               : fact.unit == "bytes" ? costmodel::format_binary(Bytes{fact.value})
                                                      : fmt::format("{:.6g} {}", fact.value, fact.unit)});
  }
  return table(rows);
}

std::string scenario_details(const ValidatedScenario& s) {
  std::string html = fmt::format("<details><summary>{}</summary>\n<p>{}</p>\n", escaped_markup(s.name),
                                 escaped_markup(s.title));
  if (!s.reason.empty()) html += fmt::format("<p class=\"bad\">{}</p>\n", escaped_markup(s.reason));
  if (s.solo && s.step) {
    html += fmt::format(
        "<p>Step of all {} GPUs: {} computed by one rank (measured) + {} messages and waiting "
        "(modelled).</p>\n",
        s.gpus, costmodel::format_duration(s.measured_compute),
        costmodel::format_duration(s.modelled_messages));
  }
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
  return html + facts_table(s) + "</details>\n";
}

std::string summary_table(const ValidateReport& report) {
  Cells rows{{"", "scenarios", "mean error", "worst", "bias", "in 90 % interval"}};
  constexpr std::pair<ScenarioUse, std::string_view> kUses[] = {{ScenarioUse::Unknown, "all"},
                                                                {ScenarioUse::Fitted, "may have been fitted"},
                                                                {ScenarioUse::HeldOut, "held out"}};
  for (const auto& [use, name] : kUses) {
    const validator::ValidationSummary summary = summarise(report.scenarios, use);
    const std::pair<const validator::ErrorCounts&, const char*> figures[] = {{summary.step, "step time"},
                                                                             {summary.memory, "memory"}};
    for (const auto& [counts, figure] : figures) {
      if (counts.scenarios == 0) continue;
      rows.push_back({fmt::format("{}, {}", figure, name), std::to_string(counts.scenarios),
                      costmodel::format_percent(counts.mean), costmodel::format_percent(counts.worst),
                      format_signed_percent(counts.bias), costmodel::format_percent(counts.inside)});
    }
  }
  return rows.size() > 1 ? table(rows) : std::string{};
}

}  // namespace

std::string validation_html(const ValidateReport& report) {
  const std::string head =
      fmt::format("Predicted and measured: {} scenarios on {}", report.scenarios.size(), report.hardware);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width\"/>\n<title>{0}</title>\n<style>{1}</style>\n"
      "</head>\n<body>\n<h1>{0}</h1>\n",
      escaped_markup(head), kStyle);
  html += fmt::format(
      "<p>Device {}; {}; median of {} steps after {} to warm up; hexaplan {}. An error is "
      "predicted/measured − 1.</p>\n",
      escaped_markup(report.device),
      report.calibration.empty() ? "time is not compared: no calibration of this hardware"
                                 : "curves: " + escaped_markup(report.calibration),
      report.steps, report.warm_up, escaped_markup(version_text()));
  const std::string unfinished = unfinished_text(report);
  if (!unfinished.empty()) html += fmt::format("<p class=\"bad\">{}</p>\n", escaped_markup(unfinished));
  for (const std::string& note : report.notes) html += fmt::format("<p>{}</p>\n", escaped_markup(note));
  html += "<h2>Summary</h2>\n" + summary_table(report) + plots(report);
  html += "<p>Filled marks: scenarios that were not used for fitting.</p>\n";
  html += "<h2>Scenarios</h2>\n" + scenarios_table(report);
  html += "<h2>Term by term</h2>\n";
  for (const ValidatedScenario& scenario : report.scenarios) html += scenario_details(scenario);
  return html + "</body>\n</html>\n";
}

}  // namespace hexaplan::cli
