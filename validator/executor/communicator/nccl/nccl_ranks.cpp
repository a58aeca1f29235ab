#include "validator/executor/communicator/nccl/nccl_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "validator/executor/communicator/bootstrap/bootstrap_error.h"
#include "validator/executor/communicator/bootstrap/store.h"
#include "validator/executor/communicator/nccl/nccl_communicator.h"
#include "validator/executor/communicator/rank_fault.h"

namespace hexaplan::validator {
namespace {

/// Ranks of this process: who has ended, and the first fault.
class LocalRanks {
 public:
  explicit LocalRanks(int ranks) : running_{ranks} {}

  void end(std::optional<RankFault> fault) {
    const std::scoped_lock lock{mutex_};
    if (fault && !fault_) fault_ = std::move(fault);
    --running_;
    ended_.notify_all();
  }
  /// True: all have ended; false: a fault's grace is over.
  [[nodiscard]] bool wait(costmodel::Seconds grace) {
    std::unique_lock lock{mutex_};
    ended_.wait(lock, [&] { return running_ == 0 || fault_; });
    return ended_.wait_for(lock, std::chrono::duration<double>{grace.value()}, [&] { return running_ == 0; });
  }
  [[nodiscard]] std::optional<RankFault> fault() {
    const std::scoped_lock lock{mutex_};
    return fault_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  int running_;
  std::optional<RankFault> fault_;
};

/// The fault that a rank's error ends the job with: another rank's that came first, or its own.
RankFault fault_of(NcclJob& job, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const RankFault& fault) {
    return fault;
  } catch (const std::exception& known) {
    job.fail(FaultCause::Threw, job.rank(), known.what(), place_of(error));
  } catch (...) {
    job.fail(FaultCause::Threw, job.rank(), "an error of unknown type");
  }
  RankFault fault{*job.fault()};
  if (fault.fault.rank == job.rank()) fault.original = error;
  return fault;
}

/// What every rank of this process knows of the job.
struct Job {
  const HexaplanNccl& nccl;
  RankOptions options;
  Address at;
  StoreJob store;
};

void run_rank(const Job& job, int rank, const RankProgram& program) {
  const auto self = std::make_shared<NcclRank>(job.nccl, job.options, rank, job.at, job.store);
  try {
    std::vector<int> ranks(static_cast<std::size_t>(job.options.ranks));
    std::iota(ranks.begin(), ranks.end(), 0);
    NcclCommunicator world{
        self, "world", rank, std::move(ranks), costmodel::Group::World, std::make_shared<Traffic>(), nullptr};
    program(world);
    world.use(nullptr);
    world.barrier("end of the run");
  } catch (...) {
    throw fault_of(self->job, std::current_exception());
  }
  if (self->job.fault()) self->job.throw_fault();
}

std::optional<RankFault> fault_of_rank(const Job& job, int rank, const RankProgram& program) {
  try {
    run_rank(job, rank, program);
    return std::nullopt;
  } catch (const RankFault& fault) {
    return fault;
  } catch (const std::exception& error) {  // before there was a job
    RankFault fault{
        {.cause = FaultCause::Threw, .rank = rank, .call = {.rank = rank}, .reason = error.what()}};
    fault.original = std::current_exception();
    return fault;
  }
}

}  // namespace

const NcclLibrary& find_nccl() {
  static const NcclLibrary library = [] {
    prepare_cuda_environment();
    return load_functions<HexaplanNccl>("hexaplan_nccl", kHexaplanNcclVersion);
  }();
  return library;
}

int NcclRanks::gpus_of_process(int ranks) const {
  if (options_.gpus > 0) return options_.gpus;
  return options_.place ? 1 : ranks;
}

int NcclRanks::fixed_ranks() const {
  if (options_.place) return options_.place->processes * gpus_of_process(1);
  return options_.gpus;
}

int NcclRanks::first_local_rank() const {
  return options_.place ? options_.place->process * gpus_of_process(1) : 0;
}

bool NcclRanks::holds(int world_rank) const {
  if (!options_.place) return true;
  return world_rank >= first_local_rank() && world_rank < first_local_rank() + gpus_of_process(1);
}

int NcclRanks::gpu_of(int world_rank) const {
  const int first = options_.place ? options_.place->local_process * gpus_of_process(1) : 0;
  return first + world_rank - first_local_rank();
}

void NcclRanks::run(const RankOptions& options, const RankProgram& program) {
  const int gpus = gpus_of_process(options.ranks);
  const JobPlace place = options_.place.value_or(JobPlace{.launcher = "alone", .job = "alone"});
  if (place.processes * gpus != options.ranks) {
    throw BootstrapError{fmt::format("the layout has {} ranks, the job {} process{} of {} GPU{}",
                                     options.ranks, place.processes, place.processes == 1 ? "" : "es", gpus,
                                     gpus == 1 ? "" : "s")};
  }
  if (const int there = nccl_.gpus(); there < gpus) {
    throw BootstrapError{fmt::format(
        "{} GPU{} found, {} needed: NCCL wants one per rank; --ranks threads puts several ranks on one "
        "GPU, --ranks solo measures one rank of many",
        there, there == 1 ? "" : "s", gpus)};
  }
  Job job{.nccl = nccl_,
          .options = options,
          .at = place.meeting,
          .store = {place.job, options.ranks, options.run}};
  std::optional<StoreServer> server;
  if (place.process == 0) {
    server.emplace(job.store, place.meeting.port);
    job.at = {"127.0.0.1", server->port()};
  }
  const auto ranks = std::make_shared<LocalRanks>(gpus);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(gpus));
  // Copies: a rank that hangs is left behind.
  for (int i = 0; i < gpus; ++i) {
    threads.emplace_back([job, ranks, &program, rank = place.process * gpus + i] {
      ranks->end(fault_of_rank(job, rank, program));
    });
  }
  const bool all_ended = ranks->wait(options.grace);
  for (std::thread& thread : threads) all_ended ? thread.join() : thread.detach();
  if (std::optional<RankFault> fault = ranks->fault()) {
    fault->ranks_left_behind = !all_ended;
    throw std::move(*fault);
  }
}

}  // namespace hexaplan::validator
