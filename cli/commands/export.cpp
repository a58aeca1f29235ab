#include "cli/commands/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <variant>

#include "cli/render/not_modelled.h"
#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "planner/problem/memory_warning.h"
#include "presets/launch/launch_wrapper.h"

namespace hexaplan::cli {

using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;

namespace {

presets::Starter starter_called(std::string_view word, const presets::LaunchFormat& format) {
  for (const auto& [name, starter] : presets::kStarterNames) {
    if (name == word && can_start(starter, format.launcher)) return starter;
  }
  throw UsageError{
      fmt::format("--wrap: got \"{}\", expected torchrun or sbatch for {}; accelerate starts trl, axolotl "
                  "and llamafactory",
                  word, format.title)};
}

}  // namespace

ExportReport run_export(const ExportOptions& options) {
  ScenarioOptions asked = options.question;
  // "torchtitan" is no profile: it runs what fsdp2 predicts.
  const auto formats = presets::launch_formats();
  const auto named = std::find_if(formats.begin(), formats.end(),
                                  [&](const auto& each) { return each.name == asked.framework; });
  asked.framework = presets::profile_of_framework(asked.framework);
  ExportReport report{.question = ask(asked), .format = formats.front()};
  const std::string& profile = report.question.scenario.framework.name;
  if (!options.target.empty()) {
    report.format = presets::find_launch_target(options.target, profile);
  } else {
    report.format = named != formats.end() ? *named : presets::find_launch_format(profile);
  }
  report.rejected = costmodel::first_rejection(report.question.scenario);
  if (!report.rejected) report.rejected = launch_rejection(report.question.scenario, report.format.launcher);
  if (!report.rejected) {
    const costmodel::Estimate estimate =
        costmodel::estimate_step(report.question.scenario, report.question.calibration);
    report.fits = std::holds_alternative<costmodel::Fits>(estimate.verdict);
    report.risk = estimate.out_of_memory_probability;
    report.warning = planner::memory_warning(estimate);
    report.config = launch_config(report.question.scenario, report.format, report.warning,
                                  presets::model_origin(report.question.request.model));
    report.file = report.format.file;
    if (!options.wrap.empty()) {
      const presets::Starter starter = starter_called(options.wrap, report.format);
      presets::LaunchWrapper wrapper =
          launch_wrapper(report.question.scenario, report.format, report.config, starter);
      report.file = std::move(wrapper.file);
      report.config.text = std::move(wrapper.text);
    }
  }
  return report;
}

JsonValue export_json(const ExportReport& report) {
  JsonArray gaps;
  for (const std::string& gap : report.config.gaps) gaps.emplace_back(gap);
  JsonValue rejection;
  if (report.rejected) {
    rejection = JsonObject{{"rule", report.rejected->rule},
                           {"reason", report.rejected->reason},
                           {"advice", report.rejected->advice}};
  }
  return JsonObject{{"schema", "hexaplan/launch/1"},
                    {"framework", report.format.name},
                    {"file", report.rejected ? std::string{report.format.file} : report.file},
                    {"text", report.config.text},
                    {"not_said", std::move(gaps)},
                    {"rejection", std::move(rejection)},
                    {"fits", report.rejected ? JsonValue{} : JsonValue{report.fits}},
                    {"out_of_memory_probability", report.rejected ? JsonValue{} : JsonValue{report.risk}},
                    {"warning", report.warning.empty() ? JsonValue{} : JsonValue{report.warning}},
                    {"not_modelled", not_modelled_json(costmodel::not_modelled(report.question.scenario))}};
}

}  // namespace hexaplan::cli
