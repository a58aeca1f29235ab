#include "cli/commands/validate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "cli/commands/execute.h"
#include "cli/commands/interrupts.h"
#include "cli/commands/job.h"
#include "cli/commands/question.h"
#include "cli/commands/validation_questions.h"
#include "costmodel/units/format_units.h"
#include "presets/json/input_error.h"
#include "presets/scenario/recompute_text.h"
#include "presets/scenario/scenario_words.h"
#include "validator/executor/backends/backends.h"

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
  const std::string layout = presets::to_layout_text(s.layout);
  std::string title = fmt::format("{}, {}, {} tokens, micro-batch {}, global batch {}", s.model.name,
                                  layout.empty() ? "dp1" : layout, s.recipe.sequence, s.recipe.micro_batch,
                                  s.recipe.global_batch);
  if (s.recipe.recompute != costmodel::Recompute{})
    title += ", recompute " + presets::to_recompute_text(s.recipe.recompute);
  return title;
}

/// The words that this process was started with, as a shell reads them back.
std::string command_text() {
  std::ifstream file{"/proc/self/cmdline", std::ios::binary};
  std::string text;
  for (std::string word; std::getline(file, word, '\0');) {
    if (!text.empty()) text += ' ';
    text += presets::shell_word(word);
  }
  return text;
}

/// What one run of a scenario gave: a report, or why there is none.
struct OneRun {
  Outcome outcome = Outcome::Measured;
  std::string reason;
  ExecutionReport report;
};

/// A scenario with what is known before it runs.
struct Prepared {
  std::size_t number = 1;  // among all
  AskedScenario asked;
  ValidationQuestion question;
};

/// What was asked for, in a few words.
std::string name_of(const ValidateOptions& options, const std::vector<Prepared>& scenarios) {
  if (!options.list.empty()) return "list " + std::filesystem::path{options.list}.filename().string();
  const ValidationQuestion& first = scenarios.front().question;
  if (scenarios.size() == 1) return first.title;
  if (options.top > 0) return fmt::format("best {} plans of {}", scenarios.size(), first.scenario.model.name);
  return first.name + " and others";
}

/// Scenarios run on a thread of their own, so that a signal ends the wait for them whatever they do.
class Validation : public std::enable_shared_from_this<Validation> {
 public:
  Validation(const ValidateOptions& options, bool quiet, ReportKeeper keep)
      : options_{options}, quiet_{quiet}, keep_{std::move(keep)} {}

  ValidateReport run() {
    // Before ranks start threads of their own, which would take the signals.
    const Interrupts interrupts{[this](int signal) {
                                  const std::scoped_lock lock{wake_mutex_};
                                  signal_ = signal;
                                  wake_.notify_all();
                                },
                                AfterSignal::GoOn};
    std::thread worker{[self = shared_from_this()] { self->work(); }};
    const int signal = wait();
    if (signal != 0) {
      worker.detach();  // it keeps this object
      return stopped(signal);
    }
    worker.join();
    if (error_) std::rethrow_exception(error_);
    return std::move(report_);
  }

 private:
  /// Returns when all is done, or the signal that came before.
  int wait() {
    std::unique_lock lock{wake_mutex_};
    wake_.wait(lock, [this] { return ended_ || signal_ != 0; });
    return ended_ ? 0 : signal_;
  }

  ValidateReport stopped(int signal) {
    const std::scoped_lock lock{report_mutex_};
    stopped_ = true;
    report_.signal = signal;
    report_.must_end = true;
    report_.elapsed = since(begin_);
    for (std::size_t i = report_.finished; i < report_.scenarios.size(); ++i)
      report_.scenarios[i].reason = "stopped by " + report_.stopped_by();
    return report_;
  }

  void work() {
    try {
      const std::vector<Prepared> scenarios = prepare();
      for (const Prepared& scenario : scenarios) {
        if (!add(validate(scenario))) break;
      }
    } catch (...) {
      error_ = std::current_exception();
    }
    const std::scoped_lock lock{wake_mutex_};
    ended_ = true;
    wake_.notify_all();
  }

