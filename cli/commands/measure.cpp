#include "cli/commands/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "cli/commands/nccl_samples.h"
#include "costmodel/units/format_units.h"
#include "presets/import/import_plan.h"
#include "presets/runs/file_kind.h"
#include "presets/runs/pickle_data.h"
#include "presets/runs/traced_work.h"

namespace hexaplan::cli {

using costmodel::Bytes;
using costmodel::Scenario;
using costmodel::Seconds;
using presets::LoggedPeak;
using presets::LoggedStep;
using presets::RunLog;

namespace {

bool is_asked(const ScenarioOptions& question) {
  return !question.model.empty() || !question.scenario.empty() || !question.from.empty() || question.request;
}

/// The log's own arguments as the question, with the flags on top; nothing when it lists none, or the
/// machines are not said.
std::optional<presets::ScenarioRequest> request_of_log(const RunLog& log, const ScenarioOptions& options,
                                                       std::vector<std::string>& notes) {
  const std::string script = presets::launch_script_of(log);
  if (script.empty()) return std::nullopt;
  if (options.cluster.empty()) {
    notes.emplace_back("the log lists the run's arguments: add --cluster with its GPU type for a prediction");
    return std::nullopt;
  }
  presets::ImportedPlan plan = presets::import_plan({{log.file, script}}, options.cluster);
  // What no flag of the command line says: without Transformer Engine and FlashAttention scores are stored.
  if (presets::argument_of(log, "transformer_impl") == "local" &&
      presets::argument_of(log, "use_flash_attn") == "False")
    plan.request.recipe.attention = costmodel::AttentionKernel::FusedSoftmax;
  override_request(plan.request, options, true);
  notes.emplace_back("what ran is read from the arguments in the log");
  return std::move(plan.request);
}

/// The question of the flags, else of a log, with what it leaves open taken from the log. `log` may be null.
std::optional<Question> measured_question(const RunLog* log, const ScenarioOptions& options,
                                          std::vector<std::string>& notes) {
  Question question;
  std::optional<presets::ScenarioRequest> request;
  if (is_asked(options)) {
    request = read_request(options, &question.notes);
  } else if (log != nullptr) {
    request = request_of_log(*log, options, notes);
  }
  if (!request) return std::nullopt;
  if (log != nullptr && request->recipe.global_batch == 0)
    request->recipe.global_batch = log->global_batch.value_or(0);
  if (log != nullptr && request->recipe.sequence == 0) request->recipe.sequence = log->sequence.value_or(0);
  question.request = *request;
  presets::CalibratedScenario found = presets::calibrate(*request, resolve_request(*request, options));
  question.scenario = std::move(found.scenario);
  question.calibration = std::move(found.calibration);
  question.fabric = std::move(found.fabric);
  question.notes.insert(question.notes.end(), found.notes.begin(), found.notes.end());
  save_scenario(options.save_scenario, question);
  return question;
}

/// Sizes of a step that turn a rate into seconds; 0: nobody says.
struct StepSize {
  double sequences = 0, tokens = 0, gpus = 0;
};

StepSize size_of_step(const RunLog& log, const std::optional<Question>& question) {
  const auto said = [](std::optional<std::int64_t> value) { return static_cast<double>(value.value_or(0)); };
  StepSize size{said(log.global_batch), said(log.global_batch) * said(log.sequence), said(log.world_size)};
  if (question) {
    const costmodel::Recipe& recipe = question->scenario.recipe;
    size.sequences = static_cast<double>(recipe.global_batch);
    size.tokens = size.sequences * static_cast<double>(recipe.sequence);
    size.gpus = static_cast<double>(question->scenario.cluster.gpus);
  }
  return size;
}

/// What all steps of a log can be counted in.
StepUnit unit_of(const RunLog& log, const StepSize& size) {
  const LoggedStep& first = log.steps.front();
  if (first.time) return StepUnit::Step;
  if (first.tokens_per_gpu) return size.tokens * size.gpus > 0 ? StepUnit::Step : StepUnit::TokenPerGpu;
  return size.sequences > 0 ? StepUnit::Step : StepUnit::Sample;
}

/// Seconds per unit; 0 when the step does not say.
double seconds_of(const LoggedStep& step, StepUnit unit, const StepSize& size) {
  if (unit == StepUnit::TokenPerGpu) return step.tokens_per_gpu ? 1 / *step.tokens_per_gpu : 0;
  if (unit == StepUnit::Sample) return step.samples ? 1 / *step.samples : 0;
  if (step.time) return step.time->value();
  if (step.tokens_per_gpu) return size.tokens / (*step.tokens_per_gpu * size.gpus);
  return step.samples ? size.sequences / *step.samples : 0;
}

/// Steps of a batch that was still growing are another step.
bool is_of_last_batch(const RunLog& log, const LoggedStep& step) {
  return !step.global_batch || step.global_batch == log.steps.back().global_batch;
}

void time_steps(ImportedRun& run, const std::optional<Question>& question) {
  const StepSize size = size_of_step(run.log, question);
  run.unit = unit_of(run.log, size);
  std::size_t growing = 0;
  for (std::size_t i = 0; i < run.log.steps.size(); ++i) {
    const LoggedStep& step = run.log.steps[i];
    const double seconds = seconds_of(step, run.unit, size);
    if (!(seconds > 0)) continue;
    if (!is_of_last_batch(run.log, step)) {
      ++growing;
      continue;
    }
    run.timed.push_back(
        {step.iteration.value_or(static_cast<std::int64_t>(i)), step.steps, Seconds{seconds}});
    run.logged.push_back(i);
  }
  run.steady = validator::steady_steps(run.timed);
  if (growing > 0)
    run.notes.push_back(fmt::format("{} lines of smaller global batches are left out", growing));
  if (run.log.whole_run_mean)
    run.notes.emplace_back("the time is the mean of the whole run, its start included");
  if (run.unit != StepUnit::Step)
    run.notes.emplace_back("say what ran (--scenario, --from, --model …) for the time of a step");
}

/// Differences between what the log and the question say of the same run.
void note_contradictions(ImportedRun& run, const Scenario& scenario) {
  const struct {
    const char* what;
    std::optional<std::int64_t> logged;
    std::int64_t asked;
  } facts[] = {{"global batch", run.log.steps.back().global_batch, scenario.recipe.global_batch},
               {"sequence", run.log.sequence, scenario.recipe.sequence},
               {"processes", run.log.world_size, scenario.cluster.gpus}};
  for (const auto& [what, logged, asked] : facts) {
    if (logged && *logged != asked)
      run.notes.push_back(fmt::format("not what was asked: the log says {} {}, the question {}", what,
                                      costmodel::format_count(*logged), costmodel::format_count(asked)));
  }
}

/// Stage of a rank's peak; a log that names no rank is taken for the fullest one's.
int stage_of(const LoggedPeak& peak, const Scenario& scenario, const costmodel::Estimate& estimate) {
  return validator::stage_of_rank(scenario, peak.rank).value_or(estimate.peak_stage);
}

/// One peak of each kind per stage: of the rank that was fullest.
void keep_fullest(std::vector<ComparedPeak>& peaks, const ComparedPeak& peak) {
  if (!(peak.measured > Bytes{})) return;
  const auto same = std::find_if(peaks.begin(), peaks.end(), [&](const ComparedPeak& other) {
    return other.stage == peak.stage && other.reserved == peak.reserved;
  });
  if (same == peaks.end()) {
    peaks.push_back(peak);
  } else if (same->measured < peak.measured) {
    *same = peak;
  }
}

void compare_peaks(ImportedRun& run, const Scenario& scenario, const costmodel::Estimate& estimate) {
  // nanotron starts its peak anew in the middle of a step (trainer.py training_step): not the step's.
  const bool whole_step = run.log.format != presets::LogFormat::Nanotron;
  for (const LoggedPeak& peak : run.log.peaks) {
    const int stage = stage_of(peak, scenario, estimate);
    const costmodel::StageMemory& predicted = estimate.stages[static_cast<std::size_t>(stage)];
    if (whole_step) keep_fullest(run.peaks, {peak.rank, stage, false, predicted.allocated, peak.allocated});
    keep_fullest(run.peaks, {peak.rank, stage, true, predicted.reserved, peak.reserved});
  }
  if (!whole_step)
    run.notes.emplace_back("nanotron's peak of allocated memory is not that of a whole step: not compared");
}

void compare(ImportedRun& run, const MeasureReport& report) {
  note_contradictions(run, report.question->scenario);
  if (!report.priced()) return;
  if (run.unit == StepUnit::Step)
    run.step = validator::ComparedTotal{.predicted = report.estimate->time.total().value(),
                                        .measured = run.steady.median.value(),
                                        .interval = report.estimate->step_seconds};
  compare_peaks(run, report.question->scenario, *report.estimate);
}

ImportedTrace import_trace(presets::DeviceTrace trace) {
  ImportedTrace imported{.trace = std::move(trace)};
  imported.profile = presets::profile_of(imported.trace);
  std::vector<validator::TimedStep> steps;
  for (const presets::TraceStep& step : imported.trace.steps) {
    if (step.duration > 0) steps.push_back({step.iteration, 1, Seconds{step.duration * 1e-6}});
  }
  if (!steps.empty()) imported.steady = validator::steady_steps(steps);
  imported.notes = presets::notes_of(imported.trace, imported.profile);
  imported.trace.kernels = {};
  return imported;
}

void compare(ImportedTrace& imported, const MeasureReport& report) {
  const Scenario& scenario = report.question->scenario;
  if (imported.trace.world_size && *imported.trace.world_size != scenario.cluster.gpus)
    imported.notes.push_back(fmt::format("not what was asked: the trace says {} processes, the question {}",
                                         *imported.trace.world_size, scenario.cluster.gpus));
  if (!report.priced()) return;
  imported.stage = validator::stage_of_rank(scenario, imported.trace.rank.value_or(0))
                       .value_or(report.estimate->peak_stage);
  if (imported.steady)
    imported.step = validator::ComparedTotal{.predicted = report.estimate->time.total().value(),
                                             .measured = imported.steady->median.value(),
                                             .interval = report.estimate->step_seconds};
  if (imported.steady && imported.trace.on_device)
    imported.work = validator::compare_work(scenario, report.question->calibration, imported.stage,
                                            presets::work_of(imported.profile));
}

void compare(ImportedSnapshot& imported, const MeasureReport& report) {
  if (!report.priced()) return;
  const costmodel::StageMemory& fullest = report.estimate->peak();
  for (const presets::SnapshotDevice& device : imported.snapshot.devices) {
    std::vector<ComparedPeak>& peaks = imported.peaks.emplace_back();
    peaks.push_back({std::nullopt, fullest.stage, false, fullest.allocated, device.peak_allocated});
    peaks.push_back({std::nullopt, fullest.stage, true, fullest.reserved, device.peak_reserved});
  }
}

/// A driver counts all that a GPU holds: contexts and the allocator's reserve, too.
void compare(ImportedGpuLog& imported, const MeasureReport& report) {
  if (!report.priced()) return;
  Bytes fullest;
  for (const presets::LoggedGpu& gpu : imported.log.gpus)
    fullest = std::max(fullest, gpu.memory.value_or(Bytes{}));
  if (fullest > Bytes{})
    imported.memory =
        ImportedGpuLog::Memory{.predicted = report.estimate->peak().device, .measured = fullest};
}

ImportedLinks import_links(const std::string& file, presets::NcclTest test) {
  ImportedLinks links{.file = file, .test = std::move(test), .sizes = {}, .notes = {}};
  for (const presets::NcclTestRow& row : links.test.rows) {
    const Seconds sum = std::accumulate(row.times.begin(), row.times.end(), Seconds{});
    links.sizes.push_back({row.payload, sum / static_cast<double>(row.times.size()), {}});
  }
  return links;
}

/// Machines alone are asked about: what trains on them does not matter here, whether it fits neither.
void compare(ImportedLinks& links, const Question& question) {
  if (const NcclMismatch other = mismatch_of(links.test, question.scenario.cluster); other.any()) {
    links.notes.push_back(
        fmt::format("not compared: the table is of {}, expected {}", other.value, other.expected));
    return;
  }
  std::size_t next = 0;
  const auto samples = samples_of(links.test, question.scenario.cluster);
  for (std::size_t i = 0; i < links.sizes.size(); ++i) {
    links.sizes[i].predicted =
        validator::modelled_time(samples[next], question.scenario.cluster, question.calibration);
    next += links.test.rows[i].times.size();
  }
}

void import_file(const std::string& file, MeasureReport& report) {
  if (presets::is_pickle(file)) {
    report.snapshots.push_back({presets::read_memory_snapshot(file), {}});
  } else if (presets::is_trace(file)) {
    for (presets::DeviceTrace& trace : presets::read_traces(file))
      report.traces.push_back(import_trace(std::move(trace)));
  } else if (presets::is_gpu_log(file)) {
    report.gpu_logs.push_back({presets::read_gpu_log(file), {}});
  } else if (presets::is_nccl_table(file)) {
    for (presets::NcclTest& test : presets::read_nccl_tests(file))
      report.links.push_back(import_links(file, std::move(test)));
  } else {
    report.runs.emplace_back().log = presets::read_run_log(file);
  }
}

}  // namespace

MeasureReport run_measure(const MeasureOptions& options) {
  MeasureReport report;
  for (const std::string& file : options.files) import_file(file, report);
  ImportedRun* first = report.runs.empty() ? nullptr : &report.runs.front();
  std::vector<std::string> notes;
  report.question = measured_question(first == nullptr ? nullptr : &first->log, options.question, notes);
  if (first != nullptr) first->notes = std::move(notes);
  if (report.question)
    report.estimate = costmodel::estimate_step(report.question->scenario, report.question->calibration);
  for (ImportedRun& run : report.runs) {
    time_steps(run, report.question);
    if (report.question) compare(run, report);
  }
  for (ImportedTrace& trace : report.traces) {
    if (report.question) compare(trace, report);
  }
  for (ImportedSnapshot& snapshot : report.snapshots) compare(snapshot, report);
  for (ImportedGpuLog& log : report.gpu_logs) compare(log, report);
  for (ImportedLinks& links : report.links) {
    if (report.question) compare(links, *report.question);
  }
  return report;
}

}  // namespace hexaplan::cli
