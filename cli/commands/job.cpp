#include "cli/commands/job.h"

#include "presets/json/input_error.h"
#include "validator/executor/communicator/bootstrap/bootstrap_error.h"

namespace hexaplan::cli {

std::optional<validator::JobPlace> job_of_several(const JobOptions& job) {
  try {
    auto place = validator::find_job_place(launch_flags(job), validator::process_environment());
    return place && place->processes > 1 ? place : std::nullopt;
  } catch (const validator::BootstrapError& error) {
    throw presets::InputError{
        {.field = "the job", .value = "one process of several", .expected = error.what()}};
  }
}

}  // namespace hexaplan::cli
