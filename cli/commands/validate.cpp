#include "cli/commands/validate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/commands/execute.h"
#include "cli/commands/question.h"
#include "cli/commands/validation_questions.h"
#include "costmodel/units/format_units.h"
#include "presets/json/input_error.h"
#include "presets/scenario/recompute_text.h"
#include "validator/backends/backends.h"

namespace hexaplan::cli {

using validator::ExecutionReport;
using validator::Outcome;
using validator::ValidatedScenario;
using validator::ValidationQuestion;

namespace {

using Clock = std::chrono::steady_clock;

costmodel::Seconds since(Clock::time_point begin) {
  return costmodel::Seconds{std::chrono::duration<double>(Clock::now() - begin).count()};
}

/// "8b-4-layers, tp2 sp, 4096 tokens, micro-batch 1, global batch 2, recompute full".
std::string title_of(const costmodel::Scenario& s) {
  const std::string layout = to_layout_text(presets::LayoutRequest{s.layout, true});
  std::string title = fmt::format("{}, {}, {} tokens, micro-batch {}, global batch {}", s.model.name,
                                  layout.empty() ? "dp1" : layout, s.recipe.sequence, s.recipe.micro_batch,
                                  s.recipe.global_batch);
  if (s.recipe.recompute != costmodel::Recompute{})
    title += ", recompute " + presets::to_recompute_text(s.recipe.recompute);
  return title;
}

/// What one run of a scenario gave: a report, or why there is none.
struct OneRun {
  Outcome outcome = Outcome::Measured;
  std::string reason;
  ExecutionReport report;
};

class Validation {
 public:
  Validation(const ValidateOptions& options, bool quiet) : options_{options}, quiet_{quiet} {}

  ValidateReport run() {
    hardware_ = find_hardware(options_);
    report_.device = options_.device;
    report_.hardware = hardware_.gpu;
    report_.steps = options_.steps;
    report_.warm_up = options_.warm_up;
    if (!hardware_.note.empty()) report_.notes.push_back(hardware_.note);
    const std::vector<AskedScenario> asked = scenarios_to_validate(options_, hardware_);
    total_ = asked.size();
    for (const AskedScenario& scenario : asked) {
      report_.scenarios.push_back(validate(scenario));
      tell();
    }
    report_.elapsed = since(begin_);
    return std::move(report_);
  }

 private:
  ValidatedScenario validate(const AskedScenario& asked) {
    ValidationQuestion question{.name = asked.name, .use = asked.use, .solo = asked.solo};
    presets::ResolvedScenario resolved = resolve_request(asked.request, options_.question);
    question.scenario = std::move(resolved.scenario);
    question.memory_limit = costmodel::Bytes{static_cast<double>(options_.memory_limit)};
    question.title = title_of(question.scenario);
    if (compares_time(question)) {
      const presets::ClusterCalibration found =
          presets::calibration_for(asked.request, question.scenario.cluster);
      found.apply_to(question.scenario.framework);
      question.calibration = found.calibration;
      report_.calibration = question.calibration->name;
    }
    if (options_.budget > 0 && since(begin_).value() > options_.budget) {
      return without_measurement(question, Outcome::NotRun,
                                 fmt::format("the budget of {} s was spent", options_.budget));
    }
    const std::vector<int> ranks =
        asked.solo ? validator::ranks_worth_running(question.scenario) : std::vector<int>{-1};
    std::vector<ExecutionReport> runs;
    for (const int rank : ranks) {
      tell_begin(asked.name, rank);
      OneRun run = run_once(asked, rank);
      if (run.outcome != Outcome::Measured)
        return without_measurement(question, run.outcome, std::move(run.reason));
      runs.push_back(std::move(run.report));
    }
    return compare_runs(question, runs);
  }

  /// Ranks that share a processor say nothing of the time of ranks that do not.
  [[nodiscard]] bool compares_time(const ValidationQuestion& question) const {
    return hardware_.known &&
           (question.solo || question.scenario.layout.world_size() == 1 || options_.ranks != "threads");
  }

  /// `solo_rank` −1: all ranks.
  OneRun run_once(const AskedScenario& asked, int solo_rank) const {
    ExecuteOptions run{.question = options_.question};
    run.question.scenario.clear();
    run.steps = options_.steps;
    run.warm_up = options_.warm_up;
    run.device = options_.device;
    run.dtype = options_.dtype;
    if (run.dtype.empty()) run.dtype = name_of(validator::elements_of_device(run.device).front());
    run.ranks = solo_rank >= 0 ? "solo" : options_.ranks;
    run.solo_rank = std::max(solo_rank, 0);
    run.memory_limit = options_.memory_limit;
    run.noise = true;
    try {
      ExecutionResult result = run_execution(run, asked.request, true);
      if (result.rejected) {
        const bool memory = result.rejected->rule == "fits-in-memory";
        return {memory ? Outcome::OutOfMemory : Outcome::NotRun, result.rejected->reason, {}};
      }
      if (result.report.fault) {
        return {result.out_of_memory ? Outcome::OutOfMemory : Outcome::Failed,
                validator::RankFault{*result.report.fault}.what(),
                {}};
      }
      return {Outcome::Measured, {}, std::move(result.report)};
    } catch (const presets::InputError& error) {
      return {Outcome::NotRun, error.what(), {}};
    }
  }

  /// What runs now, until it is through; on a terminal.
  void tell_begin(const std::string& name, int solo_rank) const {
    if (quiet_ || isatty(STDERR_FILENO) == 0) return;
    fmt::print(stderr, "\r\x1b[K{}/{} {}: running{}", report_.scenarios.size() + 1, total_, name,
               solo_rank >= 0 ? fmt::format(" rank {}", solo_rank) : "");
    std::fflush(stderr);
  }

  /// One line of what the last scenario gave.
  void tell() const {
    if (quiet_) return;
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K");
    const ValidatedScenario& s = report_.scenarios.back();
    std::string what{name_of(s.outcome)};
    if (s.step) {
      what = fmt::format("step {} measured, {} predicted",
                         costmodel::format_duration(costmodel::Seconds{s.step->measured}),
                         costmodel::format_duration(costmodel::Seconds{s.step->predicted}));
    }
    if (!s.reason.empty()) what += ": " + s.reason;
    fmt::print(stderr, "{}/{} {}: {}\n", report_.scenarios.size(), total_, s.name, what);
    std::fflush(stderr);
  }

  const ValidateOptions& options_;
  bool quiet_;
  Clock::time_point begin_ = Clock::now();
  std::size_t total_ = 0;
  Hardware hardware_;
  ValidateReport report_;
};

}  // namespace

bool ValidateReport::any_measured() const {
  return std::any_of(scenarios.begin(), scenarios.end(),
                     [](const ValidatedScenario& s) { return s.outcome == Outcome::Measured; });
}

ValidateReport run_validate(const ValidateOptions& options, bool quiet) {
  return Validation{options, quiet}.run();
}

}  // namespace hexaplan::cli
