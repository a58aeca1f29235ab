#include <memory>

#include "cli/options/command_row.h"

namespace hexaplan::cli {
namespace {

Command checked_compare(const CompareOptions& options) {
  if (options.sides.size() < 2)
    throw UsageError{
        "compare: expected two or more scenario files or layouts, as in 'hexaplan compare a.json b.json' or "
        "'hexaplan compare --model llama-3.1-8b --cluster 8xH100 tp2 \"tp4 sp\"'"};
  return options;
}

}  // namespace

CommandRow compare_row() {
  const auto options = std::make_shared<CompareOptions>();
  CommandRow row{.name = "compare", .help = "Scenarios side by side, term by term"};
  row.options.push_back(
      {"sides", "A B ...", "Scenario files, or layouts of the question that the flags ask", &options->sides});
  append_scenario_options(row.options, options->question);
  remove_options(row.options, {"--layout", "--schedule"});
  row.options.push_back({"--csv", "", "As comma-separated values", &options->csv});
  row.options.push_back({"--markdown", "", "As a Markdown table", &options->markdown});
  row.finish = [options] { return checked_compare(*options); };
  return row;
}

}  // namespace hexaplan::cli
