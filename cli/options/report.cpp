#include <memory>

#include "cli/options/command_row.h"

namespace hexaplan::cli {
namespace {

Command checked_report(const ReportOptions& options) {
  if (options.html.empty()) throw UsageError{"report: --html FILE says where the page is written"};
  return options;
}

}  // namespace

CommandRow report_row() {
  const auto options = std::make_shared<ReportOptions>();
  CommandRow row{.name = "report", .help = "A plan, or several side by side, as a page in one file"};
  row.options.push_back({"sides", "A B ...",
                         "Scenario files, or layouts of the question that the flags ask, to set side by side",
                         &options->sides});
  append_scenario_options(row.options, options->question);
  row.options.push_back({"--html", "FILE",
                         "The page: needs nothing beside itself, and is a scenario file, too",
                         &options->html});
  row.options.push_back({"--search", "", "Adds the fastest layouts of the same question", &options->search});
  row.options.push_back(
      {"--max-risk", "SHARE", "As for 'hexaplan search', with --search", &options->max_risk});
  row.options.push_back({"--top", "N", "As for 'hexaplan search', with --search", &options->top});
  row.options.push_back({"--no-simulate", "", "No timeline", &options->no_simulate});
  row.finish = [options] { return checked_report(*options); };
  return row;
}

}  // namespace hexaplan::cli
