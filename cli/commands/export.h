#pragma once
#include <optional>
#include <string>

#include "cli/commands/question.h"
#include "cli/options.h"
#include "costmodel/spec/verdict.h"
#include "presets/launch/launch_config.h"

namespace hexaplan::cli {

struct ExportReport {
  Question question;
  presets::LaunchFormat format{};
  presets::LaunchConfig config;                 // empty when rejected; text: what is asked for
  std::string file;                             // its usual name; empty when rejected
  std::optional<costmodel::Rejected> rejected;  // the layout cannot run, or the framework not this model
  bool fits = false;                            // unless rejected
  double risk = 0;      // chance of running out of memory, as Estimate::out_of_memory_probability
  std::string warning;  // that it does not fit, or may run out of memory; empty: neither
};

/// The plan in the words of the framework that is to run it. InputError when that framework has no
/// configuration that we write.
[[nodiscard]] ExportReport run_export(const ExportOptions& options);

[[nodiscard]] presets::JsonValue export_json(const ExportReport& report);

}  // namespace hexaplan::cli
