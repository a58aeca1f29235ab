#include "cli/commands/simulate.h"

#include <fmt/format.h>

#include <string_view>

#include "charts/gantt_svg.h"
#include "charts/memory_svg.h"
#include "cli/write_file.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "presets/json/input_error.h"
#include "presets/scenario/layout_text.h"
#include "presets/trace/trace_writer.h"

namespace hexaplan::cli {
namespace {

/// "llama-3.1-8b on 64 x H100, tp2 pp4 dp8".
std::string title_of(const Question& question) {
  const costmodel::Scenario& s = question.scenario;
  return fmt::format("{} on {} x {}, {}", s.model.name, s.cluster.gpus, s.cluster.gpu.name,
                     presets::to_layout_text(s.layout));
}

costmodel::SimulationOptions what_pictures_keep(const SimulateOptions& options) {
  return {.keep_spans = !options.gantt_svg.empty(), .keep_memory = !options.memory_svg.empty()};
}

costmodel::Simulation simulated(const Question& question, const costmodel::SimulationOptions& kept) {
  return costmodel::simulate_step(question.scenario, question.calibration, kept);
}

/// The step with nothing kept: the trace and the survey have it while it runs.
costmodel::Simulation run_through(const SimulateOptions& options, bool json, SimulateReport& report) {
  const auto simulate = [&](bool traced, const costmodel::TakePiece& take) {
    return simulated(report.question, {.keep_spans = traced || !json, .keep_memory = traced, .take = take});
  };
  const auto survey = [&](const costmodel::StageTimeline& piece) {
    if (!json) report.survey.add(piece);
  };
  if (options.trace.empty())
    return simulate(false, [&](int, const costmodel::StageTimeline& piece) { survey(piece); });
  costmodel::Simulation simulation;
  write_file(options.trace, [&](const auto& sink) {
    const auto trace = presets::trace_writer(options.trace, report.question.scenario.layout,
                                             title_of(report.question), sink);
    simulation = simulate(true, [&](int stage, const costmodel::StageTimeline& piece) {
      trace->add(stage, piece);
      survey(piece);
    });
    trace->finish(simulation);
  });
  return simulation;
}

/// The critical path and pictures, which need the spans of the whole step at once.
void look_at_whole(const SimulateOptions& options, const costmodel::Simulation& whole, bool follows,
                   SimulateReport& report) {
  if (follows) report.path = costmodel::times_of(costmodel::critical_path(whole));
  const std::string title = title_of(report.question);
  if (!options.gantt_svg.empty()) write_file(options.gantt_svg, charts::gantt_svg(whole, title));
  if (!options.memory_svg.empty())
    write_file(options.memory_svg, charts::memory_svg(whole, report.estimate.capacity, title));
}

/// A step that is kept whole runs once, unless a trace is written while it runs.
void run(const SimulateOptions& options, bool json, SimulateReport& report) {
  costmodel::SimulationOptions kept = what_pictures_keep(options);
  const bool follows = costmodel::tasks_of_step(report.question.scenario) <= costmodel::kMostFollowedTasks;
  kept.keep_spans |= follows;
  const bool whole = kept.keep_spans || kept.keep_memory;
  if (!whole || !options.trace.empty()) {
    report.simulation = run_through(options, json, report);
    if (whole) look_at_whole(options, simulated(report.question, kept), follows, report);
    return;
  }
  kept.keep_spans |= !json;  // for the survey
  const costmodel::Simulation& simulation = report.simulation.emplace(simulated(report.question, kept));
  for (const costmodel::StageTimeline& stage : simulation.stages) {
    if (!json) report.survey.add(stage);
  }
  look_at_whole(options, simulation, follows, report);
}

void refuse_if_too_large(const costmodel::Scenario& scenario, const costmodel::SimulationOptions& kept) {
  const auto refused = costmodel::too_large_to_simulate(scenario, kept);
  if (!refused) return;
  const bool totals_pass =
      !costmodel::too_large_to_simulate(scenario, {.keep_spans = false, .keep_memory = false});
  throw presets::InputError{
      {.field = "simulate",
       .hint = fmt::format("{}; {}{}", refused->reason, refused->advice,
                           totals_pass ? ", or leave out --gantt-svg and --memory-svg" : "")}};
}

}  // namespace

SimulateReport run_simulate(const SimulateOptions& options, bool json) {
  SimulateReport report;
  report.question = ask(options.question);
  const costmodel::Scenario& scenario = report.question.scenario;
  report.parameters = costmodel::count_parameters(scenario.model).total;
  report.estimate = costmodel::estimate_step(scenario, report.question.calibration);
  if (report.estimate.stages.empty()) return report;
  refuse_if_too_large(scenario, what_pictures_keep(options));
  run(options, json, report);
  return report;
}

}  // namespace hexaplan::cli
