#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/question.h"
#include "cli/options.h"
#include "costmodel/step/estimate.h"
#include "presets/calibration/fabric/read_nccl_tests.h"
#include "presets/runs/device_trace.h"
#include "presets/runs/gpu_log.h"
#include "presets/runs/memory_snapshot.h"
#include "presets/runs/run_log.h"
#include "presets/runs/trace_profile.h"
#include "validator/measure/compare/validation.h"
#include "validator/measure/runs/compare_work.h"
#include "validator/measure/runs/steady_steps.h"

namespace hexaplan::cli {

/// What the times of a run's steps stand for: seconds, or the inverse of a rate where nobody said how many
/// tokens or sequences a step has.
enum class StepUnit { Step, TokenPerGpu, Sample };

/// One peak beside the ledger's.
struct ComparedPeak {
  std::optional<std::int64_t> rank;  // as the log says
  int stage = 0;
  bool reserved = false;  // else allocated
  costmodel::Bytes predicted, measured;
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

/// The log of one run, what is steady in it, and how it stands beside the prediction.
struct ImportedRun {
  presets::RunLog log;
  StepUnit unit = StepUnit::Step;
  std::vector<validator::TimedStep> timed;       // by log.steps, those that say a time
  std::vector<std::size_t> logged;               // which of log.steps each is
  validator::SteadySteps steady;                 // indices into `timed`
  std::optional<validator::ComparedTotal> step;  // seconds
  std::vector<ComparedPeak> peaks;
  std::vector<std::string> notes;
};

/// The trace of one rank: where its steps go, and how its kernels stand beside the prediction's operations.
struct ImportedTrace {
  presets::DeviceTrace trace;  // without its kernels
  presets::TraceProfile profile;
  std::optional<validator::SteadySteps> steady;  // of its steps
  std::optional<validator::ComparedTotal> step;  // seconds
  int stage = 0;
  std::optional<validator::ComparedWork> work;
  std::vector<std::string> notes;
};

/// The allocator's snapshot of one process, and its peaks beside the ledger's of the fullest stage.
struct ImportedSnapshot {
  presets::MemorySnapshot snapshot;
  std::vector<std::vector<ComparedPeak>> peaks;  // by device
};

/// What nvidia-smi logged beside a run, and the fullest GPU beside the fullest stage.
struct ImportedGpuLog {
  presets::GpuLog log;
  struct Memory {
    costmodel::Bytes predicted, measured;
    [[nodiscard]] double error() const { return predicted / measured - 1; }
  };
  std::optional<Memory> memory;
};

/// A table of nccl-tests, and each of its sizes beside what the cost model takes for it on the question's
/// machines.
struct ImportedLinks {
  struct Size {
    costmodel::Bytes payload;
    costmodel::Seconds measured;  // out of place and in place: their mean
    std::optional<costmodel::Seconds> predicted;
    [[nodiscard]] double error() const { return *predicted / measured - 1; }
  };
  std::string file;
  presets::NcclTest test;
  std::vector<Size> sizes;
  std::vector<std::string> notes;
};

struct MeasureReport {
  std::optional<Question> question;  // nothing: nobody said what ran
  std::optional<costmodel::Estimate> estimate;
  std::vector<ImportedRun> runs;
  std::vector<ImportedTrace> traces;
  std::vector<ImportedSnapshot> snapshots;
  std::vector<ImportedGpuLog> gpu_logs;
  std::vector<ImportedLinks> links;

  /// A question whose layout no rule rejected.
  [[nodiscard]] bool priced() const { return estimate && !estimate->stages.empty(); }
};

/// Reads logs, traces, memory snapshots, tables of nccl-tests and what nvidia-smi logged, and holds them
/// against the prediction of the question, where one is asked: by flags, a scenario or launch files, or by
/// the arguments that Megatron-LM lists in its log, with --cluster. InputError when a file cannot be used.
[[nodiscard]] MeasureReport run_measure(const MeasureOptions& options);

}  // namespace hexaplan::cli
