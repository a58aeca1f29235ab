#include <memory>

#include "cli/options/command_row.h"

namespace hexaplan::cli {
namespace {

Command checked_import(const ImportOptions& options) {
  if (options.files.empty())
    throw UsageError{
        "import: expected a launch script or configuration, as in 'hexaplan import run.sh --cluster H100'"};
  return options;
}

}  // namespace

CommandRow import_row() {
  const auto options = std::make_shared<ImportOptions>();
  CommandRow row{.name = "import", .help = "Launch scripts and configurations as a scenario"};
  row.options.push_back(
      {"files", "FILE ...",
       "A launch script (shell, sbatch), YAML, TOML, JSON, or Python (recipe.py:function); several that "
       "belong together",
       &options->files});
  append_scenario_options(row.options, options->question);
  remove_options(row.options, {"--scenario", "--from"});
  row.finish = [options] { return checked_import(*options); };
  return row;
}

}  // namespace hexaplan::cli
