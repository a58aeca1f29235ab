#include "validator/executor/communicator/nccl/nccl_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "validator/executor/communicator/device_buffer.h"
#include "validator/executor/communicator/stream_order.h"

namespace hexaplan::validator {
namespace {

int nccl_type_of(costmodel::DType type) {
  switch (type) {
    case costmodel::DType::Fp64:
      return kHexaplanNcclF64;
    case costmodel::DType::Bf16:
      return kHexaplanNcclBf16;
    case costmodel::DType::Fp16:
      return kHexaplanNcclF16;
    case costmodel::DType::Int32:
      return kHexaplanNcclI32;
    case costmodel::DType::Int8:
      return kHexaplanNcclU8;
    default:
      assert(type == costmodel::DType::Fp32);
      return kHexaplanNcclF32;
  }
}

int reduction_of(Reduction reduction) {
  return reduction == Reduction::Sum ? kHexaplanNcclSum : kHexaplanNcclMax;
}

std::byte* at(void* data, std::int64_t elements, costmodel::DType type) {
  return static_cast<std::byte*>(data) + elements * costmodel::bits_per_element(type) / 8;
}
const std::byte* at(const void* data, std::int64_t elements, costmodel::DType type) {
  return static_cast<const std::byte*>(data) + elements * costmodel::bits_per_element(type) / 8;
}

/// Compute goes on behind what NCCL was given.
class Taken : public Work::Pending {
 public:
  Taken(std::shared_ptr<NcclRank> self, StreamMark done) : self_{std::move(self)}, done_{std::move(done)} {}
  void wait() override { self_->job.nccl().wait(self_->compute, done_.get()); }

 private:
  std::shared_ptr<NcclRank> self_;
  StreamMark done_;
};

/// The worst of several answers.
class Answers {
 public:
  void add(int state) { state_ = std::min(state_, state); }
  [[nodiscard]] int worst() const { return state_; }

 private:
  int state_ = kHexaplanNcclReady;
};

}  // namespace

NcclMembers::NcclMembers(NcclJob& job, void* handle, void* stream, bool owns_stream, std::size_t memory_row)
    : job_{job}, handle_{handle}, stream_{stream}, owns_stream_{owns_stream}, memory_row_{memory_row} {}

NcclMembers::~NcclMembers() {
  job_.release(handle_);
  if (owns_stream_) job_.nccl().release_stream(stream_);
}

NcclCommunicator::NcclCommunicator(std::shared_ptr<NcclRank> self, std::string name, int rank,
                                   std::vector<int> ranks, costmodel::Group kind,
                                   std::shared_ptr<Traffic> traffic, std::shared_ptr<NcclMembers> members)
    : Communicator{rank, static_cast<int>(ranks.size()), kind, std::move(traffic)},
      self_{std::move(self)},
      name_{std::move(name)},
      ranks_{std::move(ranks)},
      members_{std::move(members)} {}

NcclCommunicator::~NcclCommunicator() {
  self_->job.free_sent(name_ + ":", true);
}

void NcclCommunicator::measure_memory(std::size_t row, const std::function<void()>& step) {
  const HexaplanNccl& nccl = self_->job.nccl();
  const std::int64_t before = nccl.free_bytes();
  step();
  self_->memory[row].bytes += before - nccl.free_bytes();
}

Work NcclCommunicator::run(const Call& call, std::string_view what,
                           const std::function<int(const HexaplanNccl&, void*, void*)>& start) {
  NcclJob& job = self_->job;
  job.begin_call(call, what);
  job.free_sent("", false);
  if (members_ == nullptr) throw std::logic_error{"the world of NCCL has no device yet"};
  void *const handle = members_->handle(), *const stream = members_->stream();
  const StreamMark computed = job.mark(self_->compute);
  job.nccl().wait(stream, computed.get());
  const bool first = members_->is_first(what);
  // Marks with a time cost a microsecond or two; the first call connects.
  const bool timed = device()->times_calls() && !first;
  const StreamMark ready = timed ? job.timed_mark(stream) : nullptr;
  const auto hand_over = [&] { job.hand_over(handle, [&] { return start(job.nccl(), handle, stream); }); };
  first ? measure_memory(members_->memory_row(), hand_over) : hand_over();
  const StreamMark done = timed ? job.timed_mark(stream) : job.mark(stream);
  if (timed) {
    time_call([&nccl = job.nccl(), ready, done, of = device()] {
      const costmodel::Seconds time{nccl.between(ready.get(), done.get())};
      of->add_message_time(time);
      return time;
    });
  }
  job.watch(done);
  job.end_call();
  return Work{std::make_unique<Taken>(self_, done)};
}

Work NcclCommunicator::do_all_reduce(Buffer data, Reduction reduction, const Call& call) {
  return run(call, "all-reduce", [&](const HexaplanNccl& nccl, void* handle, void* stream) {
    return nccl.all_reduce(handle, stream, data.data, data.elements, nccl_type_of(data.type),
                           reduction_of(reduction));
  });
}

Work NcclCommunicator::do_reduce_scatter(ConstBuffer in, Buffer out, Reduction reduction, const Call& call) {
  return run(call, "reduce-scatter", [&](const HexaplanNccl& nccl, void* handle, void* stream) {
    return nccl.reduce_scatter(handle, stream, in.data, out.data, out.elements, nccl_type_of(in.type),
                               reduction_of(reduction));
  });
}

Work NcclCommunicator::do_all_gather(ConstBuffer in, Buffer out, const Call& call) {
  return run(call, "all-gather", [&](const HexaplanNccl& nccl, void* handle, void* stream) {
    return nccl.all_gather(handle, stream, in.data, out.data, in.elements, nccl_type_of(in.type));
  });
}

Work NcclCommunicator::do_all_to_all_v(ConstBuffer in, std::span<const std::int64_t> send_counts, Buffer out,
                                       std::span<const std::int64_t> receive_counts, const Call& call) {
  return run(call, "all-to-all", [&](const HexaplanNccl& nccl, void* handle, void* stream) {
    Answers answers;
    answers.add(nccl.group_begin());
    std::int64_t sent = 0, received = 0;
    for (int peer = 0; peer < size(); ++peer) {
      const auto p = static_cast<std::size_t>(peer);
      const int type = nccl_type_of(in.type);
      if (send_counts[p] > 0)
        answers.add(nccl.send(handle, stream, at(in.data, sent, in.type), send_counts[p], type, peer));
      if (receive_counts[p] > 0)
        answers.add(
            nccl.receive(handle, stream, at(out.data, received, in.type), receive_counts[p], type, peer));
      sent += send_counts[p];
      received += receive_counts[p];
    }
    const int ended = nccl.group_end(handle);
    return answers.worst() < 0 ? answers.worst() : ended;
  });
}

Work NcclCommunicator::do_exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                                   const Call& call) {
  return run(call, "send/recv", [&](const HexaplanNccl& nccl, void* handle, void* stream) {
    Answers answers;
    answers.add(nccl.group_begin());
    for (const Outgoing& message : sends) {
      answers.add(nccl.send(handle, stream, message.data.data, message.data.elements,
                            nccl_type_of(message.data.type), message.peer));
    }
    for (const Incoming& message : receives) {
      answers.add(nccl.receive(handle, stream, message.data.data, message.data.elements,
                               nccl_type_of(message.data.type), message.peer));
    }
    const int ended = nccl.group_end(handle);
    return answers.worst() < 0 ? answers.worst() : ended;
  });
}

