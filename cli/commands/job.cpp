#include "cli/commands/job.h"

#include <chrono>
#include <span>
#include <thread>

#include "presets/json/input_error.h"
#include "validator/executor/communicator/bootstrap/bootstrap_error.h"
#include "validator/executor/communicator/bootstrap/store.h"

namespace hexaplan::cli {

using presets::InputError;
using validator::Blob;
using validator::JobPlace;
using validator::Store;

namespace {

/// Keys of the store, and the meeting after which process 0 may close it.
constexpr const char *kDecision = "decision", *kProblem = "problem", *kHeard = "all have heard";
/// Between looks whether process 0 has decided.
constexpr std::chrono::milliseconds kLook{50};

[[nodiscard]] InputError no_job(const std::string& why) {
  return InputError{{.field = "the job", .value = "one process of several", .expected = why}};
}

/// In process 0, which tells the others of the InputError that it throws.
std::string decide_for_all(const JobPlace& place, Store& store, const std::function<std::string()>& decide) {
  const auto tell = [&](const char* key, const std::string& text) {
    store.set(key, std::as_bytes(std::span{text}));
    store.meet(kHeard, place.process, place.processes, {});
  };
  std::string decision;
  try {
    decision = decide();
  } catch (const InputError& error) {
    tell(kProblem, error.what());
    throw;
  }
  tell(kDecision, decision);
  return decision;
}

/// Elsewhere. Process 0 answers, or its end is seen, however long it takes to decide.
std::string hear(const JobPlace& place, Store& store) {
  const auto text_at = [&](const char* key) -> std::optional<std::string> {
    const std::optional<Blob> found = store.find(key);
    if (!found) return std::nullopt;
    std::string text;
    for (const std::byte byte : *found) text += static_cast<char>(byte);
    return text;
  };
  while (true) {
    const auto decision = text_at(kDecision);
    const auto problem = decision ? std::nullopt : text_at(kProblem);
    if (decision || problem) store.meet(kHeard, place.process, place.processes, {});
    if (decision) return *decision;
    if (problem) throw no_job("what process 0 can use: " + *problem);
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace

std::optional<JobPlace> job_of_several(const JobOptions& job) {
  try {
    auto place = validator::find_job_place(launch_flags(job), validator::process_environment());
    return place && place->processes > 1 ? place : std::nullopt;
  } catch (const validator::BootstrapError& error) {
    throw no_job(error.what());
  }
}

std::string decided_by_process_0(const JobPlace& place, costmodel::Seconds timeout, const std::string& what,
                                 const std::function<std::string()>& decide) {
  const validator::StoreJob job{place.job, place.processes, what};
  try {
    if (place.process != 0) {
      Store store{place.meeting, job, place.process, timeout};
      return hear(place, store);
    }
    const validator::StoreServer server{job, place.meeting.port};
    Store store{{"127.0.0.1", server.port()}, job, 0, timeout};
    return decide_for_all(place, store, decide);
  } catch (const validator::BootstrapError& error) {
    throw no_job(error.what());
  }
}

}  // namespace hexaplan::cli
