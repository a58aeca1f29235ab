#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/options/command_row.h"
#include "presets/json/spec_names.h"
#include "presets/launch/launch_wrapper.h"

namespace hexaplan::cli {

namespace {

Command checked_export(const ExportOptions& options) {
  const std::vector<std::string> starters = presets::names_in(presets::kStarterNames);
  if (!options.wrap.empty() && std::ranges::find(starters, options.wrap) == starters.end())
    throw UsageError{
        fmt::format("--wrap: got \"{}\", expected torchrun, sbatch or accelerate", options.wrap)};
  return options;
}

}  // namespace

CommandRow export_row() {
  const auto options = std::make_shared<ExportOptions>();
  CommandRow row{.name = "export", .help = "A plan as its framework's launch configuration"};
  append_scenario_options(row.options, options->question);
  remove_options(row.options, {"--framework"});
  std::string names;
  for (const presets::LaunchFormat& format : presets::launch_formats())
    names.append(names.empty() ? "" : ", ").append(format.name);
  row.options.push_back({"--framework", "NAME",
                         names + ", or a profile that one of them runs. Default: megatron",
                         &options->question.framework});
  row.options.push_back(
      {"--target", "NAME",
       "Whose file, where it runs another's profile (trl, axolotl and llamafactory run hf-eager, "
       "fsdp2, fsdp1 and deepspeed). Default: the framework's own",
       &options->target});
  row.options.push_back(
      {"--wrap", "STARTER",
       "A shell script that holds the file and starts it, with the environment that the "
       "framework demands: torchrun, sbatch, accelerate (for trl, axolotl and llamafactory)",
       &options->wrap, presets::names_in(presets::kStarterNames)});
  row.finish = [options] { return checked_export(*options); };
  return row;
}

}  // namespace hexaplan::cli
