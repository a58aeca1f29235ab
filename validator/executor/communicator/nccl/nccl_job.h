#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "validator/executor/communicator/bootstrap/bootstrap_error.h"
#include "validator/executor/communicator/bootstrap/store.h"
#include "validator/executor/communicator/communicator.h"
#include "validator/executor/communicator/nccl/nccl_functions.h"
#include "validator/executor/communicator/rank_fault.h"
#include "validator/executor/communicator/run_ranks.h"
#include "validator/executor/device/device.h"

namespace hexaplan::validator {

/// A point in a stream; given back with its last owner.
using StreamMark = std::shared_ptr<void>;

/// One way between two ranks: messages in the order in which they are sent. A communicator and a stream of
/// its own, so that a message that nobody takes yet holds up nothing else. NcclJob's mutex guards it.
struct Edge {
  /// A copy of what is sent: the sender goes on.
  struct Parcel {
    Tensor copy;
    StreamMark ready;  // the copy is made
    StreamMark sent;
    std::int64_t elements = 0;
    int type = 0;
    bool taken = false;  // the rank's thread may free it
  };
  std::string name;
  void* communicator = nullptr;
  void* stream = nullptr;
  bool open = false;     // NCCL has made the communicator
  bool handing = false;  // NCCL is taking the front of `queued`
  std::deque<Parcel> queued, sent;
};

/// One rank's part in a job of GPUs: hands work to NCCL, watches it, and hears of other ranks' faults.
///
/// The host never waits for the GPU here. A watcher thread asks after everything that is on the streams: what
/// is not done when the time-out is over, what NCCL reports, and what another rank wrote into the store ends
/// the job; then it aborts this rank's communicators, so that the rank's own thread comes back from wherever
/// it waits for the GPU and hears of the fault in its next call.
class NcclJob {
 public:
  NcclJob(const HexaplanNccl& nccl, const RankOptions& options, int rank, const Address& at,
          const StoreJob& job);
  ~NcclJob();
  NcclJob(const NcclJob&) = delete;
  NcclJob& operator=(const NcclJob&) = delete;

  [[nodiscard]] const HexaplanNccl& nccl() const { return nccl_; }
  [[nodiscard]] int rank() const { return rank_; }

  /// The rank's thread and the watcher work on the device of `stream` from now on. Throws std::runtime_error.
  void adopt(void* stream);

  /// The rank enters a call: what faults name. Throws RankFault when the job is over.
  void begin_call(const Call& call, std::string_view what);
  void end_call();
  /// `start` gives NCCL something to do for `communicator`; returns when NCCL has taken it.
  void hand_over(void* communicator, const std::function<int()>& start);
  /// A new communicator, ready for use; nullptr when `make` makes none on purpose. Aborted with the job.
  [[nodiscard]] void* open(const std::function<void*()>& make);
  void release(void* communicator);
  [[nodiscard]] StreamMark mark(void* stream);
  /// The same with its time, for HexaplanNccl::between.
  [[nodiscard]] StreamMark timed_mark(void* stream);
  /// Ends the job when the GPU has not passed `mark` within the time-out.
  void watch(const StreamMark& mark);

  /// The way to or from a rank under this name, made when it is first asked for. Does not wait.
  [[nodiscard]] Edge& edge(const std::string& name, bool outgoing);
  void send(Edge& edge, Edge::Parcel parcel);
  /// Waits until the other side has come.
  void wait_until_open(Edge& edge);
  /// Frees copies that have left. `all`: waits for them and ends the edges whose names begin with `prefix`.
  void free_sent(std::string_view prefix, bool all);

  /// Control, over the store. Throw RankFault.
  [[nodiscard]] std::vector<Blob> meet(const std::string& name, int index, int size,
                                       std::span<const std::byte> mine);
  void publish(const std::string& key, std::span<const std::byte> value);
  [[nodiscard]] Blob look_up(const std::string& key);

  /// Ends the job on every rank, unless it is over already.
  void fail(FaultCause cause, int rank, const std::string& reason, std::optional<StepPlace> place = {});
  [[nodiscard]] std::optional<Fault> fault();
  [[noreturn]] void throw_fault();

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;
  struct Outstanding {
    StreamMark mark;
    Clock::time_point since;
    LastCall call;
  };

  [[nodiscard]] StreamMark owned(void* made);
  void throw_if_over();
  [[nodiscard]] int start_call(const std::function<int()>& start);
  /// With the lock held; it is given up for a moment.
  void nap(Lock& lock);
  void declare(Fault fault);
  void declare(FaultCause cause, int rank, std::string reason, std::optional<StepPlace> place = {});
  /// With the lock held: NCCL failed. A rank that another one's abort reaches sees that as well, so the
  /// watcher asks first whether somebody has told of a fault.
  void suspect_nccl();
  /// The same of the rank's thread, which has nothing to go on with. Throws RankFault when that is known.
  [[noreturn]] void end_by_nccl(Lock& lock);
  /// Gives the lock up to ask; afterwards there is a fault.
  void settle_suspicion(Lock& lock);
  void abort_all();
  template <class Talk>
  auto talk(const Talk& with_store);

  void watch_streams();
  void look_at_streams();
  void move_parcels();
  bool move_first(Edge& edge);
  [[nodiscard]] bool has_left(const Edge::Parcel& parcel) const;
  void wait_until_left(Edge& edge, Lock& lock, Clock::time_point deadline);
  [[nodiscard]] std::list<Edge> take_edges(std::string_view prefix);
  void hear_of_faults(Lock& lock);
  void tell_of_fault(Lock& lock);

  const HexaplanNccl& nccl_;
  RankOptions options_;
  int rank_;
  Store store_, notices_;  // of the rank's thread, of the watcher

  std::mutex mutex_;
  std::condition_variable wake_;
  LastCall last_;
  std::optional<Fault> fault_;
  std::optional<Clock::time_point> starting_;  // the rank's thread is inside NCCL
  std::optional<std::string> suspicion_;       // what NCCL said, until the watcher has asked
  bool told_ = false, aborted_ = false, stops_ = false;
  std::list<void*> communicators_;
  std::list<Edge> edges_;
  std::deque<Outstanding> outstanding_;
  void* stream_ = nullptr;
  std::thread watcher_;
};

}  // namespace hexaplan::validator
