#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "presets/scenario/scenario_request.h"
#include "validator/executor/communicator/bootstrap/launcher.h"
#include "validator/measure/compare/validation.h"

namespace hexaplan::cli {

/// What the scenarios run on, and what predicts it.
struct Hardware {
  std::string gpu;                         // preset
  int count = 1;                           // that plans are for
  int linked = 0;                          // GPUs here, or processes of a job, that can be ranks over NCCL
  std::optional<validator::JobPlace> job;  // this process among several, each with a GPU of its own
  bool speaks = true;                      // false: another process of the job does
  bool known = false;                      // the preset is of this very hardware, so its curves may predict
  std::vector<std::string> notes;          // what somebody should know about it
};
/// --gpu, or the first GPU that the device sees. InputError when the device is not there, or its GPU is no
/// preset.
[[nodiscard]] Hardware find_hardware(const ValidateOptions& options);

/// What the ranks of a scenario are: --ranks, else GPUs over NCCL where there is one for each, else threads
/// that share what there is.
[[nodiscard]] std::string ranks_of(const ValidateOptions& options, const Hardware& hardware,
                                   const costmodel::Scenario& scenario);

/// A scenario that is to run, not yet looked up.
struct AskedScenario {
  std::string name;
  validator::ScenarioUse use = validator::ScenarioUse::Unknown;
  bool solo = false;
  std::string framework;  // that was asked about where it is another than the executor's profile
  presets::ScenarioRequest request;
};
/// From --scenario, --list, --top or the question itself; on `hardware` unless a scenario names its cluster.
/// In a job those of process 0, on all processes.
[[nodiscard]] std::vector<AskedScenario> scenarios_to_validate(const ValidateOptions& options,
                                                               const Hardware& hardware);

}  // namespace hexaplan::cli
