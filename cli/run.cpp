#include "cli/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "charts/table_text.h"
#include "cli/commands/accuracy.h"
#include "cli/commands/calibrate.h"
#include "cli/commands/calibrate_runs.h"
#include "cli/commands/cluster.h"
#include "cli/commands/compare.h"
#include "cli/commands/diff.h"
#include "cli/commands/estimate.h"
#include "cli/commands/execute.h"
#include "cli/commands/export.h"
#include "cli/commands/finetune.h"
#include "cli/commands/history.h"
#include "cli/commands/import.h"
#include "cli/commands/interrupts.h"
#include "cli/commands/measure.h"
#include "cli/commands/measure_rows.h"
#include "cli/commands/oracle.h"
#include "cli/commands/posttrain.h"
#include "cli/commands/presets.h"
#include "cli/commands/report.h"
#include "cli/commands/search.h"
#include "cli/commands/simulate.h"
#include "cli/commands/sweep.h"
#include "cli/commands/validate.h"
#include "cli/render/accuracy_json.h"
#include "cli/render/accuracy_text.h"
#include "cli/render/calibrate_text.h"
#include "cli/render/compare_text.h"
#include "cli/render/estimate_json.h"
#include "cli/render/estimate_text.h"
#include "cli/render/execution_json.h"
#include "cli/render/execution_text.h"
#include "cli/render/finetune_text.h"
#include "cli/render/history_text.h"
#include "cli/render/learned_text.h"
#include "cli/render/measure_text.h"
#include "cli/render/oracle_text.h"
#include "cli/render/posttrain_text.h"
#include "cli/render/presets.h"
#include "cli/render/search_text.h"
#include "cli/render/simulate_json.h"
#include "cli/render/simulate_text.h"
#include "cli/render/sweep.h"
#include "cli/render/validation_html.h"
#include "cli/render/validation_text.h"
#include "cli/render/verify_text.h"
#include "cli/write_file.h"
#include "costmodel/program/not_modelled.h"
#include "presets/json/input_error.h"

namespace hexaplan::cli {
namespace {

/// Result of a command, rendered, and what the shell should see.
struct Outcome {
  std::string text;
  ExitCode code = ExitCode::Ok;
  bool speaks = true;     // false: another process of the job writes the result
  bool must_end = false;  // threads that cannot be stopped run on: leave without clearing up
};

std::string json_text(const presets::JsonValue& value) {
  return presets::to_text(value) + "\n";
}

bool goes_to_file(const CommonOptions& common) {
  return !common.output.empty() && common.output != "-";
}

/// As a shell names the end by a signal.
ExitCode code_of_signal(int signal) {
  return static_cast<ExitCode>(128 + signal);
}

ExitCode code_of(const planner::Ranking& ranking) {
  if (ranking.stopped) return ExitCode::Interrupted;
  return ranking.plans.empty() ? ExitCode::DoesNotFit : ExitCode::Ok;
}

/// What ended a run comes first, then what it could not keep.
ExitCode code_of(const ExecutionResult& result) {
  if (result.report.fault) return ExitCode::RankFailed;
  if (result.signal != 0) return code_of_signal(result.signal);
  return result.report_problem.empty() ? ExitCode::Ok : ExitCode::UnusableInput;
}

/// Executes one alternative of Command.
struct Runner {
  const CommonOptions& common;
  TextStyle style;

