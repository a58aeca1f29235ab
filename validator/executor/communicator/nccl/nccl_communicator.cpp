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

NcclCommunicator::NcclCommunicator(std::shared_ptr<NcclRank> self, std::string name, int rank, int size,
                                   costmodel::Group kind, std::shared_ptr<Traffic> traffic, void* handle,
                                   std::size_t memory_row)
    : Communicator{rank, size, kind, std::move(traffic)},
      self_{std::move(self)},
      name_{std::move(name)},
      handle_{handle},
      memory_row_{memory_row} {}

NcclCommunicator::~NcclCommunicator() {
  self_->job.free_sent(name_ + ":", true);
  self_->job.release(handle_);
}

void NcclCommunicator::measure_memory(const std::function<void()>& step) {
  const HexaplanNccl& nccl = self_->job.nccl();
  const std::int64_t before = nccl.free_bytes();
  step();
  self_->memory[memory_row_].bytes += before - nccl.free_bytes();
}

Work NcclCommunicator::run(const Call& call, std::string_view what,
                           const std::function<int(const HexaplanNccl&)>& start) {
  NcclJob& job = self_->job;
  job.begin_call(call, what);
  job.free_sent("", false);
  if (handle_ == nullptr) throw std::logic_error{"the world of NCCL has no device yet"};
  const StreamMark computed = job.mark(self_->compute);
  job.nccl().wait(self_->communication, computed.get());
  const auto hand_over = [&] { job.hand_over(handle_, [&] { return start(job.nccl()); }); };
  // NCCL makes its connections with the first call of each kind.
  used_.insert(what).second ? measure_memory(hand_over) : device()->timed_messages(hand_over);
  const StreamMark done = job.mark(self_->communication);
  job.watch(done);
  job.end_call();
  return Work{std::make_unique<Taken>(self_, done)};
}

Work NcclCommunicator::do_all_reduce(Buffer data, Reduction reduction, const Call& call) {
  return run(call, "all-reduce", [&](const HexaplanNccl& nccl) {
    return nccl.all_reduce(handle_, self_->communication, data.data, data.elements, nccl_type_of(data.type),
                           reduction_of(reduction));
  });
}

Work NcclCommunicator::do_reduce_scatter(ConstBuffer in, Buffer out, Reduction reduction, const Call& call) {
  return run(call, "reduce-scatter", [&](const HexaplanNccl& nccl) {
    return nccl.reduce_scatter(handle_, self_->communication, in.data, out.data, out.elements,
                               nccl_type_of(in.type), reduction_of(reduction));
  });
}

Work NcclCommunicator::do_all_gather(ConstBuffer in, Buffer out, const Call& call) {
  return run(call, "all-gather", [&](const HexaplanNccl& nccl) {
    return nccl.all_gather(handle_, self_->communication, in.data, out.data, in.elements,
                           nccl_type_of(in.type));
  });
}

Work NcclCommunicator::do_all_to_all_v(ConstBuffer in, std::span<const std::int64_t> send_counts, Buffer out,
                                       std::span<const std::int64_t> receive_counts, const Call& call) {
  return run(call, "all-to-all", [&](const HexaplanNccl& nccl) {
    Answers answers;
    answers.add(nccl.group_begin());
    std::int64_t sent = 0, received = 0;
    for (int peer = 0; peer < size(); ++peer) {
      const auto p = static_cast<std::size_t>(peer);
      const int type = nccl_type_of(in.type);
      if (send_counts[p] > 0)
        answers.add(
            nccl.send(handle_, self_->communication, at(in.data, sent, in.type), send_counts[p], type, peer));
      if (receive_counts[p] > 0)
        answers.add(nccl.receive(handle_, self_->communication, at(out.data, received, in.type),
                                 receive_counts[p], type, peer));
      sent += send_counts[p];
      received += receive_counts[p];
    }
    const int ended = nccl.group_end(handle_);
    return answers.worst() < 0 ? answers.worst() : ended;
  });
}

Work NcclCommunicator::do_exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                                   const Call& call) {
  return run(call, "send/recv", [&](const HexaplanNccl& nccl) {
    Answers answers;
    answers.add(nccl.group_begin());
    for (const Outgoing& message : sends) {
      answers.add(nccl.send(handle_, self_->communication, message.data.data, message.data.elements,
                            nccl_type_of(message.data.type), message.peer));
    }
    for (const Incoming& message : receives) {
      answers.add(nccl.receive(handle_, self_->communication, message.data.data, message.data.elements,
                               nccl_type_of(message.data.type), message.peer));
    }
    const int ended = nccl.group_end(handle_);
    return answers.worst() < 0 ? answers.worst() : ended;
  });
}

Work NcclCommunicator::do_broadcast(Buffer data, int root, const Call& call) {
  return run(call, "broadcast", [&](const HexaplanNccl& nccl) {
    return nccl.broadcast(handle_, self_->communication, data.data, data.elements, nccl_type_of(data.type),
                          root);
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

std::unique_ptr<Communicator> NcclCommunicator::do_split(std::span<const int> members, int index,
                                                         costmodel::Group kind) {
  NcclJob& job = self_->job;
  const int colour = *std::min_element(members.begin(), members.end());
  const std::string name = fmt::format("{}/{}.{}", name_, splits_++, colour);
  const int count = static_cast<int>(members.size());
  void* part = nullptr;
  std::size_t row = 0;
  if (size() > 1) {
    job.begin_call({.operation = name_of(kind)}, "split");
    if (handle_ == nullptr) throw std::logic_error{"the world of NCCL has no device yet"};
    const std::size_t parent_row = std::exchange(memory_row_, self_->memory.size());
    row = memory_row_;
    self_->memory.push_back({.kind = kind, .ranks = count});
    // Of one rank: takes part, but needs no communicator, which would cost memory.
    const auto split = [&] { return job.nccl().split(handle_, count == 1 ? -1 : colour, index); };
    measure_memory([&] { part = job.open(split); });
    memory_row_ = parent_row;
    if (count == 1) {
      job.release(std::exchange(part, nullptr));
      self_->memory.pop_back();
    }
    job.end_call();
  }
  return std::make_unique<NcclCommunicator>(self_, name, index, count, kind, shared_traffic(), part, row);
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
  measure_memory([&] { handle_ = job.open([&] { return job.nccl().join(id.data(), rank(), size()); }); });
  job.end_call();
}

void NcclCommunicator::leave_world() {
  self_->job.free_sent("", true);
  self_->job.release(std::exchange(handle_, nullptr));
  used_.clear();
  self_->compute = self_->communication = nullptr;
}

void NcclCommunicator::do_use(Device* next) {
  if (handle_ != nullptr) leave_world();
  if (next == nullptr) return;
  self_->communication = next->native_stream(Stream::Communication);
  self_->compute = next->native_stream(Stream::Compute);
  self_->job.adopt(self_->communication);
  join_world();
}

}  // namespace hexaplan::validator
