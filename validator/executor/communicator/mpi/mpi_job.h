#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "validator/executor/communicator/communicator.h"
#include "validator/executor/communicator/mpi/mpi_functions.h"
#include "validator/executor/communicator/rank_fault.h"
#include "validator/executor/communicator/run_ranks.h"

namespace hexaplan::validator {

/// This process's part in an MPI job: waits with a time-out, hears of other ranks' faults and tells its own.
///
/// Nothing here waits inside MPI: every call starts something and polls, so that a rank that never comes is
/// noticed. A rank that gives up tells all others, collects what they were doing for as long as
/// RankOptions::grace, and throws; who hears of it answers and throws.
class MpiJob {
 public:
  MpiJob(const HexaplanMpi& mpi, const RankOptions& options);

  [[nodiscard]] const HexaplanMpi& mpi() const { return mpi_; }
  [[nodiscard]] void* world() const { return world_; }

  /// This rank enters a call: what faults name. Throws RankFault when the job is over.
  void begin_call(const Call& call, std::string_view what);
  /// Polls until `request` is done. Throws RankFault. `bytes`: of a message received.
  void finish(void* request, int* bytes = nullptr);
  void end_call();

  /// Starts to send a copy of `data`.
  void send(void* communicator, ConstBuffer data, int to, int tag);
  /// A message that is on its way into memory of its own.
  struct Incoming {
    std::vector<std::byte> bytes;
    void* request = nullptr;
  };
  [[nodiscard]] std::shared_ptr<Incoming> expect(void* communicator, std::int64_t bytes, int from, int tag);

  /// Ends the job on every rank, unless it is over already.
  [[noreturn]] void fail(FaultCause cause, int rank, const std::string& reason,
                         std::optional<StepPlace> place = {});
  [[nodiscard]] bool over() const { return fault_.has_value(); }
  /// Waits for the other ranks' ends and for what is still being sent.
  void leave();

 private:
  using Clock = std::chrono::steady_clock;
  struct Notice;
  struct Sending {
    std::vector<std::byte> bytes;
    void* request = nullptr;
  };

  void reap_sent();
  void hear();
  [[noreturn]] void time_out();
  void tell(int to, int tag, const Notice& notice);
  [[nodiscard]] std::optional<Notice> receive_notice(int tag);
  [[nodiscard]] Notice notice_of(const Fault& fault) const;
  [[nodiscard]] std::vector<LastCall> ask_others(const Notice& notice, int tag);
  [[noreturn]] void end_with(Fault fault);

  const HexaplanMpi& mpi_;
  RankOptions options_;
  void* world_;
  void* control_ = nullptr;  // a communicator of its own for notices
  int rank_, size_;
  LastCall last_;
  std::list<Sending> sending_;
  std::vector<std::shared_ptr<Incoming>> incoming_;  // kept until done: MPI may still write
  std::optional<Fault> fault_;
};

}  // namespace hexaplan::validator