  std::vector<Prepared> prepare() {
    hardware_ = find_hardware(options_);
    speaks_ = hardware_.speaks;
    std::vector<Prepared> scenarios;
    for (AskedScenario& asked : scenarios_to_validate(options_, hardware_)) {
      ValidationQuestion question = question_of(asked);
      scenarios.push_back({scenarios.size() + 1, std::move(asked), std::move(question)});
    }
    const std::scoped_lock lock{report_mutex_};
    report_.speaks = speaks_;
    report_.command = command_text();
    report_.device = options_.device;
    report_.hardware = hardware_.gpu;
    report_.steps = options_.steps;
    report_.warm_up = options_.warm_up;
    report_.asked = name_of(options_, scenarios);
    report_.notes = hardware_.notes;
    for (const Prepared& scenario : scenarios) {
      const ValidationQuestion& question = scenario.question;
      if (question.calibration) report_.calibration = question.calibration->name;
      report_.scenarios.push_back(without_measurement(question, Outcome::NotRun, "its turn did not come"));
    }
    if (!stopped_ && speaks_) keep_(report_);
    return scenarios;
  }

  ValidationQuestion question_of(const AskedScenario& asked) const {
    ValidationQuestion question{.name = asked.name, .use = asked.use, .solo = asked.solo};
    presets::ResolvedScenario resolved = resolve_request(asked.request, options_.question);
    question.scenario = std::move(resolved.scenario);
    question.memory_limit = costmodel::Bytes{static_cast<double>(options_.memory_limit)};
    question.title = title_of(question.scenario);
    if (speaks_ && compares_time(question)) {  // the curves' file may be process 0's alone
      const presets::ClusterCalibration found =
          presets::calibration_for(asked.request, question.scenario.cluster);
      found.apply_to(question.scenario.framework);
      question.calibration = found.calibration;
    }
    if (question.calibration && !asked.framework.empty()) question.other = under(asked);
    return question;
  }

  /// The same scenario in the framework that was asked about.
  [[nodiscard]] validator::OtherFramework under(const AskedScenario& asked) const {
    presets::ScenarioRequest request = asked.request;
    request.framework = asked.framework;
    auto [scenario, calibration, notes, fabric] = calibrate_request(request, options_.question);
    return {asked.framework, std::move(scenario), std::move(calibration)};
  }

  /// Puts the next scenario's row into the report. False: nobody wants it any more.
  bool add(ValidatedScenario row) {
    const std::scoped_lock lock{report_mutex_};
    if (stopped_) return false;
    report_.scenarios[report_.finished++] = std::move(row);
    report_.must_end = must_end_;
    report_.speaks = speaks_;
    report_.elapsed = since(begin_);
    if (!report_.speaks) return true;
    keep_(report_);
    tell();
    return true;
  }

  ValidatedScenario validate(const Prepared& prepared) {
    const auto& [number, asked, question] = prepared;
    if (budget_is_spent(number)) {
      return without_measurement(question, Outcome::NotRun,
                                 fmt::format("the budget of {} s was spent", options_.budget));
    }
    if (asked.solo && hardware_.job) {
      return without_measurement(question, Outcome::NotRun,
                                 "a rank that runs alone is measured by one process, without a launcher");
    }
    const std::vector<int> ranks =
        asked.solo ? validator::ranks_worth_running(question.scenario) : std::vector<int>{-1};
    std::vector<ExecutionReport> runs;
    for (const int rank : ranks) {
      tell_begin(asked.name, rank);
      OneRun run = run_once(prepared, rank);
      if (run.outcome != Outcome::Measured)
        return without_measurement(question, run.outcome, std::move(run.reason));
      runs.push_back(std::move(run.report));
    }
    return compare_runs(question, runs);
  }

