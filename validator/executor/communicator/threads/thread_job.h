#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "validator/executor/communicator/communicator.h"
#include "validator/executor/communicator/rank_fault.h"
#include "validator/executor/communicator/run_ranks.h"
#include "validator/executor/device/device.h"

namespace hexaplan::validator {

enum class MeetingKind : std::uint8_t {
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Broadcast,
  Barrier,
  Split,
  GatherBytes
};

struct ThreadGroup;

/// What one rank brings to a meeting of its group.
struct Post {
  MeetingKind kind = MeetingKind::Barrier;
  ConstBuffer in = {};
  Buffer out = {};
  Reduction reduction = Reduction::Sum;
  int root = 0;
  std::span<const std::int64_t> send_counts = {}, receive_counts = {};
  std::span<const int> members = {};
  std::span<const std::byte> bytes = {};
  Event ready = {};  // what was computed into the buffers
  // Results.
  Event done = {};  // the buffers hold what was asked for
  std::shared_ptr<ThreadGroup> group = {};
  std::vector<std::vector<std::byte>> gathered = {};
};

/// A copy of what one rank sent, in memory of the sender's device. The job's mutex guards `state`.
struct Message {
  enum class State : std::uint8_t { UnderWay, BeingRead, Read, Gone };
  Tensor copy;
  Event ready;       // it is there
  Event copied;      // the receiver no longer needs it
  int receiver = 0;  // world rank
  State state = State::UnderWay;
};

/// Ranks of one communicator. The job's mutex guards it.
struct ThreadGroup {
  struct Mailbox {
    std::uint64_t sent = 0, awaited = 0;
    std::map<std::uint64_t, std::shared_ptr<Message>> messages;
  };
  explicit ThreadGroup(std::vector<int> world_ranks)
      : members{std::move(world_ranks)}, posts(members.size()), calls(members.size()) {}

  std::vector<int> members;  // world ranks
  std::vector<Post*> posts;
  std::vector<Call> calls;
  std::size_t arrived = 0;
  std::uint64_t meetings = 0;                              // finished ones
  bool at_work = false;                                    // the last to arrive works on everybody's buffers
  std::map<std::tuple<int, int, int>, Mailbox> mailboxes;  // from, to (in the group), tag
};

/// Why the posts of one meeting do not fit together; empty: they do.
[[nodiscard]] std::string find_mismatch(const ThreadGroup& group);
/// Puts what the posts ask for on `device`, behind what every rank's device was given before. Sums run in
/// rank order. Not needed for what moves no buffers.
void carry_out(const ThreadGroup& group, Device* device);

/// The job that all ranks of one process share: who waits where, mail, and the fault that ends it.
class ThreadJob {
 public:
  using Clock = std::chrono::steady_clock;
  explicit ThreadJob(const RankOptions& options);

  /// Returns when all members have come and the work is on the device of the last. Throws RankFault.
  void meet(ThreadGroup& group, int index, Post& post, Device* device, const Call& call);
  void send(ThreadGroup& group, int from, int to, int tag, std::shared_ptr<Message> message,
            const Call& call);
  /// Position of the next message that `to` expects.
  [[nodiscard]] std::uint64_t expect(ThreadGroup& group, int from, int to, int tag);
  /// Waits for a message of `bytes` and puts it into BeingRead.
  [[nodiscard]] std::shared_ptr<Message> receive(ThreadGroup& group, int from, int to, int tag,
                                                 std::uint64_t position, std::int64_t bytes,
                                                 const Call& call);
  /// The receiver has put its copying on its device, which will have done it at `copied`.
  void read(Message& message, Event copied);
  /// Strikes the messages that were read from `messages` and returns them.
  [[nodiscard]] std::vector<std::shared_ptr<Message>> take_read(
      std::vector<std::shared_ptr<Message>>& messages);
  /// `rank` will send and receive.
  void open(int rank);
  /// `rank` receives no more. Waits until nobody will read any of its `messages`; unread ones are Gone.
  void settle(int rank, const std::vector<std::shared_ptr<Message>>& messages);

  /// A rank's program has returned or thrown.
  void end_rank(int rank, const std::exception_ptr& error);
  /// Blocks until every rank has ended, or a fault's grace is over. True: all have.
  [[nodiscard]] bool wait_for_ranks();
  [[nodiscard]] std::optional<RankFault> fault();

 private:
  struct RankState {
    std::condition_variable wake;
    LastCall last;
    bool ended = false;
    bool settled = false;  // receives no more
  };
  using Lock = std::unique_lock<std::mutex>;

  void begin_call(int rank, const Call& call, std::string_view what);
  void throw_if_faulted() const;
  /// Ends the job, unless it has ended already.
  void declare(FaultCause cause, int rank, std::string reason, std::optional<StepPlace> place = {});
  /// Waits until `ready`, at most the time-out; gives the job up when `missing()` names ranks that have ended
  /// or never come. `busy` delays a fault while somebody works on this rank's buffers.
  template <class Ready, class Busy, class Missing>
  void wait(Lock& lock, int rank, const Ready& ready, const Busy& busy, const Missing& missing);
  void give_up(int rank, const std::vector<int>& missing);
  /// Who keeps a job waiting: of the missing ranks, then of all, one that waits for nobody.
  [[nodiscard]] int find_culprit(const std::vector<int>& missing) const;

  RankOptions options_;
  std::mutex mutex_;
  std::deque<RankState> ranks_;
  std::condition_variable ended_;
  std::condition_variable settled_;  // a message was read
  std::optional<RankFault> fault_;
  Clock::time_point fault_time_;
  int running_;
};

}  // namespace hexaplan::validator
