#include "cli/commands/simulate.h"

#include <fmt/format.h>

#include "charts/gantt_svg.h"
#include "charts/memory_svg.h"
#include "cli/write_file.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "presets/json/input_error.h"
#include "presets/scenario/layout_text.h"
#include "presets/trace/chrome_trace.h"

namespace hexaplan::cli {
namespace {

/// "llama-3.1-8b on 64 x H100, tp2 pp4 dp8".
std::string title_of(const Question& question) {
  const costmodel::Scenario& s = question.scenario;
  return fmt::format("{} on {} x {}, {}", s.model.name, s.cluster.gpus, s.cluster.gpu.name,
                     presets::to_layout_text(s.layout));
}

void write_pictures(const SimulateOptions& options, const SimulateReport& report) {
  const costmodel::Simulation& simulation = *report.simulation;
  const std::string title = title_of(report.question);
  if (!options.trace.empty()) {
    write_file(options.trace,
               [&](const auto& sink) { presets::write_chrome_trace(simulation, title, sink); });
  }
  if (!options.gantt_svg.empty()) write_file(options.gantt_svg, charts::gantt_svg(simulation, title));
  if (!options.memory_svg.empty())
    write_file(options.memory_svg, charts::memory_svg(simulation, report.estimate.capacity, title));
}

/// Spans and curves are kept where something shows them: a fifth of the memory of a simulation is totals.
costmodel::SimulationOptions what_to_keep(const SimulateOptions& options, bool json) {
  const bool traced = !options.trace.empty();
  return {.keep_spans = !json || traced || !options.gantt_svg.empty(),
          .keep_memory = traced || !options.memory_svg.empty()};
}

void refuse_if_too_large(const costmodel::Scenario& scenario, const costmodel::SimulationOptions& kept) {
  const auto refused = costmodel::too_large_to_simulate(scenario, kept);
  if (!refused) return;
  const bool totals_pass =
      !costmodel::too_large_to_simulate(scenario, {.keep_spans = false, .keep_memory = false});
  throw presets::InputError{
      {.field = "simulate",
       .hint = fmt::format("{}; {}{}", refused->reason, refused->advice,
                           totals_pass ? ", or --json without pictures and --trace for totals alone" : "")}};
}

}  // namespace

SimulateReport run_simulate(const SimulateOptions& options, bool json) {
  SimulateReport report;
  report.question = ask(options.question);
  const costmodel::Scenario& scenario = report.question.scenario;
  report.parameters = costmodel::count_parameters(scenario.model).total;
  report.estimate = costmodel::estimate_step(scenario, report.question.calibration);
  if (report.estimate.stages.empty()) return report;
  const costmodel::SimulationOptions kept = what_to_keep(options, json);
  refuse_if_too_large(scenario, kept);
  report.simulation = costmodel::simulate_step(scenario, report.question.calibration, kept);
  write_pictures(options, report);
  return report;
}

}  // namespace hexaplan::cli
