#pragma once
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "validator/executor/communicator/communicator.h"
#include "validator/executor/communicator/nccl/nccl_job.h"

namespace hexaplan::validator {

/// What a rank's communicators share.
struct NcclRank {
  NcclRank(const HexaplanNccl& nccl, const RankOptions& options, int rank, const Address& at,
           const StoreJob& of)
      : job{nccl, options, rank, at, of} {}
  NcclJob job;
  void* communication = nullptr;  // the device's streams
  void* compute = nullptr;
  std::vector<CommunicatorMemory> memory;
};

/// Ranks are GPUs. Collectives run on the device's communication stream, in the order in which the rank calls
/// them; so do exchange() and all_to_all_v(), as one group of sends and receives. A message of send() goes
/// its own way (Edge), one per receiver and pass, so that it never waits for the receiver: without it 1F1B
/// would stand still, each of two neighbours sending before it receives. Messages of one pass between two
/// ranks are therefore received in the order in which they were sent, whatever their tags. Control goes over
/// the store.
class NcclCommunicator : public Communicator {
 public:
  /// `name` is the same on all ranks of the group and no other group's. `handle`: of NCCL; nullptr in a group
  /// of one rank and in the world before use().
  NcclCommunicator(std::shared_ptr<NcclRank> self, std::string name, int rank, int size,
                   costmodel::Group kind, std::shared_ptr<Traffic> traffic, void* handle,
                   std::size_t memory_row);
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

  /// Puts `start` on the communication stream behind what was computed so far.
  Work run(const Call& call, std::string_view what, const std::function<int(const HexaplanNccl&)>& start);
  /// Runs `step` and adds what it took of the GPU's memory to this group's row.
  void measure_memory(const std::function<void()>& step);
  [[nodiscard]] std::string edge_name(int from, int to, costmodel::Pass pass) const;
  void join_world();
  void leave_world();

  std::shared_ptr<NcclRank> self_;
  std::string name_;
  void* handle_;
  std::size_t memory_row_;
  std::set<std::string_view> used_;  // kinds of calls that NCCL has made its connections for
  int splits_ = 0, gathers_ = 0, uses_ = 0;
};

}  // namespace hexaplan::validator
