#include <memory>

#include "cli/options/command_row.h"

namespace hexaplan::cli {
namespace {

Command checked_diff(const DiffOptions& options) {
  if (options.files.empty() || !options.suggest)
    throw UsageError{
        "diff: expected launch files and --suggest, as in 'hexaplan diff run.sh --suggest --cluster H100'; "
        "'hexaplan compare' "
        "holds scenarios side by side"};
  return options;
}

}  // namespace

CommandRow diff_row() {
  const auto options = std::make_shared<DiffOptions>();
  CommandRow row{.name = "diff", .help = "What to change in launch files: faster or safer, line by line"};
  row.options.push_back({"files", "FILE ...", "Launch files, as import reads them", &options->files});
  row.options.push_back(
      {"--suggest", "", "Lines to change, with the time and the risk that are predicted", &options->suggest});
  append_scenario_options(row.options, options->question);
  remove_options(row.options, {"--scenario", "--from", "--layout", "--schedule"});
  row.finish = [options] { return checked_diff(*options); };
  return row;
}

}  // namespace hexaplan::cli