  Outcome operator()(const EstimateOptions& options) const {
    const EstimateReport report = run_estimate(options);
    print_notes(report.question);
    return {common.json ? json_text(estimate_json(report)) : estimate_text(report, style),
            options.require_fit && !report.fits() ? ExitCode::DoesNotFit : ExitCode::Ok};
  }
  Outcome operator()(const SimulateOptions& options) const {
    const SimulateReport report = run_simulate(options, common.json);
    print_notes(report.question);
    return {common.json ? json_text(simulate_json(report)) : simulate_text(report, style)};
  }
  [[nodiscard]] Outcome sweep(const SearchOptions& options) const {
    const SweepReport report = run_sweep(options, common.quiet);
    print_notes(report.cells.front().question);
    const ExitCode code = report.stopped()     ? ExitCode::Interrupted
                          : report.found_any() ? ExitCode::Ok
                                               : ExitCode::DoesNotFit;
    if (!options.html.empty()) write_file(options.html, report::sweep_page(report_of(report)));
    if (common.json) return {json_text(sweep_json(report)), code};
    if (options.csv) return {charts::csv_table(sweep_cells(report)), code};
    if (options.markdown) return {charts::markdown_table(sweep_cells(report)), code};
    return {sweep_text(report, style), code};
  }
  Outcome operator()(const SearchOptions& options) const {
    if (!options.sweep.empty()) return sweep(options);
    const SearchReport report = run_search(options, common.quiet);
    print_notes(report.question);
    const ExitCode code = code_of(report.ranking);
    if (!options.html.empty()) write_file(options.html, report::plan_page(report_of(report)));
    if (common.json) return {json_text(search_json(report)), code};
    if (options.csv) return {charts::csv_table(plan_cells(report)), code};
    if (options.markdown) return {charts::markdown_table(plan_cells(report)), code};
    return {search_text(report, style), code};
  }
  Outcome operator()(const ReportOptions& options) const {
    const report::PlanReport report = run_report(options, common.quiet);
    write_file(options.html, report::plan_page(report));
    return {.text = {}, .speaks = false};
  }
  Outcome operator()(const FinetuneOptions& options) const {
    const FinetuneReport report = run_finetune(options);
    print_notes(report.answers.front().search.question);
    const ExitCode code = report.answers.front().fits() ? ExitCode::Ok : ExitCode::DoesNotFit;
    return {common.json ? json_text(finetune_json(report)) : finetune_text(report, style), code};
  }
  Outcome operator()(const PostTrainOptions& options) const {
    const PostTrainReport report = run_posttrain(options);
    if (!common.quiet && !common.json) {
      for (const std::string& note : report.notes) fmt::print(stderr, "note: {}\n", note);
    }
    return {common.json ? json_text(posttrain_json(report)) : posttrain_text(report, style),
            options.require_fit && report.plan.rejected ? ExitCode::DoesNotFit : ExitCode::Ok};
  }
  Outcome operator()(const CompareOptions& options) const {
    const CompareReport report = run_compare(options);
    if (common.json) return {json_text(compare_json(report))};
    if (options.csv) return {charts::csv_table(compare_cells(report))};
    if (options.markdown) return {charts::markdown_table(compare_cells(report), 2)};
    return {compare_text(report, style)};
  }
  Outcome operator()(const PresetsOptions& options) const {
    if (options.show) {
      const PresetContent preset = show_preset(options);
      return {common.json ? json_text(preset_json(preset)) : preset_text(preset, style)};
    }
    if (options.names) return {fmt::format("{}\n", fmt::join(preset_names(options.kind), "\n"))};
    const auto lists = list_presets(options);
    const bool all_read =
        std::ranges::all_of(lists, [](const PresetList& l) { return l.unreadable.empty(); });
    return {common.json ? json_text(presets_json(lists)) : presets_text(lists, style),
            all_read ? ExitCode::Ok : ExitCode::UnusableInput};
  }
  Outcome operator()(const AccuracyOptions& options) const {
    const AccuracyResult result = run_accuracy(options);
    if (common.json && !options.rows && !scores_anything(result))
      throw presets::InputError({.file = fmt::format("{}", fmt::join(options.tables, ", ")),
                                 .value = "no row that can be scored",
                                 .expected = "measurements that a scenario can be made of",
                                 .hint = "add --rows: each says why it was left out"});
    // With --rows each says why.
    const ExitCode code = scores_anything(result) ? ExitCode::Ok : ExitCode::UnusableInput;
    return {common.json ? json_text(accuracy_json(result, options.rows))
                        : accuracy_text(result, options.rows, options.worst, style),
            code};
  }
  Outcome operator()(const ExecuteOptions& options) const {
    const ExecutionResult result = run_execution(options, common.output, common.quiet);
    if (result.rejected)
      return {common.json ? json_text(rejection_json(result)) : execution_text(result, style),
              ExitCode::DoesNotFit};
    const bool failed = result.report.fault.has_value();
    remember(options.store, result);
    if (result.speaks && !common.quiet && !common.json) {
      for (const std::string& note : result.question.notes) fmt::print(stderr, "note: {}\n", note);
    }
    if (failed && result.speaks) fmt::print(stderr, "{}", fault_text(result, options.report));
    if (!result.report_problem.empty()) fmt::print(stderr, "hexaplan: {}\n", result.report_problem);
    return {common.json ? json_text(execution_json(result.question, result.report))
                        : execution_text(result, style),
            code_of(result), result.speaks, result.must_end};
  }
  Outcome operator()(const ExportOptions& options) const {
    const ExportReport report = run_export(options);
    print_notes(report.question);
    const ExitCode code = report.rejected ? ExitCode::DoesNotFit : ExitCode::Ok;
    if (common.json) return {json_text(export_json(report)), code};
    if (report.rejected) {
      fmt::print(stderr, "hexaplan: cannot run: {}; {}\n", report.rejected->reason, report.rejected->advice);
      return {{}, code, false};
    }
    if (!report.warning.empty() && !common.quiet) fmt::print(stderr, "warning: {}\n", report.warning);
    for (const std::string& gap : report.config.gaps) {
      if (!common.quiet) fmt::print(stderr, "not said in {}: {}\n", report.file, gap);
    }
    for (const auto& [knob, effect] : costmodel::not_modelled(report.question.scenario)) {
      if (!common.quiet) fmt::print(stderr, "not modelled: {}: {}\n", knob, effect);
    }
    return {report.config.text};
  }
  Outcome operator()(const DiffOptions& options) const {
    const DiffReport report = run_diff(options);
    print_notes(report.question);
    return {common.json ? json_text(diff_json(report)) : diff_text(report)};
  }
  Outcome operator()(const ImportOptions& options) const {
    const presets::ImportedPlan plan = run_import(options);
    if (common.json) return {json_text(import_json(plan))};
    if (!common.quiet) fmt::print(stderr, "{}", import_report(plan));
    return {json_text(to_json(plan.request))};
  }
  Outcome operator()(const ClusterOptions& options) const {
    const presets::ImportedCluster cluster = run_cluster(options);
    if (common.json) return {json_text(cluster_json(cluster))};
    if (!common.quiet) fmt::print(stderr, "{}", cluster_report(cluster));
    return {json_text(presets::JsonValue{cluster.cluster})};
  }
  Outcome operator()(const BackendsOptions& /*none*/) const {
    const auto backends = validator::list_backends();
    return {common.json ? json_text(backends_json(backends)) : backends_text(backends, style)};
  }
  Outcome operator()(const ValidateOptions& options) const {
    ValidationRecord record{options.store};
    const auto keep = [&](const ValidateReport& so_far) {
      record.keep(so_far);
      if (!options.html.empty()) write_file(options.html, validation_html(so_far));
      if (goes_to_file(common)) write_file(common.output, validation_output(options, so_far));
    };
    const ValidateReport report = run_validate(options, common.quiet, keep);
    if (report.signal != 0 && report.speaks) return stopped_validation(options, report, keep);
    if (!common.quiet && !common.json && report.speaks) {
      for (const std::string& note : report.notes) fmt::print(stderr, "note: {}\n", note);
    }
    const ExitCode code = report.signal != 0       ? code_of_signal(report.signal)
                          : report.measured() == 0 ? ExitCode::DoesNotFit
                                                   : ExitCode::Ok;
    return {validation_output(options, report), code, report.speaks, report.must_end};
  }
  Outcome operator()(const MeasureOptions& options) const {
    const MeasureReport report = run_measure(options);
    if (options.as_row && common.json)
      throw UsageError{"--as-row and --json each say what is written; give one of them"};
    if (options.as_row) return {measured_rows(report)};
    if (report.question) print_notes(*report.question);
    return {common.json ? json_text(measure_json(report)) : measure_text(report, style)};
  }
  Outcome operator()(const RunsOptions& options) const {
    const HistoryReport report = run_history(options);
    return {common.json ? json_text(history_json(report)) : history_text(report, style)};
  }
  Outcome operator()(const VerifyOptions& options) const {
    const VerifyReport report = run_verify(options, !common.quiet);
    return {common.json ? json_text(verify_json(report)) : verify_text(report, style),
            report.rejected  ? ExitCode::DoesNotFit
            : report.equal() ? ExitCode::Ok
                             : ExitCode::Internal};
  }
  Outcome operator()(const CalibrateOptions& options) const {
    if (!options.from_runs.empty()) {
      const RunCalibrateReport learned = run_calibrate_runs(options);
      return {common.json ? json_text(learned_json(learned)) : learned_text(learned, style)};
    }
    const CalibrateReport report = run_calibrate(options, !common.quiet);
    return {common.json ? json_text(calibrate_json(report)) : calibrate_text(report, style), ExitCode::Ok,
            report.speaks};
  }
  Outcome operator()(const OracleOptions& options) const {
    const OracleReport report = run_oracle(options, !common.quiet && !common.json);
    if (report.signal != 0) {
      fmt::print(stderr, "hexaplan: stopped by {}\n", name_of_signal(report.signal));
      return {.text = {}, .code = code_of_signal(report.signal), .speaks = false};
    }
    return {common.json ? json_text(oracle_json(report)) : oracle_text(report, style)};
  }
  Outcome operator()(const PrintText& print) const { return {print.text}; }