Work NcclCommunicator::do_broadcast(Buffer data, int root, const Call& call) {
  return run(call, "broadcast", [&](const HexaplanNccl& nccl, void* handle, void* stream) {
    return nccl.broadcast(handle, stream, data.data, data.elements, nccl_type_of(data.type), root);
  });
}

std::string NcclCommunicator::edge_name(int from, int to, costmodel::Pass pass) const {
  return fmt::format("{}:{}>{} {}", name_, from, to, static_cast<int>(pass));
}

Work NcclCommunicator::do_send(ConstBuffer data, int to, const Call& call, int /*tag*/) {
  NcclJob& job = self_->job;
  job.begin_call(call, "send");
  job.free_sent("", false);
  Edge& edge = job.edge(edge_name(rank(), to, call.pass), true);
  const View source = view_of(data);
  Edge::Parcel parcel{.elements = data.elements, .type = nccl_type_of(data.type)};
  parcel.copy = device()->allocate_message(source.element, source.cols);
  const Event copied = on_communication_stream(*device(), [&] {
    if (data.elements > 0) device()->copy(parcel.copy, source, Stream::Communication);
  });
  parcel.ready = job.mark(self_->communication);
  job.send(edge, std::move(parcel));
  job.end_call();
  return Work{std::make_unique<Ordered>(*device(), copied)};
}

Work NcclCommunicator::do_receive(Buffer data, int from, const Call& call, int /*tag*/) {
  NcclJob& job = self_->job;
  job.begin_call(call, "receive");
  Edge& edge = job.edge(edge_name(from, rank(), call.pass), false);
  job.wait_until_open(edge);
  const StreamMark computed = job.mark(self_->compute);  // before, the memory may be somebody else's
  job.nccl().wait(edge.stream, computed.get());
  job.hand_over(edge.communicator, [&] {
    return job.nccl().receive(edge.communicator, edge.stream, data.data, data.elements,
                              nccl_type_of(data.type), 0);
  });
  const StreamMark done = job.mark(edge.stream);
  job.watch(done);
  job.end_call();
  return Work{std::make_unique<Taken>(self_, done)};
}

