#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/step/estimate.h"
#include "validator/executor/report/execution_report.h"

namespace hexaplan::validator {

/// Whether a scenario's measurement may have been used for fitting what predicts it.
enum class ScenarioUse : std::uint8_t { Unknown, Fitted, HeldOut };
/// What came of a scenario.
enum class Outcome : std::uint8_t { Measured, OutOfMemory, Failed, NotRun };
/// "measured", "out of memory", "failed", "not run".
[[nodiscard]] std::string_view name_of(Outcome outcome);
/// "", "fitted", "held out".
[[nodiscard]] std::string_view name_of(ScenarioUse use);

/// What a term speaks of.
enum class TermGroup : std::uint8_t { Phase, Kind, Communication, Memory };
inline constexpr int kTermGroups = 4;
/// By TermGroup, in reports.
inline constexpr std::array<std::string_view, kTermGroups> kTermGroupKeys{"phase", "kind", "messages",
                                                                          "memory"};

/// One figure predicted and measured, of one rank: seconds of a step, or bytes at the peak.
struct ComparedTerm {
  TermGroup group = TermGroup::Phase;
  std::string name;
  double predicted = 0, measured = 0;
  /// Of messages that the device timed: bytes per second as nccl-tests count them on the bus; 0: not known.
  double bus_rate = 0;
  /// predicted/measured − 1; nothing where nothing was measured.
  [[nodiscard]] std::optional<double> error() const {
    return measured > 0 ? std::optional{predicted / measured - 1} : std::nullopt;
  }
};

/// A figure of the whole scenario with its predicted interval.
struct ComparedTotal {
  double predicted = 0, measured = 0;
  costmodel::Interval interval;  // 90 %
  [[nodiscard]] double error() const { return predicted / measured - 1; }
  [[nodiscard]] bool inside() const { return interval.low <= measured && measured <= interval.high; }
};

/// One rank of which terms are shown: of the stage that takes longest, and of the one that has most memory.
struct ComparedRank {
  int rank = 0, stage = 0;
  std::vector<ComparedTerm> terms;
};

/// What every rank of a job took, beside the others.
struct RankSummary {
  int rank = 0, stage = 0;
  std::string host, device;
  costmodel::Seconds step;       // median of its own
  costmodel::Seconds computing;  // in a step whose calls were timed; 0: none was
  std::int64_t peak_bytes = 0;
};

/// What another framework is predicted to take for the same scenario, as its profile has it.
struct OtherPrediction {
  std::string framework;
  costmodel::Seconds step;
  costmodel::Bytes device;  // of the fullest GPU
};

/// One scenario, predicted and measured.
struct ValidatedScenario {
  std::string name;   // of the list; else its layout
  std::string title;  // model, layout, batch
  ScenarioUse use = ScenarioUse::Unknown;
  Outcome outcome = Outcome::NotRun;
  std::string reason;  // unless measured: why
  bool solo = false;   // ranks were imitated: the step is measured compute + modelled messages
  bool predicted_to_fit = true;
  std::int64_t gpus = 1;                 // of the scenario
  std::int64_t steps = 0;                // that the median is of
  std::optional<ComparedTotal> step;     // seconds; nothing where the hardware is not calibrated
  std::optional<ComparedTotal> memory;   // bytes that the step allocated on the fullest rank
  std::optional<OtherPrediction> other;  // of the framework that was asked about
  costmodel::Seconds measured_step;      // as run, whatever it says; solo: of the slowest rank looked at
  costmodel::Seconds measured_compute;   // solo: of the stage that computes longest …
  costmodel::Seconds modelled_messages;  // … and what was added to it
  double mfu = 0;                        // measured; 0 where the peak is not known
  std::vector<ComparedRank> ranks;       // the slowest and, where that is another, the fullest
  std::vector<RankSummary> all_ranks;    // that ran
  std::vector<DeviceFact> facts;         // of the slowest's device
};

/// A framework that is asked about, which the executor does not imitate.
struct OtherFramework {
  std::string name;
  costmodel::Scenario scenario;  // in its profile
  costmodel::Calibration calibration;
};

/// What is known before a scenario runs.
struct ValidationQuestion {
  std::string name, title;
  ScenarioUse use = ScenarioUse::Unknown;
  costmodel::Scenario scenario;
  /// Nothing: what the hardware is was not measured, so time is not compared.
  std::optional<costmodel::Calibration> calibration;
  std::optional<OtherFramework> other;
  bool solo = false;
  costmodel::Bytes memory_limit;  // of what a rank allocates; 0: the device's memory is the limit
};

/// Holds runs against the prediction: one run of all ranks or, solo, one of each stage's rank that was looked
/// at. Precondition: every run is complete.
[[nodiscard]] ValidatedScenario compare_runs(const ValidationQuestion& question,
                                             const std::vector<ExecutionReport>& runs);
/// A scenario that gave no measurement.
[[nodiscard]] ValidatedScenario without_measurement(const ValidationQuestion& question, Outcome outcome,
                                                    std::string reason);

/// Errors of one figure over scenarios.
struct ErrorCounts {
  std::size_t scenarios = 0;
  double mean = 0;    // of |error|
  double worst = 0;   // largest |error|
  double bias = 0;    // mean error
  double inside = 0;  // share inside the predicted interval
};
struct ValidationSummary {
  ErrorCounts step, memory;
  std::size_t fits_asked = 0, fits_right = 0;  // ran, or ran out of memory; as predicted
};
/// Of the scenarios that `use` marks; Unknown: of all.
[[nodiscard]] ValidationSummary summarise(const std::vector<ValidatedScenario>& scenarios, ScenarioUse use);

/// Ranks of a layout, one of each kind of stage: those that solo runs look at. First, last and, where there
/// are others, a middle stage; coordinates 0 on every other axis.
[[nodiscard]] std::vector<int> ranks_worth_running(const costmodel::Scenario& scenario);

}  // namespace hexaplan::validator
