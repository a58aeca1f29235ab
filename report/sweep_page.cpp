#include "report/sweep_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "charts/heat_map_svg.h"
#include "costmodel/units/format_units.h"
#include "presets/scenario/layout_text.h"
#include "presets/scenario/recompute_text.h"
#include "presets/scenario/scenario_page.h"
#include "report/html.h"

namespace hexaplan::report {

using costmodel::format_count;
using costmodel::format_duration;
using costmodel::format_percent;

namespace {

double dollars_per_token(const planner::Plan& plan) {
  return plan.price.dollars_per_step / static_cast<double>(costmodel::tokens_per_step(plan.recipe));
}

/// A figure of the best plans.
struct SweptFigure {
  std::string_view title;
  double (*value)(const SweptCell&);
  std::string (*words)(double);
  bool priced = false;  // only where machines have a price
};
constexpr SweptFigure kFigures[] = {
    {"Tokens per second and GPU",
     [](const SweptCell& cell) { return cell.best->price.tokens_per_second_per_gpu; },
     [](double value) { return format_count(std::llround(value)); }},
    {"Step time", [](const SweptCell& cell) { return cell.best->price.step.value(); },
     [](double value) { return format_duration(costmodel::Seconds{value}); }},
    {"Model FLOP/s utilisation", [](const SweptCell& cell) { return cell.best->price.mfu; },
     [](double value) { return format_percent(value); }},
    {"Memory of the fullest GPU", [](const SweptCell& cell) { return cell.best->price.peak.value(); },
     [](double value) { return costmodel::format_binary(costmodel::Bytes{value}); }},
    {"Cost of a million tokens", [](const SweptCell& cell) { return dollars_per_token(*cell.best) * 1e6; },
     [](double value) { return fmt::format("${:.3g}", value); }, true}};

/// Values of cell `index`, one for each field.
std::vector<std::string> place_of(const SweepReport& report, std::size_t index) {
  std::vector<std::string> values(report.fields.size());
  for (std::size_t i = report.fields.size(); i-- > 0;) {
    values[i] = report.fields[i].values[index % report.fields[i].values.size()];
    index /= report.fields[i].values.size();
  }
  return values;
}

std::string tip_of(const SweepReport& report, std::size_t index) {
  const SweptCell& cell = report.cells[index];
  std::string tip;
  const std::vector<std::string> place = place_of(report, index);
  for (std::size_t i = 0; i < place.size(); ++i)
    tip += fmt::format("{} {}\n", report.fields[i].name, place[i]);
  if (!cell.best) return tip + cell.nothing;
  return tip + fmt::format("{}, step {}, MFU {}, chance of running out {}",
                           presets::to_layout_text(cell.best->layout), format_duration(cell.best->price.step),
                           format_percent(cell.best->price.mfu), format_percent(cell.best->price.risk));
}

std::string map_of(const SweepReport& report, const SweptFigure& figure) {
  const bool plane = report.fields.size() > 1;
  charts::HeatMap map{.title = std::string{figure.title},
                      .row_title = plane ? report.fields[0].name : "",
                      .column_title = report.fields.back().name,
                      .rows = plane ? report.fields[0].values : std::vector<std::string>{""},
                      .columns = report.fields.back().values,
                      .cells = {}};
  for (std::size_t i = 0; i < report.cells.size(); ++i) {
    charts::HeatMapCell cell{.value = {}, .words = {}, .tip = tip_of(report, i)};
    if (report.cells[i].best) {
      cell.value = figure.value(report.cells[i]);
      cell.words = figure.words(*cell.value);
    }
    map.cells.push_back(std::move(cell));
  }
  return picture(charts::heat_map_svg(map, charts::Ground::Page));
}

bool found_any(const SweepReport& report) {
  return std::any_of(report.cells.begin(), report.cells.end(),
                     [](const SweptCell& cell) { return cell.best.has_value(); });
}

std::string maps(const SweepReport& report) {
  if (!found_any(report)) return {};
  const bool priced = std::any_of(report.cells.begin(), report.cells.end(), [](const SweptCell& cell) {
    return cell.best && cell.best->price.dollars_per_step > 0;
  });
  std::string html;
  for (const SweptFigure& figure : kFigures) {
    if (!figure.priced || priced) html += map_of(report, figure);
  }
  return html;
}

std::string table_of(const SweepReport& report) {
  Table table{.heads = {}, .rows = {}, .left = report.fields.size() + 2};
  for (const SweptField& field : report.fields) table.heads.push_back(field.name);
  table.heads.insert(table.heads.end(),
                     {"layout", "recompute", "micro-batch", "step", "tokens/s/GPU", "MFU", "memory", "risk"});
  for (std::size_t i = 0; i < report.cells.size(); ++i) {
    if (!report.cells[i].best) continue;
    const planner::Plan& plan = *report.cells[i].best;
    std::vector<Cell> row;
    for (const std::string& value : place_of(report, i)) row.emplace_back(value);
    row.emplace_back(presets::to_layout_text(plan.layout));
    row.emplace_back(presets::to_recompute_text(plan.recipe.recompute));
    row.emplace_back(format_count(plan.recipe.micro_batch));
    row.emplace_back(format_duration(plan.price.step));
    row.emplace_back(format_count(std::llround(plan.price.tokens_per_second_per_gpu)));
    row.emplace_back(format_percent(plan.price.mfu));
    row.emplace_back(costmodel::format_binary(plan.price.peak));
    row.emplace_back(format_percent(plan.price.risk));
    table.rows.push_back(std::move(row));
  }
  return table.rows.empty() ? std::string{} : to_html(table);
}

std::string nothing_found(const SweepReport& report) {
  Table table{.heads = {}, .rows = {}, .left = report.fields.size() + 1};
  for (const SweptField& field : report.fields) table.heads.push_back(field.name);
  table.heads.emplace_back("why there is no plan");
  for (std::size_t i = 0; i < report.cells.size(); ++i) {
    if (report.cells[i].best) continue;
    std::vector<Cell> row;
    for (const std::string& value : place_of(report, i)) row.emplace_back(value);
    row.emplace_back(report.cells[i].nothing);
    table.rows.push_back(std::move(row));
  }
  return table.rows.empty() ? std::string{} : unfolding({"Nothing found"}, to_html(table), true);
}

}  // namespace

std::string sweep_part(const SweepReport& report) {
  return maps(report) + table_of(report) + nothing_found(report);
}

std::string sweep_page(const SweepReport& report) {
  std::vector<std::string> names;
  for (const SweptField& field : report.fields) names.push_back(field.name);
  const auto found = std::count_if(report.cells.begin(), report.cells.end(),
                                   [](const SweptCell& cell) { return cell.best.has_value(); });
  const std::string title = fmt::format("{}: the best plan over {}", report.asked, fmt::join(names, " and "));
  std::string body = fmt::format(
      "<header>\n<h1>{}</h1>\n<p class=\"soft\">{}{} of {} searches found a plan.</p>\n</header>\n<main>\n",
      Cell{title}.html(), report.stopped ? "Stopped before the end: " : "", found, report.cells.size());
  if (found_any(report)) body += section("maps", "Heat maps", maps(report));
  body += section("plans", "The best plan of each", table_of(report) + nothing_found(report));
  body += fmt::format("</main>\n<footer class=\"soft\"><p>Written by {}.", Cell{report.program}.html());
  if (report.fastest)
    body +=
        " The plan with most tokens per second and GPU is inside: <code>hexaplan estimate --scenario "
        "FILE.html</code> asks again, and hexaplan-gui opens the page.";
  body += "</p></footer>\n";
  return page(title, report.fastest ? body + presets::scenario_script(*report.fastest) : body);
}

}  // namespace hexaplan::report
