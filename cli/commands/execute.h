#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/spec/verdict.h"
#include "presets/scenario/scenario_request.h"
#include "validator/executor/backends/backends.h"
#include "validator/executor/communicator/mpi/supervisor.h"
#include "validator/executor/report/execution_report.h"

namespace hexaplan::cli {

/// The framework profile that predicts the executor.
inline constexpr const char* kExecutor = "hexaplan";

/// What a run is about: the same before, while and after it runs.
struct ExecutionQuestion {
  presets::ScenarioRequest request;
  costmodel::Scenario scenario;  // as executed
  std::vector<std::string> notes;
  std::string device, dtype, ranks;
  /// What the device computes in, where that is not what the plan says; empty where it is.
  std::string arithmetic;
  bool shrunk = false;
  std::int64_t first_step = 0;  // of the checkpoint it went on from
  std::uint64_t seed = 1;
};

struct ExecutionResult {
  ExecutionQuestion question;
  std::optional<costmodel::Rejected> rejected;  // cannot run; nothing was executed
  validator::ExecutionReport report;
  bool out_of_memory = false;  // the fault is that
  std::string advice;          // after a fault: what it contradicts, what to do
  bool speaks = true;          // false on ranks of MPI that leave speaking to another
  int signal = 0;              // that ended it after a step
  std::string report_problem;  // why --report is not whole; empty: it is
  bool must_end = false;       // a rank could not be stopped: the process has to end at once
};

/// Executes the steps; a rank's fault is part of the result. Progress goes to stderr when that is a terminal
/// and `quiet` is not set. Files that will be written (--report, --save and `output`, the result's own) are
/// looked at before the first step. InputError when something cannot be used.
[[nodiscard]] ExecutionResult run_execution(const ExecuteOptions& options, const std::string& output,
                                            bool quiet);

/// The same of a question that is not on the command line; signals are the caller's.
[[nodiscard]] ExecutionResult run_execution(const ExecuteOptions& options,
                                            const presets::ScenarioRequest& request, bool quiet);

/// True when this process is a rank of MPI that a supervisor should watch.
[[nodiscard]] bool wants_supervisor(const ExecuteOptions& options);
/// Says how a rank's process died, on stderr and in the report on disk. In the process that watched it.
void report_death(const ExecuteOptions& options, const validator::RankDeath& death);

}  // namespace hexaplan::cli