  /// One clock decides for all processes of a job.
  [[nodiscard]] bool budget_is_spent(std::size_t number) const {
    if (options_.budget <= 0) return false;
    const auto by_this_clock = [this] { return since(begin_).value() > options_.budget; };
    if (!hardware_.job) return by_this_clock();
    constexpr const char *kSpent = "spent", *kLeft = "left";
    return decided_by_process_0(*hardware_.job, options_.job.timeout,
                                fmt::format("the budget before scenario {}", number),
                                [&] { return by_this_clock() ? kSpent : kLeft; }) == kSpent;
  }

  /// Ranks that share a processor or a GPU say nothing of the time of ranks that do not.
  [[nodiscard]] bool compares_time(const ValidationQuestion& question) const {
    if (!hardware_.known) return false;
    return question.solo || question.scenario.layout.world_size() == 1 ||
           ranks_of(options_, hardware_, question.scenario) != "threads";
  }

  /// `solo_rank` −1: all ranks.
  OneRun run_once(const Prepared& scenario, int solo_rank) {
    ExecuteOptions run{.question = options_.question};
    run.question.scenario.clear();
    run.steps = options_.steps;
    run.warm_up = options_.warm_up;
    run.device = options_.device;
    run.dtype = options_.dtype;
    if (run.dtype.empty()) run.dtype = name_of(validator::elements_of_device(run.device).front());
    run.ranks = solo_rank >= 0 ? "solo" : ranks_of(options_, hardware_, scenario.question.scenario);
    // A thread per GPU, whatever launcher this one process has.
    run.job = options_.job;
    run.job.run = fmt::format("scenario {} of validate, {}", scenario.number, scenario.question.title);
    if (options_.ranks.empty() && run.ranks == "nccl" && !hardware_.job)
      run.gpus = static_cast<int>(scenario.question.scenario.layout.world_size());
    run.solo_rank = std::max(solo_rank, 0);
    run.memory_limit = options_.memory_limit;
    run.noise = true;
    try {
      ExecutionResult result = run_execution(run, scenario.asked.request, true);
      must_end_ = must_end_ || result.must_end;
      if (result.report.complete) speaks_ = result.speaks;
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
    if (quiet_ || !report_.speaks || isatty(STDERR_FILENO) == 0) return;
    fmt::print(stderr, "\r\x1b[K{}/{} {}: running{}", report_.finished + 1, report_.scenarios.size(), name,
               solo_rank >= 0 ? fmt::format(" rank {}", solo_rank) : "");
    std::fflush(stderr);
  }

  /// One line of what the last scenario gave.
  void tell() const {
    if (quiet_) return;
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K");
    const ValidatedScenario& s = report_.scenarios[report_.finished - 1];
    std::string what{validator::name_of(s.outcome)};
    if (s.step) {
      what = fmt::format("step {} measured, {} predicted",
                         costmodel::format_duration(costmodel::Seconds{s.step->measured}),
                         costmodel::format_duration(costmodel::Seconds{s.step->predicted}));
    }
    if (!s.reason.empty()) what += ": " + s.reason;
    fmt::print(stderr, "{}/{} {}: {}\n", report_.finished, report_.scenarios.size(), s.name, what);
    std::fflush(stderr);
  }

  const ValidateOptions options_;
  const bool quiet_;
  const ReportKeeper keep_;
  const Clock::time_point begin_ = Clock::now();

  // The worker's own, until it has ended.
  Hardware hardware_;
  bool must_end_ = false, speaks_ = true;
  std::exception_ptr error_;

  std::mutex report_mutex_;
  ValidateReport report_;  // the worker changes it with the lock held
  bool stopped_ = false;

  std::mutex wake_mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  int signal_ = 0;
};

}  // namespace

std::size_t ValidateReport::measured() const {
  return static_cast<std::size_t>(
      std::count_if(scenarios.begin(), scenarios.end(),
                    [](const ValidatedScenario& s) { return s.outcome == Outcome::Measured; }));
}

std::string ValidateReport::stopped_by() const {
  return signal == 0 ? std::string{} : std::string{name_of_signal(signal)};
}

ValidateReport run_validate(const ValidateOptions& options, bool quiet, const ReportKeeper& keep) {
  return std::make_shared<Validation>(options, quiet, keep)->run();
}

}  // namespace hexaplan::cli
