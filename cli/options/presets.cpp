#include <fmt/format.h>

#include <memory>

#include "cli/options/command_row.h"

namespace hexaplan::cli {
namespace {

struct PresetsWords {
  std::string action;
  PresetsOptions options;
};

Command checked_presets(PresetsWords words) {
  if (words.action != "list" && words.action != "show")
    throw UsageError{fmt::format("presets: got \"{}\", expected list or show", words.action)};
  PresetsOptions& options = words.options;
  options.show = words.action == "show";
  if (options.show && options.name.empty())
    throw UsageError{"presets show: expected a kind and a name, as in 'presets show gpus h100-80-sxm'"};
  if (!options.show && !options.name.empty())
    throw UsageError{
        fmt::format("presets list: unexpected '{}'; did you mean 'presets show'?", options.name)};
  if (options.names && (options.show || options.kind.empty()))
    throw UsageError{"presets: --names lists one kind, as in 'presets list gpus --names'"};
  return options;
}

}  // namespace

CommandRow presets_row() {
  const auto words = std::make_shared<PresetsWords>();
  return {.name = "presets",
          .help = "Models, GPUs, clusters, frameworks and calibrations that come with Hexaplan",
          .options = {{"action", "ACTION", "list or show", &words->action, {"list", "show"}},
                      {"kind",
                       "KIND",
                       "models, gpus, clusters, frameworks, calibrations",
                       &words->options.kind,
                       {"models", "gpus", "clusters", "frameworks", "calibrations"}},
                      {"name", "NAME", "Preset to show", &words->options.name},
                      {"--names", "", "With list KIND: the names alone, a line each", &words->options.names}},
          .finish = [words] { return checked_presets(*words); }};
}

}  // namespace hexaplan::cli
