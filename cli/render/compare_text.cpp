#include "cli/render/compare_text.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "cli/render/estimate_json.h"
#include "cli/render/estimate_rows.h"
#include "cli/render/not_modelled.h"
#include "cli/render/numbers.h"
#include "cli/render/search_text.h"
#include "presets/scenario/recompute_text.h"
#include "report/figures.h"

namespace hexaplan::cli {

using charts::Cells;
using costmodel::format_count;

namespace {

std::vector<std::vector<report::Figure>> figures_of_sides(const CompareReport& report) {
  std::vector<std::vector<report::Figure>> sides;
  sides.reserve(report.sides.size());
  for (const Side& side : report.sides)
    sides.push_back(report::figures_of(side.report.question.scenario, side.report.estimate));
  return sides;
}

std::string verdict_word(const EstimateReport& report, const TextStyle& style) {
  if (report.fits()) return style.good("fits");
  return style.bad(report.priced() ? "does not fit" : "cannot run");
}

std::string letter(std::size_t index) {
  return index < 26 ? std::string(1, static_cast<char>('A' + index)) : fmt::format("S{}", index + 1);
}

std::string describe(const Side& side, std::size_t index, const TextStyle& style) {
  const costmodel::Scenario& s = side.report.question.scenario;
  std::string line = fmt::format(
      "{} = {} {} {} {} {} x {} {} {} {} {}, sequence {}, micro-batch {}, global batch {}, "
      "recompute {}\n",
      style.bold(letter(index)), side.name, style.dot(), s.model.name, style.dot(),
      format_count(s.cluster.gpus), s.cluster.gpu.name, style.dot(), s.framework.name, style.dot(),
      presets::to_layout_text(s.layout), format_count(s.recipe.sequence), s.recipe.micro_batch,
      format_count(s.recipe.global_batch), presets::to_recompute_text(s.recipe.recompute));
  if (const auto* rejected = std::get_if<costmodel::Rejected>(&side.report.estimate.verdict))
    line += fmt::format("    {}: {}\n", rejected->rule, rejected->reason);
  return line;
}

std::string not_modelled_lines(const CompareReport& report, const TextStyle& style) {
  std::vector<costmodel::KnobNote> words;
  for (std::size_t i = 0; i < report.sides.size(); ++i) {
    for (auto& [knob, effect] : costmodel::not_modelled(report.sides[i].report.question.scenario))
      words.push_back({fmt::format("{} {} {}", letter(i), style.dot(), knob), std::move(effect)});
  }
  return not_modelled_text(words, style);
}

}  // namespace

std::string compare_text(const CompareReport& report, const TextStyle& style) {
  std::string text;
  Cells rows{{""}, {"verdict"}};
  for (std::size_t i = 0; i < report.sides.size(); ++i) {
    text += describe(report.sides[i], i, style);
    rows[0].push_back(letter(i));
    rows[1].push_back(verdict_word(report.sides[i].report, style));
  }
  const auto figures = figures_of_sides(report);
  for (std::size_t line = 0; line < figures.front().size(); ++line) {
    if (report::says_nothing(figures, line)) continue;
    const report::Figure& first = figures.front()[line];
    rows.push_back({fmt::format("{}{}", first.part ? "  " : "", first.label)});
    for (std::size_t i = 0; i < figures.size(); ++i)
      rows.back().push_back(report::figure_text(figures[i][line], i == 0 ? std::nullopt : first.value));
  }
  return text + "\n" + format_table(rows) +
         (report.sides.size() > 1 ? "differences in brackets are against A\n" : "") +
         not_modelled_lines(report, style);
}

Cells compare_cells(const CompareReport& report) {
  Cells rows{{"term", "unit"}};
  for (const Side& side : report.sides) rows[0].push_back(side.name);
  const auto figures = figures_of_sides(report);
  for (std::size_t line = 0; line < figures.front().size(); ++line) {
    rows.push_back({figures.front()[line].label, figures.front()[line].unit});
    for (const std::vector<report::Figure>& side : figures) {
      const auto& value = side[line].value;
      rows.back().push_back(value ? fmt::format("{}", *value) : "");
    }
  }
  return rows;
}

presets::JsonValue compare_json(const CompareReport& report) {
  presets::JsonArray sides;
  for (const Side& side : report.sides)
    sides.push_back(presets::JsonObject{{"name", side.name}, {"estimate", estimate_json(side.report)}});
  return presets::JsonObject{{"schema", "hexaplan/compare/1"}, {"sides", std::move(sides)}};
}

}  // namespace hexaplan::cli
