#pragma once
#include <optional>

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

}  // namespace hexaplan::cli
