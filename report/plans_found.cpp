#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "charts/plans_svg.h"
#include "costmodel/units/format_units.h"
#include "presets/scenario/recompute_text.h"
#include "report/html.h"
#include "report/plan_page.h"

namespace hexaplan::report {

using costmodel::format_count;
using costmodel::format_percent;
using planner::Plan;

namespace {

constexpr std::size_t kRulesShown = 12;

std::string_view words_of(planner::Objective objective) {
  switch (objective) {
    case planner::Objective::StepTime:
      return "shortest step";
    case planner::Objective::TokensPerGpu:
      return "most tokens per second and GPU";
    case planner::Objective::Cost:
      return "lowest cost per token";
    case planner::Objective::Gpus:
      return "fewest GPUs";
    case planner::Objective::MemoryHeadroom:
      return "most free memory";
  }
  return "?";
}

std::string counts(const Found& found) {
  const planner::SearchCounts& c = found.ranking.counts;
  return fmt::format(
      "<p>Looked for: {}; chance of running out of memory at most {}. {} candidates{}: {} break a rule, {} "
      "cannot be "
      "among the best by a bound, {} were priced, {} of them keep every limit.</p>\n",
      words_of(found.problem.objective), format_percent(found.problem.constraints.max_risk),
      format_count(c.enumerated), found.ranking.stopped ? " before the search was stopped" : "",
      format_count(c.rejected), format_count(c.pruned + c.outclassed), format_count(c.priced),
      format_count(c.feasible));
}

std::string plans_picture(const Found& found) {
  std::vector<charts::PlanPoint> points;
  for (const Plan& plan : found.ranking.pareto)
    points.push_back({.label = presets::to_layout_text(plan.layout),
                      .step = plan.price.step,
                      .peak = plan.price.peak,
                      .risk = plan.price.risk});
  int number = 0;
  for (const planner::RankedPlan& ranked : found.ranking.plans)
    points.push_back({.label = presets::to_layout_text(ranked.plan.layout),
                      .step = ranked.plan.price.step,
                      .peak = ranked.plan.price.peak,
                      .risk = ranked.plan.price.risk,
                      .listed = true,
                      .number = ++number});
  if (points.empty()) return {};
  const costmodel::Bytes capacity =
      found.ranking.plans.empty() ? costmodel::Bytes{} : found.ranking.plans.front().plan.price.capacity;
  return picture(
             charts::plans_svg(points, capacity, "Step time and memory of the plans", charts::Ground::Page)) +
         "<p class=\"soft\">Numbered: the plans listed below. Small: plans that no other beats in time, "
         "memory, "
         "GPUs and cost, in closed form.</p>\n";
}

std::string plans_table(const Found& found) {
  const bool hardware = found.problem.hardware.size() > 1;
  Table table{.heads = {"#", "layout", "recompute"}, .rows = {}, .left = 3};
  if (hardware) table.heads.emplace_back("cluster"), ++table.left;
  table.heads.insert(table.heads.end(), {"micro-batch", "step", "tokens/s/GPU", "MFU", "memory", "risk"});
  for (std::size_t i = 0; i < found.ranking.plans.size(); ++i) {
    const Plan& plan = found.ranking.plans[i].plan;
    std::vector<Cell> row{fmt::format("{}", i + 1), presets::to_layout_text(plan.layout),
                          presets::to_recompute_text(plan.recipe.recompute)};
    if (hardware) row.emplace_back(found.problem.hardware[plan.hardware].cluster.name);
    row.emplace_back(format_count(plan.recipe.micro_batch));
    row.emplace_back(costmodel::format_duration(plan.price.step));
    row.emplace_back(format_count(std::llround(plan.price.tokens_per_second_per_gpu)));
    row.emplace_back(format_percent(plan.price.mfu));
    row.emplace_back(costmodel::format_binary(plan.price.peak));
    row.emplace_back(format_percent(plan.price.risk));
    table.rows.push_back(std::move(row));
  }
  return to_html(table);
}

/// The best plan on other machines.
std::string on_other_machines(const Found& found) {
  if (found.sensitivity.empty()) return {};
  Table table{.heads = {"change", "layout", "recompute", "step", "tokens/s", "cost of a step", "risk"},
              .rows = {},
              .left = 3};
  const Plan& now = found.ranking.plans.front().plan;
  for (const planner::ChangedMachines& changed : found.sensitivity) {
    if (!changed.best) {
      table.rows.push_back({changed.change, "nothing fits", "", "", "", "", ""});
      continue;
    }
    const Plan& plan = changed.best->plan;
    const planner::PlanShift shift = planner::shift_of(now, plan);
    table.rows.push_back(
        {changed.change, shift.same_plan ? "the same plan" : presets::to_layout_text(plan.layout),
         presets::to_recompute_text(plan.recipe.recompute), costmodel::format_duration(plan.price.step),
         costmodel::format_signed_percent(shift.throughput),
         plan.price.dollars_per_step > 0 ? fmt::format("${:.4g}", plan.price.dollars_per_step) : "",
         format_percent(plan.price.risk)});
  }
  return unfolding({"Sensitivity: the best plan on other machines"}, to_html(table), true);
}

std::string rejections(const Found& found) {
  const auto& all = found.ranking.rejections;
  if (all.empty()) return {};
  Table table{.heads = {"rule", "candidates", "one of them"}, .rows = {}};
  for (std::size_t i = 0; i < all.size() && i < kRulesShown; ++i) {
    const planner::RejectionCount& row = all[i];
    table.rows.push_back(
        {row.rule, format_count(row.candidates), row.reason + (row.advice.empty() ? "" : "; " + row.advice)});
  }
  return unfolding({"Left out, by rule"}, to_html(table));
}

}  // namespace

std::string found_part(const Found& found) {
  if (found.ranking.plans.empty())
    return counts(found) + "<p class=\"bad\">No candidate keeps every rule and limit.</p>\n" +
           rejections(found);
  return counts(found) + plans_picture(found) + plans_table(found) + on_other_machines(found) +
         rejections(found);
}

}  // namespace hexaplan::report
