#pragma once
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "validator/executor/communicator/communicator.h"
#include "validator/executor/communicator/nccl/nccl_job.h"

namespace hexaplan::validator {

/// A communicator of NCCL, with a stream on which its work runs in the order in which the rank calls it.
/// Groups of the same ranks share one: NCCL keeps buffers and connections for each.
class NcclMembers {
 public:
  /// `owns_stream`: it was made for this one.
  NcclMembers(NcclJob& job, void* handle, void* stream, bool owns_stream, std::size_t memory_row);
  ~NcclMembers();
  NcclMembers(const NcclMembers&) = delete;
  NcclMembers& operator=(const NcclMembers&) = delete;
  [[nodiscard]] void* handle() const { return handle_; }
  [[nodiscard]] void* stream() const { return stream_; }
  /// Of NcclRank::memory.
  [[nodiscard]] std::size_t memory_row() const { return memory_row_; }
  /// The first call of a kind: NCCL makes its connections with it.
  [[nodiscard]] bool is_first(std::string_view kind) { return used_.insert(kind).second; }

 private:
  NcclJob& job_;
  void *handle_, *stream_;
  bool owns_stream_;
  std::size_t memory_row_;
  std::set<std::string_view> used_;
};

/// What a rank's communicators share.
struct NcclRank {
  NcclRank(const HexaplanNccl& nccl, const RankOptions& options, int rank, const Address& at,
           const StoreJob& of)
      : job{nccl, options, rank, at, of} {}
  NcclJob job;
  void* communication = nullptr;  // the device's streams
  void* compute = nullptr;
  std::vector<CommunicatorMemory> memory;
  /// By ranks of the world in order; those that are gone are made again.
  std::map<std::vector<int>, std::weak_ptr<NcclMembers>> members;
};

/// Ranks are GPUs. Collectives run on a stream of their members, the world's on the device's communication
/// stream, in the order in which the rank calls them; so do exchange() and all_to_all_v(), as one group of
/// sends and receives. Groups of different ranks do not wait for each other, as process groups of PyTorch do
/// not; all ranks call them in one order, as NCCL asks of communicators that run beside each other
/// (NVIDIA/nccl docs, "Using multiple NCCL communicators concurrently"). A message of send() goes
/// its own way (Edge), one per receiver and pass, so that it never waits for the receiver: without it 1F1B
/// would stand still, each of two neighbours sending before it receives. Messages of one pass between two
/// ranks are therefore received in the order in which they were sent, whatever their tags. Control goes over
/// the store.
class NcclCommunicator : public Communicator {
 public:
  /// `name` is the same on all ranks of the group and no other group's. `ranks`: of the world, by rank.
  /// `members`: nullptr in a group of one rank and in the world before use().
  NcclCommunicator(std::shared_ptr<NcclRank> self, std::string name, int rank, std::vector<int> ranks,
                   costmodel::Group kind, std::shared_ptr<Traffic> traffic,
                   std::shared_ptr<NcclMembers> members);
  ~NcclCommunicator() override;
  [[nodiscard]] std::vector<CommunicatorMemory> device_memory() const override { return self_->memory; }

 private:
  Work do_all_reduce(Buffer data, Reduction reduction, const Call& call) override;
  Work do_reduce_scatter(ConstBuffer in, Buffer out, Reduction reduction, const Call& call) override;
  Work do_all_gather(ConstBuffer in, Buffer out, const Call& call) override;
  Work do_all_to_all_v(ConstBuffer in, std::span<const std::int64_t> send_counts, Buffer out,
                       std::span<const std::int64_t> receive_counts, const Call& call) override;
  Work do_broadcast(Buffer data, int root, const Call& call) override;
  Work do_send(ConstBuffer data, int to, const Call& call, int tag) override;
  Work do_receive(Buffer data, int from, const Call& call, int tag) override;
  Work do_exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                   const Call& call) override;
  void do_barrier(const Call& call) override;
  std::vector<std::vector<std::byte>> do_gather_bytes(std::span<const std::byte> mine) override;
  std::unique_ptr<Communicator> do_split(std::span<const int> members, int index,
                                         costmodel::Group kind) override;
  void do_use(Device* device) override;

  /// Puts `start` on the members' stream behind what was computed so far.
  Work run(const Call& call, std::string_view what,
           const std::function<int(const HexaplanNccl&, void* handle, void* stream)>& start);
  /// Runs `step` and adds what it took of the GPU's memory to a row of NcclRank::memory.
  void measure_memory(std::size_t row, const std::function<void()>& step);
  /// Collective. nullptr where this rank is alone.
  [[nodiscard]] std::shared_ptr<NcclMembers> make_members(const std::vector<int>& ranks, int colour,
                                                          int index, costmodel::Group kind);
  [[nodiscard]] std::string edge_name(int from, int to, costmodel::Pass pass) const;
  void join_world();
  void leave_world();

  std::shared_ptr<NcclRank> self_;
  std::string name_;
  std::vector<int> ranks_;
  std::shared_ptr<NcclMembers> members_;
  int splits_ = 0, gathers_ = 0, uses_ = 0;
};

}  // namespace hexaplan::validator