void NcclCommunicator::do_barrier(const Call& call) {
  self_->job.begin_call(call, "barrier");
  (void)self_->job.meet(name_ + " barrier", rank(), size(), {});
  self_->job.end_call();
}

std::vector<std::vector<std::byte>> NcclCommunicator::do_gather_bytes(std::span<const std::byte> mine) {
  self_->job.begin_call({.operation = "end of the run"}, "gathering reports");
  auto parts = self_->job.meet(fmt::format("{} reports {}", name_, gathers_++), rank(), size(), mine);
  self_->job.end_call();
  return parts;
}

/// Where all ranks of this communicator have what they need, nothing is made.
std::shared_ptr<NcclMembers> NcclCommunicator::make_members(const std::vector<int>& ranks, int colour,
                                                            int index, costmodel::Group kind) {
  NcclJob& job = self_->job;
  const bool alone = ranks.size() == 1;
  std::shared_ptr<NcclMembers> known = self_->members[ranks].lock();
  const std::byte has_it{alone || known != nullptr};
  const std::vector<Blob> all =
      job.meet(fmt::format("{} split {}", name_, splits_), rank(), size(), {&has_it, 1});
  if (std::all_of(all.begin(), all.end(), [](const Blob& one) { return one.front() != std::byte{0}; }))
    return known;
  if (members_ == nullptr) throw std::logic_error{"the world of NCCL has no device yet"};
  const std::size_t row = self_->memory.size();
  self_->memory.push_back({.kind = kind, .ranks = static_cast<int>(ranks.size())});
  void* part = nullptr;
  // Of one rank: takes part, but needs no communicator, which would cost memory.
  const auto split = [&] { return job.nccl().split(members_->handle(), alone ? -1 : colour, index); };
  measure_memory(row, [&] { part = job.open(split); });
  if (alone) {
    job.release(part);
    self_->memory.pop_back();
    return nullptr;
  }
  // Without streams, as on the host, there is one order of all.
  const bool streams = self_->communication != nullptr;
  void* const stream = streams ? job.nccl().make_stream() : nullptr;
  if (streams && stream == nullptr) job.fail(FaultCause::Died, job.rank(), job.nccl().last_error());
  auto made = std::make_shared<NcclMembers>(job, part, stream, streams, row);
  self_->members[ranks] = made;
  return made;
}

std::unique_ptr<Communicator> NcclCommunicator::do_split(std::span<const int> members, int index,
                                                         costmodel::Group kind) {
  const int colour = *std::min_element(members.begin(), members.end());
  std::vector<int> ranks;
  for (const int member : members) ranks.push_back(ranks_[static_cast<std::size_t>(member)]);
  std::shared_ptr<NcclMembers> part;
  if (size() > 1) {
    self_->job.begin_call({.operation = name_of(kind)}, "split");
    part = make_members(ranks, colour, index, kind);
    self_->job.end_call();
  }
  const std::string name = fmt::format("{}/{}.{}", name_, splits_++, colour);
  return std::make_unique<NcclCommunicator>(self_, name, index, std::move(ranks), kind, shared_traffic(),
                                            std::move(part));
}

void NcclCommunicator::join_world() {
  NcclJob& job = self_->job;
  job.begin_call({.operation = "world"}, "join");
  const std::string key = fmt::format("{} id {}", name_, uses_++);
  std::array<char, kHexaplanNcclIdBytes> id{};
  if (rank() == 0) {
    if (job.nccl().make_id(id.data()) < 0) job.fail(FaultCause::Died, job.rank(), job.nccl().last_error());
    job.publish(key, std::as_bytes(std::span{id}));
  } else {
    const Blob theirs = job.look_up(key);
    std::memcpy(id.data(), theirs.data(), std::min(theirs.size(), id.size()));
  }
  self_->memory.assign(1, {.kind = kind(), .ranks = size()});
  void* handle = nullptr;
  measure_memory(0, [&] { handle = job.open([&] { return job.nccl().join(id.data(), rank(), size()); }); });
  members_ = std::make_shared<NcclMembers>(job, handle, self_->communication, false, 0);
  self_->members[ranks_] = members_;
  job.end_call();
}

void NcclCommunicator::leave_world() {
  self_->job.free_sent("", true);
  members_ = nullptr;
  self_->members.clear();
  self_->compute = self_->communication = nullptr;
}

void NcclCommunicator::do_use(Device* next) {
  if (members_ != nullptr) leave_world();
  if (next == nullptr) return;
  self_->communication = next->native_stream(Stream::Communication);
  self_->compute = next->native_stream(Stream::Compute);
  self_->job.adopt(self_->communication);
  join_world();
}

}  // namespace hexaplan::validator
