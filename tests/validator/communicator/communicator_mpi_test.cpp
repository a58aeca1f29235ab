// Runs under mpirun: every rank checks every law of the contract; what went wrong comes out on rank 0.
// `communicator_mpi_test 4 fault throw|hang|die` breaks rank 1 in the middle and says what rank 0 hears of
// it; `communicator_mpi_test 4 pieces 3` checks the laws with three elements to a call of MPI.

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/validator/communicator/communicator_conformance.h"
#include "validator/executor/communicator/mpi/mpi_ranks.h"
#include "validator/executor/communicator/mpi/supervisor.h"
#include "validator/executor/communicator/rank_fault.h"

namespace {

using namespace hexaplan::validator;

constexpr int kSkipped = 77;

/// Every law on every rank; complaints of all ranks are summed, so that all leave with the same answer.
int check_laws(RankBackend& ranks, const RankOptions& options, std::int64_t most_elements) {
  double complaints = 0;
  ranks.run(options, [&](Communicator& world) {
    for (const ConformanceCase& law : conformance_cases()) {
      // Its 200,000 elements would be as many messages.
      if (most_elements < 100 && std::string_view{law.name} == "send_before_receive") continue;
      const std::string complaint = law.check(world);
      if (!complaint.empty()) {
        std::fprintf(stderr, "%s, rank %d: %s\n", law.name, world.rank(), complaint.c_str());
        ++complaints;
      }
    }
    world.all_reduce(std::span{&complaints, 1}, Reduction::Sum, {.operation = "complaints"}).wait();
    if (world.rank() == 0) std::printf("%zu laws, %g complaints\n", conformance_cases().size(), complaints);
  });
  return complaints == 0 ? 0 : 1;
}

void break_down(std::string_view how) {
  if (how == "throw") throw std::runtime_error{"no room for logits"};
  if (how == "die") std::raise(SIGKILL);
  if (how == "hang") sleep(60);
}

int run_into_fault(RankBackend& ranks, RankOptions options, std::string_view how) {
  options.timeout = hexaplan::costmodel::Seconds{2};
  const Call call{.operation = "mlp.down", .layer = 3};
  try {
    ranks.run(options, [&](Communicator& world) {
      double value = 1;
      world.all_reduce(std::span{&value, 1}, Reduction::Sum, call).wait();
      if (world.rank() == 1) break_down(how);
      world.all_reduce(std::span{&value, 1}, Reduction::Sum, call).wait();
    });
  } catch (const RankFault& fault) {
    std::printf("fault (%s): %s\n", name_of(fault.fault.cause).c_str(), fault.what());
    std::fflush(stdout);
    _exit(6);
  }
  return 0;
}

int run(int argc, char** argv) {
  const bool in_pieces = argc > 3 && std::string_view{argv[2]} == "pieces";
  const std::int64_t most_elements = in_pieces ? std::atoi(argv[3]) : kMostMpiElements;
  const auto ranks = make_mpi_ranks(most_elements);
  if (ranks == nullptr) {
    std::printf("skipped: %s\n", find_mpi().problem.c_str());
    return kSkipped;
  }
  const RankOptions options{.ranks = argc > 1 ? std::atoi(argv[1]) : 1};
  if (argc > 3 && std::string_view{argv[2]} == "fault") return run_into_fault(*ranks, options, argv[3]);
  return check_laws(*ranks, options, most_elements);
}

}  // namespace

int main(int argc, char** argv) {
  return run_supervised([&] { return run(argc, argv); },
                        [](const RankDeath& death) {
                          std::printf("death: %s\n", death.text().c_str());
                          std::fflush(stdout);
                          return 6;
                        });
}
