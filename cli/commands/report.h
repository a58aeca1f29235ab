#pragma once
#include <string>
#include <vector>

#include "cli/commands/estimate.h"
#include "cli/commands/search.h"
#include "cli/commands/sweep.h"
#include "cli/options.h"
#include "report/plan_page.h"
#include "report/sweep_page.h"

namespace hexaplan::cli {

/// An estimate as a page tells it; its request can be read on any machine.
[[nodiscard]] report::Answer answer_of(EstimateReport estimated, std::string name);

/// The page of answers, with the timeline of the first where it is `simulated`, or the reason why there is
/// none. Precondition: there is at least one.
[[nodiscard]] report::PlanReport page_of(std::vector<report::Answer> answers, bool simulated = true);

/// Answers everything that the page tells. A timeline is left out, with the reason, when the simulation would
/// be too large. InputError when something cannot be used.
[[nodiscard]] report::PlanReport run_report(const ReportOptions& options, bool quiet);

/// The page of a search: its first plan, or the question where none was found, with all plans.
[[nodiscard]] report::PlanReport report_of(const SearchReport& search);
/// The page of a sweep.
[[nodiscard]] report::SweepReport report_of(const SweepReport& sweep);

}  // namespace hexaplan::cli
