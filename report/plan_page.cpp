#include "report/plan_page.h"

#include <fmt/format.h>

#include <cmath>

#include "costmodel/step/training_cost.h"
#include "costmodel/units/format_units.h"
#include "planner/problem/problem.h"
#include "presets/json/spec_names.h"
#include "presets/scenario/layout_text.h"
#include "presets/scenario/recompute_text.h"
#include "presets/scenario/scenario_page.h"
#include "report/html.h"

namespace hexaplan::report {

using costmodel::Bytes;
using costmodel::Estimate;
using costmodel::format_binary;
using costmodel::format_count;
using costmodel::format_duration;
using costmodel::format_percent;
using costmodel::format_short;

namespace {

/// Badge and sentence.
std::string verdict(const Answer& answer) {
  const Estimate& e = answer.estimate;
  const auto said = [](std::string_view badge, std::string_view look, const std::string& sentence) {
    return fmt::format("<p><span class=\"badge {}\">{}</span>{}</p>\n", look, badge, Cell{sentence}.html());
  };
  if (const auto* rejected = std::get_if<costmodel::Rejected>(&e.verdict)) {
    const std::string why = rejected->reason + (rejected->advice.empty() ? "" : "; " + rejected->advice);
    return said(answer.priced() ? "Does not fit" : "Cannot run", "bad", why);
  }
  if (!answer.priced()) return said("No answer", "bad", "what was asked has not been priced");
  const std::string chance = format_percent(e.out_of_memory_probability);
  const std::string sentence =
      fmt::format("{} of {} per GPU on stage {}; chance of running out of memory {}",
                  format_binary(e.peak().needed), format_binary(e.capacity), e.peak_stage, chance);
  if (e.out_of_memory_probability > planner::kDefaultRisk)
    return said("At risk: " + chance, "risky", sentence);
  return said("Fits", "good", sentence);
}

std::string tile(std::string_view name, const std::string& value, const std::string& note) {
  return fmt::format("<div class=\"tile\"><span>{}</span><b>{}</b><span>{}</span></div>\n", name,
                     Cell{value}.html(), Cell{note}.html());
}

std::string tiles(const Answer& answer) {
  const Estimate& e = answer.estimate;
  const costmodel::Throughput& t = e.throughput;
  std::string html = "<div class=\"tiles\">\n";
  html += tile("Memory of the fullest GPU", format_binary(e.peak().needed),
               fmt::format("on the device {} to {}", format_binary(Bytes{e.memory_bytes.low}),
                           format_binary(Bytes{e.memory_bytes.high})));
  html += tile("Step", format_duration(e.time.total()),
               fmt::format("{} to {}", format_duration(costmodel::Seconds{e.step_seconds.low}),
                           format_duration(costmodel::Seconds{e.step_seconds.high})));
  html += tile("Tokens/s per GPU", format_count(std::llround(t.tokens_per_second_per_gpu)),
               fmt::format("{} tokens/s in all", format_short(t.tokens_per_second)));
  html += tile("MFU", format_percent(t.mfu), fmt::format("{:.1f} TFLOP/s per GPU", t.model_tflops_per_gpu));
  const costmodel::Scenario& s = answer.resolved.scenario;
  if (s.recipe.tokens > 0) {
    const costmodel::TrainingCost cost = training_cost(s, e);
    html += tile(fmt::format("Training on {} tokens", format_short(static_cast<double>(s.recipe.tokens))),
                 format_duration(cost.wall),
                 fmt::format("{} to {}, {}", format_duration(costmodel::Seconds{cost.wall_seconds.low}),
                             format_duration(costmodel::Seconds{cost.wall_seconds.high}),
                             cost.dollars > 0 ? "$" + format_short(cost.dollars)
                                              : format_short(cost.gpu_hours) + " GPU-hours"));
    html += tile("Goodput", format_percent(cost.goodput.productive),
                 fmt::format("a checkpoint every {}, {} failures", format_duration(cost.goodput.interval),
                             format_short(std::round(cost.failures))));
  }
  return html + "</div>\n";
}

std::string changes(const Answer& answer) {
  if (answer.changes.empty()) return {};
  Table table{.heads = {"what would fit safely", "memory", "risk", "step"}, .rows = {}};
  for (const planner::FittingChange& change : answer.changes) {
    std::string words;
    for (const planner::ChangedSetting& setting : change.settings) {
      if (!words.empty()) words += " and ";
      words += setting.name == "layout" ? std::string{setting.value} + " in the layout"
                                        : fmt::format("{} {}", setting.name, setting.value);
    }
    table.rows.push_back(
        {words, format_binary(change.peak), format_percent(change.risk), format_duration(change.step)});
  }
  return to_html(table);
}

/// A part and its place in the contents.
struct Part {
  std::string_view id, heading;
  std::string content;
};

std::vector<Part> parts_of(const PlanReport& report) {
  const Answer& first = report.answers.front();
  std::vector<Part> parts;
  if (report.answers.size() > 1)
    parts.push_back({"comparison", "Comparison", comparison_part(report.answers)});
  if (first.priced()) {
    parts.push_back({"memory", "Memory", memory_part(first)});
    parts.push_back({"ledger", "Every byte", ledger_part(first)});
    parts.push_back({"time", "Time", time_part(first)});
  }
  if (report.simulation) parts.push_back({"timeline", "Timeline", timeline_part(first, *report.simulation)});
  if (!report.not_simulated.empty())
    parts.push_back({"timeline", "Timeline", fmt::format("<p>{}</p>\n", Cell{report.not_simulated}.html())});
  if (report.found) parts.push_back({"plans", "Plans that were found", found_part(*report.found)});
  parts.push_back({"inputs", "Inputs", inputs_part(first)});
  if (first.priced()) {
    parts.push_back({"evidence", "Evidence and uncertainty", evidence_part(first)});
    parts.push_back(
        {"formulas", "Formulas", unfolding({"What the letters stand for"}, formulas_part(first), true)});
  }
  return parts;
}

std::string navigation(const std::vector<Part>& parts) {
  std::string html = "<nav aria-label=\"Contents\">";
  for (const Part& part : parts) html += fmt::format("<a href=\"#{}\">{}</a> ", part.id, part.heading);
  return html + "</nav>\n";
}

/// Data for programs; comparisons carry every side.
std::string scenarios(const PlanReport& report) {
  std::string html;
  for (std::size_t i = 0; i < report.answers.size(); ++i) {
    html += presets::scenario_script(report.answers[i].request, i + 1, report.answers[i].name);
  }
  return html;
}

}  // namespace

std::string title_of(const Answer& answer) {
  const costmodel::Scenario& s = answer.resolved.scenario;
  return fmt::format("{} on {} × {}, {}", s.model.name, format_count(s.cluster.gpus), s.cluster.gpu.name,
                     presets::to_layout_text(s.layout));
}

std::string summary_part(const Answer& answer) {
  const costmodel::Recipe& recipe = answer.resolved.scenario.recipe;
  std::string html = fmt::format(
      "<p class=\"soft\">{}, sequence {} tokens, micro-batch {}, global batch {}, {}, recompute {}</p>\n",
      Cell{answer.resolved.scenario.framework.name}.html(), format_count(recipe.sequence), recipe.micro_batch,
      format_count(recipe.global_batch), presets::name_in(presets::kPrecisionNames, recipe.precision),
      presets::to_recompute_text(recipe.recompute));
  html += verdict(answer);
  return answer.priced() ? html + tiles(answer) + changes(answer) : html;
}

std::string plan_page(const PlanReport& report) {
  const Answer& first = report.answers.front();
  const std::string title = title_of(first);
  const std::vector<Part> parts = parts_of(report);
  std::string body = fmt::format("<header>\n<h1>{}</h1>\n{}{}</header>\n<main>\n", Cell{title}.html(),
                                 summary_part(first), navigation(parts));
  for (const Part& part : parts) body += section(part.id, part.heading, part.content);
  body += fmt::format(
      "</main>\n<footer class=\"soft\"><p>Written by {}. The scenario is inside: <code>hexaplan estimate "
      "--scenario "
      "FILE.html</code> asks again, and hexaplan-gui opens the page.</p></footer>\n",
      Cell{report.program}.html());
  return page(title, body + scenarios(report));
}

}  // namespace hexaplan::report
