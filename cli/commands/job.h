#pragma once
#include <functional>
#include <optional>
#include <string>

#include "cli/options.h"
#include "validator/executor/communicator/bootstrap/launcher.h"

namespace hexaplan::cli {

/// What was said of the job on the command line.
[[nodiscard]] inline validator::BootstrapFlags launch_flags(const JobOptions& job) {
  return {.rank = job.rank, .world = job.world, .master = job.master};
}

/// This process among the several of a job; nothing: it is alone. InputError when what a launcher says is not
/// enough.
[[nodiscard]] std::optional<validator::JobPlace> job_of_several(const JobOptions& job);

/// What process 0 of a job decides, on all of its processes: `decide` runs there alone, for as long as it
/// takes. `what` names the decision, unlike those before and after it. InputError on all when `decide` throws
/// one, or process 0 cannot be reached.
[[nodiscard]] std::string decided_by_process_0(const validator::JobPlace& place, costmodel::Seconds timeout,
                                               const std::string& what,
                                               const std::function<std::string()>& decide);

}  // namespace hexaplan::cli
