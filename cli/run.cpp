#include "cli/run.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "cli/commands/accuracy.h"
#include "cli/commands/estimate.h"
#include "cli/commands/presets.h"
#include "cli/render/accuracy_json.h"
#include "cli/render/accuracy_text.h"
#include "cli/render/estimate_json.h"
#include "cli/render/estimate_text.h"
#include "cli/render/presets.h"
#include "cli/write_file.h"
#include "presets/json/input_error.h"

namespace hexaplan::cli {
namespace {

/// Result of a command, rendered, and what the shell should see.
struct Outcome {
  std::string text;
  ExitCode code = ExitCode::Ok;
};

std::string json_text(const presets::JsonValue& value) {
  return presets::to_text(value) + "\n";
}

/// Executes one alternative of Command.
struct Runner {
  const CommonOptions& common;
  TextStyle style;

  Outcome operator()(const EstimateOptions& options) const {
    const EstimateReport report = run_estimate(options);
    if (!common.quiet && !common.json) {
      for (const std::string& note : report.question.notes) fmt::print(stderr, "note: {}\n", note);
    }
    return {common.json ? json_text(estimate_json(report)) : estimate_text(report, style),
            options.require_fit && !report.fits() ? ExitCode::DoesNotFit : ExitCode::Ok};
  }
  Outcome operator()(const PresetsOptions& options) const {
    if (options.show) {
      const PresetContent preset = show_preset(options);
      return {common.json ? json_text(preset_json(preset)) : preset_text(preset, style)};
    }
    const auto lists = list_presets(options);
    return {common.json ? json_text(presets_json(lists)) : presets_text(lists, style)};
  }
  Outcome operator()(const AccuracyOptions& options) const {
    const AccuracyResult result = run_accuracy(options);
    return {common.json ? json_text(accuracy_json(result, options.rows))
                        : accuracy_text(result, options.rows, options.worst, style)};
  }
  Outcome operator()(const PrintText& print) const { return {print.text}; }
};

void write_stdout(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return;
  throw presets::InputError(
      {.file = "stdout", .value = std::strerror(errno), .expected = "room for the result"});
}

}  // namespace

ExitCode run(const Invocation& invocation) {
  const CommonOptions& common = invocation.common;
  const bool to_file = !common.output.empty() && common.output != "-";
  const Outcome outcome =
      std::visit(Runner{common, detect_style(common.colour, to_file)}, invocation.command);
  if (to_file) {
    write_file(common.output, outcome.text);
  } else {
    write_stdout(outcome.text);
  }
  return outcome.code;
}

}  // namespace hexaplan::cli