  [[nodiscard]] std::string validation_output(const ValidateOptions& options,
                                              const ValidateReport& report) const {
    if (common.json) return json_text(validation_json(report));
    if (options.csv) return charts::csv_table(validation_cells(report));
    if (options.markdown) return charts::markdown_table(validation_cells(report));
    return validation_text(report, options.terms, style);
  }
  /// A file that cannot be written takes nothing from the others and from what follows.
  static void keep_or_tell(const ValidateReport& report, const ReportKeeper& keep) {
    try {
      keep(report);
    } catch (const presets::InputError& error) {
      fmt::print(stderr, "hexaplan: {}\n", error.what());
    }
  }
  [[nodiscard]] Outcome stopped_validation(const ValidateOptions& options, const ValidateReport& report,
                                           const ReportKeeper& keep) const {
    fmt::print(stderr, "\nhexaplan: stopped by {}; {} of {} scenarios were through\n", report.stopped_by(),
               report.finished, report.scenarios.size());
    const bool planned = !report.scenarios.empty();
    if (planned) keep_or_tell(report, keep);
    return {planned ? validation_output(options, report) : std::string{}, code_of_signal(report.signal),
            planned, true};
  }

  void print_notes(const Question& question) const {
    if (common.quiet || common.json) return;
    for (const std::string& note : question.notes) fmt::print(stderr, "note: {}\n", note);
  }
};

void write_stdout(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return;
  throw presets::InputError(
      {.file = "stdout", .value = std::strerror(errno), .expected = "room for the result"});
}

void deliver(const CommonOptions& common, bool to_file, const Outcome& outcome) {
  if (!outcome.speaks) return;
  if (to_file) {
    write_file(common.output, outcome.text);
  } else {
    write_stdout(outcome.text);
  }
}

/// Files that a command writes at its end are looked at before its work begins. A run looks itself: it knows
/// which of its processes writes.
void check_outputs(const Invocation& invocation) {
  if (std::holds_alternative<ExecuteOptions>(invocation.command)) return;
  check_output(invocation.common.output);
  if (const auto* options = std::get_if<SimulateOptions>(&invocation.command)) {
    for (const std::string* path : {&options->trace, &options->gantt_svg, &options->memory_svg})
      check_output(*path);
  } else if (const auto* search = std::get_if<SearchOptions>(&invocation.command)) {
    check_output(search->html);
  } else if (const auto* report = std::get_if<ReportOptions>(&invocation.command)) {
    check_output(report->html);
  } else if (const auto* validation = std::get_if<ValidateOptions>(&invocation.command)) {
    check_output(validation->html);
  } else if (const auto* calibration = std::get_if<CalibrateOptions>(&invocation.command)) {
    check_output(calibration->out);
  } else if (const auto* oracle = std::get_if<OracleOptions>(&invocation.command)) {
    check_output(oracle->save);
  }
}

ExitCode run_here(const Invocation& invocation) {
  const CommonOptions& common = invocation.common;
  check_outputs(invocation);
  const bool to_file = goes_to_file(common);
  const Outcome outcome =
      std::visit(Runner{common, detect_style(common.colour, to_file)}, invocation.command);
  if (!outcome.must_end) {
    deliver(common, to_file, outcome);
    return outcome.code;
  }
  ExitCode code = outcome.code;
  try {
    deliver(common, to_file, outcome);
  } catch (const presets::InputError& error) {
    fmt::print(stderr, "hexaplan: {}\n", error.what());
    code = ExitCode::UnusableInput;
  }
  std::fflush(nullptr);
  _exit(static_cast<int>(code));
}

}  // namespace

ExitCode run(const Invocation& invocation) {
  const auto* execution = std::get_if<ExecuteOptions>(&invocation.command);
  if (execution == nullptr || !wants_supervisor(*execution)) return run_here(invocation);
  // A rank that is killed cannot say so: its parent does.
  return static_cast<ExitCode>(
      validator::run_supervised([&] { return static_cast<int>(run_here(invocation)); },
                                [&](const validator::RankDeath& death) {
                                  report_death(*execution, death);
                                  return static_cast<int>(ExitCode::RankFailed);
                                }));
}

}  // namespace hexaplan::cli
