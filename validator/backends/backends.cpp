#include "validator/backends/backends.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "validator/communicator/mpi/mpi_ranks.h"
#include "validator/communicator/threads/thread_ranks.h"

namespace hexaplan::validator {
namespace {

/// Whether a backend works here; fills in detail and remedy.
using Probe = void (*)(BackendState& state);
using MakeRanks = std::unique_ptr<RankBackend> (*)();

struct BackendRow {
  const char* name;
  BackendRole role;
  const char* what;
  Probe probe;
  MakeRanks make_ranks;  // nullptr: a device
};

std::string processors() {
  return fmt::format("{} processors", std::max(1U, std::thread::hardware_concurrency()));
}

void probe_processor(BackendState& state) {
  state.available = true;
  state.detail = processors();
}

void probe_mpi(BackendState& state) {
  const MpiLibrary library = find_mpi();
  state.available = library.functions != nullptr;
  state.detail = state.available ? library.functions->library : library.problem;
  if (!state.available) {
    state.remedy =
        "install Open MPI (Debian: libopenmpi-dev openmpi-bin) and build again, or the package that was "
        "built "
        "with it";
  }
}

constexpr BackendRow kBackends[] = {
    {"cpu", BackendRole::Device, "float64 and float32 on the host's processors", probe_processor, nullptr},
    {"threads", BackendRole::Ranks, "ranks are threads of one process", probe_processor,
     [] { return std::unique_ptr<RankBackend>{std::make_unique<ThreadRanks>()}; }},
    {"mpi", BackendRole::Ranks, "ranks are processes on one or several hosts, started by mpirun", probe_mpi,
     [] { return make_mpi_ranks(); }},
};

}  // namespace

std::vector<BackendState> list_backends() {
  std::vector<BackendState> states;
  for (const BackendRow& row : kBackends) {
    BackendState& state =
        states.emplace_back(BackendState{.name = row.name, .role = row.role, .what = row.what});
    row.probe(state);
  }
  return states;
}

std::unique_ptr<RankBackend> make_rank_backend(std::string_view name) {
  const auto* row = std::find_if(
      std::begin(kBackends), std::end(kBackends),
      [&](const BackendRow& candidate) { return candidate.name == name && candidate.make_ranks != nullptr; });
  return row == std::end(kBackends) ? nullptr : row->make_ranks();
}

}  // namespace hexaplan::validator
