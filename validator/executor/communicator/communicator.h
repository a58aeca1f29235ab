#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "costmodel/spec/layout.h"
#include "costmodel/spec/rank_grid.h"
#include "validator/executor/communicator/buffer.h"
#include "validator/executor/communicator/traffic.h"

namespace hexaplan::validator {

class Device;

/// Communication that may still be under way. Until wait() returns, buffers that are read must not change and
/// buffers that are written hold nothing of use. A host communicator may be done before it returns; a
/// device's puts an event on the stream.
class Work {
 public:
  class Pending {
   public:
    virtual ~Pending() = default;
    /// Throws RankFault.
    virtual void wait() = 0;
  };
  Work() = default;  // done
  explicit Work(std::unique_ptr<Pending> pending) : pending_{std::move(pending)} {}
  /// Idempotent. Throws RankFault when the communication cannot finish.
  void wait();

 private:
  std::unique_ptr<Pending> pending_;
};

/// What a group's communicator took of its device's memory when it was made and first used, beside what the
/// account holds.
struct CommunicatorMemory {
  costmodel::Group kind = costmodel::Group::World;
  int ranks = 0;
  std::int64_t bytes = 0;
};

/// One message of exchange(): to or from rank `peer` of the communicator.
struct Outgoing {
  int peer = 0;
  ConstBuffer data;
};
struct Incoming {
  int peer = 0;
  Buffer data;
};

/// Ranks that talk to each other. One object per rank and group; a rank calls it from one thread.
///
/// Collectives are called by every rank of the group, in the same order, with the same label, element type
/// and sizes; every implementation reports a difference that it can see as a RankFault. Results are equal on
/// all ranks and from run to run. A group of one rank copies in to out, talks to nobody and counts nothing,
/// as the operation list has nothing there.
///
/// Faults: when a rank of the *world* throws, dies, or does not arrive within the time-out, every call under
/// way and every later one throws RankFault on every other rank. Nobody waits for ever.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int rank() const { return rank_; }  // in this group, 0 … size() - 1
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] costmodel::Group kind() const { return kind_; }
  /// Of this rank, over all of its communicators.
  [[nodiscard]] const Traffic& traffic() const { return *traffic_; }
  void clear_traffic() { traffic_->clear(); }
  /// Traffic::settle.
  void settle_traffic() { traffic_->settle(); }
  /// Whether this rank speaks for the group: rank 0, or the only real one where the others are imitated.
  [[nodiscard]] virtual bool leads() const { return rank_ == 0; }

  /// Of this rank, over all of its communicators, where they keep memory of their own.
  [[nodiscard]] virtual std::vector<CommunicatorMemory> device_memory() const { return {}; }

  /// Buffers of the calls that follow are this device's memory, also in groups that are split from here on.
  /// A device's work is put on Stream::Communication behind what Stream::Compute was given so far, and
  /// Work::wait makes Compute wait for it; the host goes on. nullptr: the host's memory again; returns when
  /// messages under way no longer need the device, and does not throw. Collective over the group.
  void use(Device* device);

  /// data[i] = reduction over ranks of data[i]. In place.
  [[nodiscard]] Work all_reduce(Buffer data, Reduction reduction, const Call& call);
  /// out[i] = reduction over ranks of in[rank·n + i], n = out.elements; in has size()·n elements. `out` may
  /// be this rank's part of `in`.
  [[nodiscard]] Work reduce_scatter(ConstBuffer in, Buffer out, Reduction reduction, const Call& call);
  /// out[r·n + i] = in[i] of rank r, n = in.elements; out has size()·n elements. `in` may be this rank's part
  /// of `out`.
  [[nodiscard]] Work all_gather(ConstBuffer in, Buffer out, const Call& call);
  /// out[r·n + i] = in[rank·n + i] of rank r; both have size()·n elements and do not overlap.
  [[nodiscard]] Work all_to_all(ConstBuffer in, Buffer out, const Call& call);
  /// The same with parts of different sizes: part r of `in` has send_counts[r] elements and goes to rank r;
  /// part r of `out` has receive_counts[r] elements, which is what rank r sends here. Parts lie one behind
  /// the other. Counts in elements, one per rank.
  [[nodiscard]] Work all_to_all_v(ConstBuffer in, std::span<const std::int64_t> send_counts, Buffer out,
                                  std::span<const std::int64_t> receive_counts, const Call& call);
  /// data of rank `root` on every rank.
  [[nodiscard]] Work broadcast(Buffer data, int root, const Call& call);

  /// Messages between two ranks arrive in the order in which they were sent under the same tag; a transport
  /// without tags (NCCL) delivers those of one pass in the order in which they were sent. Never blocks
  /// on the receiver, so that no order of sends and receives deadlocks; wait() returns when `data` may
  /// change, and does not wait for the receiver either: a transport that would keeps a copy.
  [[nodiscard]] Work send(ConstBuffer data, int to, const Call& call, int tag = 0);
  /// wait() returns when `data` is there. The message must have data.elements elements. Not counted: the
  /// sender counts.
  [[nodiscard]] Work receive(Buffer data, int from, const Call& call, int tag = 0);
  /// All sends and receives at once, as a ring needs them; counted as one message with the bytes sent.
  [[nodiscard]] Work exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                              const Call& call);

  // Control: counts nothing.

  /// Returns when every rank of the group has called it.
  void barrier(std::string_view where);
  /// What every rank handed in, in rank order, on every rank; lengths may differ.
  [[nodiscard]] std::vector<std::vector<std::byte>> gather_bytes(std::span<const std::byte> mine);
  /// Communicator of `members`, ranks of this one, in this order. Collective, every rank with the list that
  /// it is in; may block. `kind` is what its traffic counts under.
  [[nodiscard]] std::unique_ptr<Communicator> split(std::span<const int> members, costmodel::Group kind);

 protected:
  Communicator(int rank, int size, costmodel::Group kind, std::shared_ptr<Traffic> traffic);
  [[nodiscard]] const std::shared_ptr<Traffic>& shared_traffic() const { return traffic_; }
  [[nodiscard]] Device* device() const { return device_; }  // nullptr: the host's memory
  /// How long the call under way takes on the device, for the account of traffic.
  void time_call(Traffic::Timing timing) { timing_ = std::move(timing); }

 private:
  // What an implementation provides; arguments are checked, size() > 1. They throw RankFault.
  virtual Work do_all_reduce(Buffer data, Reduction reduction, const Call& call) = 0;
  virtual Work do_reduce_scatter(ConstBuffer in, Buffer out, Reduction reduction, const Call& call) = 0;
  virtual Work do_all_gather(ConstBuffer in, Buffer out, const Call& call) = 0;
  virtual Work do_all_to_all_v(ConstBuffer in, std::span<const std::int64_t> send_counts, Buffer out,
                               std::span<const std::int64_t> receive_counts, const Call& call) = 0;
  virtual Work do_broadcast(Buffer data, int root, const Call& call) = 0;
  virtual Work do_send(ConstBuffer data, int to, const Call& call, int tag) = 0;
  virtual Work do_receive(Buffer data, int from, const Call& call, int tag) = 0;
  /// One after the other, unless an implementation has a better way.
  virtual Work do_exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                           const Call& call);
  virtual void do_barrier(const Call& call) = 0;
  /// By all-gathers of the host's memory, unless an implementation has a better way.
  virtual std::vector<std::vector<std::byte>> do_gather_bytes(std::span<const std::byte> mine);
  /// `index` is this rank's place among the members.
  virtual std::unique_ptr<Communicator> do_split(std::span<const int> members, int index,
                                                 costmodel::Group kind) = 0;
  /// Throws std::runtime_error when it cannot talk from and to the device's memory.
  virtual void do_use(Device* device) = 0;

  template <class Run>
  Work counted(const Call& call, costmodel::CollectiveKind kind, std::int64_t elements, const Run& run);
  Work copy(ConstBuffer from, Buffer to) const;

  int rank_;
  int size_;
  costmodel::Group kind_;
  std::shared_ptr<Traffic> traffic_;
  Device* device_ = nullptr;
  Traffic::Timing timing_;  // of the call under way
};

/// For as long as it lives, a rank's buffers lie on this device.
class DeviceInUse {
 public:
  DeviceInUse(Communicator& world, Device& device) : world_{world} { world.use(&device); }
  DeviceInUse(const DeviceInUse&) = delete;
  DeviceInUse& operator=(const DeviceInUse&) = delete;
  ~DeviceInUse() { world_.use(nullptr); }

 private:
  Communicator& world_;
};

/// The ranks of 0 … size − 1 that `belongs` accepts, as split() takes them.
template <class Belongs>
[[nodiscard]] std::vector<int> ranks_where(int size, const Belongs& belongs) {
  std::vector<int> members;
  for (int rank = 0; rank < size; ++rank) {
    if (belongs(rank)) members.push_back(rank);
  }
  return members;
}

/// This rank's group of kind `group`, in the order of costmodel::members_of. Collective over `world`, whose
/// size is layout.world_size().
[[nodiscard]] std::unique_ptr<Communicator> make_group(Communicator& world, const costmodel::Layout& layout,
                                                       costmodel::Group group);

}  // namespace hexaplan::validator
