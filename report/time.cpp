#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "charts/estimate_svg.h"
#include "charts/gantt_svg.h"
#include "charts/memory_svg.h"
#include "costmodel/simulate/critical_path.h"
#include "costmodel/step/largest.h"
#include "costmodel/units/format_units.h"
#include "report/html.h"
#include "report/plan_page.h"

namespace hexaplan::report {

using costmodel::format_duration;

namespace {

std::string_view words_of(costmodel::Pass pass) {
  constexpr std::array<std::string_view, 4> kNames{"forward", "backward (data)", "backward (weight)", "step"};
  return kNames[static_cast<std::size_t>(pass)];
}

std::string critical_path_line(const costmodel::Simulation& simulation) {
  const std::string shares =
      costmodel::shares_text(costmodel::times_of(costmodel::critical_path(simulation)));
  if (shares.empty()) return {};
  return fmt::format("<p>Critical path, the chain that the step's length follows from: {}.</p>\n", shares);
}

}  // namespace

std::string time_part(const Answer& answer) {
  const costmodel::Estimate& e = answer.estimate;
  const int stage = e.peak_stage;
  Table table{.heads = {"operation", "pass", "formula", "once", "× runs", "per step"}, .rows = {}, .left = 3};
  for (const costmodel::PricedOperation& row : costmodel::largest_operations(
           answer.resolved.scenario, answer.resolved.calibration, stage, kOperationsListed)) {
    table.rows.push_back({row.operation.name, words_of(row.operation.pass),
                          Markup{fmt::format("<a href=\"#{0}\">{0}</a>", row.operation.formula)},
                          format_duration(row.once), fmt::format("{:g}", row.runs),
                          format_duration(row.per_step)});
  }
  return picture(charts::step_time_svg(
             e, fmt::format("Step of {}, by cause", format_duration(e.time.total())), charts::Ground::Page)) +
         unfolding(
             {fmt::format("Longest operations of stage {}, before any is hidden behind another", stage)},
             to_html(table));
}

std::string timeline_part(const Answer& answer, const costmodel::Simulation& simulation) {
  const costmodel::Seconds closed = answer.estimate.time.total();
  const std::string title = title_of(answer);
  return fmt::format(
             "<p>{} simulated, event by event; the closed form says {} ({}). Ranks wait for other stages {} "
             "of "
             "their time, for communication {}.</p>\n",
             format_duration(simulation.total), format_duration(closed),
             costmodel::format_signed_percent(closed / simulation.total - 1),
             costmodel::format_percent(simulation.bubble_share()),
             costmodel::format_percent(simulation.exposed_share())) +
         critical_path_line(simulation) +
         picture(charts::gantt_svg(simulation, title, charts::Ground::Page), true) +
         picture(charts::memory_svg(simulation, answer.estimate.capacity, title, charts::Ground::Page), true);
}

}  // namespace hexaplan::report
