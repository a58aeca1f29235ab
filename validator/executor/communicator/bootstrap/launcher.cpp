#include "validator/executor/communicator/bootstrap/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>

#include "costmodel/units/parse_number.h"
#include "validator/executor/communicator/bootstrap/bootstrap_error.h"

namespace hexaplan::validator {
namespace {

/// Ports that are made from a job's name: registered ones below Linux's range for outgoing connections, which
/// begins at 32768 (Documentation/networking/ip-sysctl.rst, ip_local_port_range).
constexpr int kFirstPort = 20000, kPorts = 12000;

/// The first of some variables that is set.
struct Variables {
  std::array<const char*, 2> names{};

  [[nodiscard]] std::optional<std::string> read(const Environment& environment) const {
    for (const char* name : names) {
      if (name == nullptr) break;
      if (auto value = environment(name)) return value;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<int> number(const Environment& environment) const {
    const auto text = read(environment);
    if (!text) return std::nullopt;
    // Slurm writes "8(x2)" for eight on each of two nodes.
    std::string_view rest = *text;
    const auto value = costmodel::take_number<int>(rest);
    if (!value || *value < 0 || !(rest.empty() || rest.front() == '('))
      throw BootstrapError{
          fmt::format("{} is \"{}\", expected a whole number >= 0: start the job again", names[0], *text)};
    return value;
  }
};

/// Where process 0 is found; an empty host: the launcher does not say.
using FindMeeting = Address (*)(const Environment& environment);

/// What a launcher tells its processes.
struct Launcher {
  const char* name;
  Variables rank, world, local_rank, local_world, job;
  FindMeeting meeting;
};

/// The agent of torchrun listens on MASTER_PORT itself (TORCHELASTIC_USE_AGENT_STORE in pytorch,
/// torch/distributed/rendezvous.py: workers are clients only), so the next port is ours.
Address next_to_master(const Environment& environment) {
  const auto host = environment("MASTER_ADDR");
  const auto port = Variables{{"MASTER_PORT"}}.number(environment);
  return host && port ? Address{*host, *port + 1} : Address{};
}
Address first_node_of_step(const Environment& environment) {
  const auto nodes = Variables{{"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}}.read(environment);
  return {nodes ? first_host(*nodes) : std::string{}, 0};
}
Address unknown(const Environment& /*environment*/) {
  return {};
}

/// In this order: what starts processes inside a Slurm job is nearer than Slurm. Slurm counts only where
/// srun started the process (a batch script is told of tasks as well, without being one). Names: torchrun's
/// docs (pytorch docs/source/elastic/run.rst), Open MPI 4.1 FAQ "Running MPI jobs" §33, MPICH's hydra
/// (pmi/pmip), Intel MPI's reference, srun(1) "OUTPUT ENVIRONMENT VARIABLES", PMIx 4 §3 (no size).
constexpr Launcher kLaunchers[] = {
    {"torchrun",
     {{"RANK"}},
     {{"WORLD_SIZE"}},
     {{"LOCAL_RANK"}},
     {{"LOCAL_WORLD_SIZE"}},
     {{"TORCHELASTIC_RUN_ID"}},
     next_to_master},
    {"Open MPI",
     {{"OMPI_COMM_WORLD_RANK"}},
     {{"OMPI_COMM_WORLD_SIZE"}},
     {{"OMPI_COMM_WORLD_LOCAL_RANK"}},
     {{"OMPI_COMM_WORLD_LOCAL_SIZE"}},
     {{"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
     unknown},
    {"MPICH or Intel MPI",
     {{"PMI_RANK"}},
     {{"PMI_SIZE"}},
     {{"MPI_LOCALRANKID", "PMI_LOCAL_RANK"}},
     {{"MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"}},
     {{"PMI_JOBID"}},
     unknown},
    {"Slurm",
     {{"SLURM_PROCID"}},
     {{"SLURM_STEP_NUM_TASKS"}},
     {{"SLURM_LOCALID"}},
     {{"SLURM_STEP_TASKS_PER_NODE"}},
     {{"SLURM_JOB_ID", "SLURM_JOBID"}},
     first_node_of_step},
};

int port_of(const std::string& job) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a: the same on every host
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return kFirstPort + static_cast<int>(hash % kPorts);
}

/// Without an address of its own a launcher's processes meet on this host, if all of them are here.
void complete_meeting(JobPlace& place, bool all_here) {
  if (place.meeting.host.empty()) {
    if (!all_here) {
      throw BootstrapError{fmt::format(
          "{} does not say on which host process 0 runs: name it with --master host:port", place.launcher)};
    }
    place.meeting.host = "127.0.0.1";
  }
  if (place.meeting.port == 0) place.meeting.port = port_of(place.job);
}

JobPlace place_by(const Launcher& launcher, int rank, int world, const BootstrapFlags& flags,
                  const Environment& environment) {
  JobPlace place{.launcher = launcher.name, .process = rank, .processes = world};
  const auto here = launcher.local_world.number(environment);
  place.local_process = launcher.local_rank.number(environment).value_or(world == 1 ? 0 : rank);
  place.job = fmt::format("{} {}", launcher.name, launcher.job.read(environment).value_or("without a name"));
  if (const auto step = environment("SLURM_STEP_ID")) place.job += "." + *step;
  place.meeting = flags.master.empty() ? launcher.meeting(environment) : Address::parse(flags.master);
  complete_meeting(place, here == world || world == 1);
  return place;
}

JobPlace place_by_flags(const BootstrapFlags& flags, const Environment& environment) {
  if (!flags.rank || !flags.world || flags.master.empty()) {
    throw BootstrapError{
        "--rank, --world and --master belong together: this process's number, how many there are, host:port "
        "of "
        "number 0"};
  }
  JobPlace place{.launcher = "--rank", .process = *flags.rank, .processes = *flags.world};
  place.local_process = Variables{{"LOCAL_RANK", "SLURM_LOCALID"}}.number(environment).value_or(0);
  place.meeting = Address::parse(flags.master);
  place.job = flags.master;
  return place;
}

}  // namespace

Address Address::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const auto fail = [&] {
    throw BootstrapError{fmt::format("\"{}\": expected host:port, such as node01:29501", text)};
  };
  if (colon == std::string_view::npos || colon == 0) fail();
  Address address;
  std::string_view host = text.substr(0, colon), port = text.substr(colon + 1);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const auto number = costmodel::parse_number<int>(port);
  if (!number || *number < 1 || *number > 65535) fail();
  address.host = host;
  address.port = *number;
  return address;
}

std::string Address::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

std::string first_host(std::string_view list) {
  std::string host;
  for (std::size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] != '[') {
      host += list[i];
      continue;
    }
    const std::size_t close = std::min(list.find(']', i), list.size());
    const std::string_view numbers = list.substr(i + 1, close - i - 1);
    host += numbers.substr(0, numbers.find_first_of("-,"));
    i = close;
  }
  return host;
}

std::optional<LocalProcesses> find_local_processes(const Environment& environment) {
  for (const Launcher& launcher : kLaunchers) {
    const auto rank = launcher.rank.number(environment), local = launcher.local_rank.number(environment);
    const auto here = launcher.local_world.number(environment);
    if (rank && local && here && *local <= *rank) return LocalProcesses{*rank - *local, *here};
  }
  return std::nullopt;
}

std::optional<JobPlace> find_job_place(const BootstrapFlags& flags, const Environment& environment) {
  std::optional<JobPlace> place;
  if (flags.rank || flags.world) {
    place = place_by_flags(flags, environment);
  } else {
    for (const Launcher& launcher : kLaunchers) {
      const auto rank = launcher.rank.number(environment), world = launcher.world.number(environment);
      if (!rank || !world) continue;
      place = place_by(launcher, *rank, *world, flags, environment);
      break;
    }
  }
  if (!place && !flags.master.empty()) {
    throw BootstrapError{
        "--master says where process 0 is, but not which this one is: add --rank and --world, or use a "
        "launcher"};
  }
  if (place && (place->process >= place->processes || place->process < 0)) {
    throw BootstrapError{fmt::format("{} says that this is process {} of {}: expected 0 to {}",
                                     place->launcher, place->process, place->processes,
                                     place->processes - 1)};
  }
  return place;
}

}  // namespace hexaplan::validator
