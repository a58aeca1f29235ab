#include "validator/executor/communicator/communicator.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "validator/executor/communicator/device_buffer.h"
#include "validator/executor/device/device.h"

namespace hexaplan::validator {

using costmodel::CollectiveKind;

namespace {

[[maybe_unused]] std::int64_t sum(std::span<const std::int64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

/// Several communications as one.
class AllOf : public Work::Pending {
 public:
  explicit AllOf(std::vector<Work> parts) : parts_{std::move(parts)} {}
  void wait() override {
    for (Work& part : parts_) part.wait();
  }

 private:
  std::vector<Work> parts_;
};

}  // namespace

void Work::wait() {
  const std::unique_ptr<Pending> pending = std::move(pending_);
  if (pending) pending->wait();
}

Communicator::Communicator(int rank, int size, costmodel::Group kind, std::shared_ptr<Traffic> traffic)
    : rank_{rank}, size_{size}, kind_{kind}, traffic_{std::move(traffic)} {
  assert(rank >= 0 && rank < size);
}

template <class Run>
Work Communicator::counted(const Call& call, CollectiveKind kind, std::int64_t elements, const Run& run) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  Work work = run();
  const std::chrono::duration<double> inside = Clock::now() - begin;
  traffic_->add(call, kind, kind_,
                {.messages = 1,
                 .bytes = costmodel::size_of(elements, call.dtype),
                 .time = costmodel::Seconds{inside.count()}},
                std::exchange(timing_, {}));
  return work;
}

/// In a group of one rank: the compute stream's own business.
Work Communicator::copy(ConstBuffer from, Buffer to) const {
  assert(from.bytes() == to.bytes());
  if (from.data == to.data || to.elements == 0) return {};
  if (device_ != nullptr) {
    device_->copy(view_of(to), view_of(from));
  } else {
    std::memmove(to.data, from.data, static_cast<std::size_t>(to.bytes()));
  }
  return {};
}

Work Communicator::all_reduce(Buffer data, Reduction reduction, const Call& call) {
  if (size_ == 1) return {};
  return counted(call, CollectiveKind::AllReduce, data.elements,
                 [&] { return do_all_reduce(data, reduction, call); });
}

Work Communicator::reduce_scatter(ConstBuffer in, Buffer out, Reduction reduction, const Call& call) {
  assert(in.elements == out.elements * size_ && in.type == out.type);
  if (size_ == 1) return copy(in, out);
  return counted(call, CollectiveKind::ReduceScatter, in.elements,
                 [&] { return do_reduce_scatter(in, out, reduction, call); });
}

Work Communicator::all_gather(ConstBuffer in, Buffer out, const Call& call) {
  assert(out.elements == in.elements * size_ && in.type == out.type);
  if (size_ == 1) return copy(in, out);
  return counted(call, CollectiveKind::AllGather, out.elements, [&] { return do_all_gather(in, out, call); });
}

Work Communicator::all_to_all(ConstBuffer in, Buffer out, const Call& call) {
  assert(in.elements == out.elements && in.elements % size_ == 0);
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(size_), in.elements / size_);
  return all_to_all_v(in, counts, out, counts, call);
}

Work Communicator::all_to_all_v(ConstBuffer in, std::span<const std::int64_t> send_counts, Buffer out,
                                std::span<const std::int64_t> receive_counts, const Call& call) {
  assert(static_cast<int>(send_counts.size()) == size_ && sum(send_counts) == in.elements);
  assert(static_cast<int>(receive_counts.size()) == size_ && sum(receive_counts) == out.elements);
  assert(in.type == out.type);
  if (size_ == 1) return copy(in, out);
  return counted(call, CollectiveKind::AllToAll, in.elements,
                 [&] { return do_all_to_all_v(in, send_counts, out, receive_counts, call); });
}

Work Communicator::broadcast(Buffer data, int root, const Call& call) {
  assert(root >= 0 && root < size_);
  if (size_ == 1) return {};
  return counted(call, CollectiveKind::Broadcast, data.elements,
                 [&] { return do_broadcast(data, root, call); });
}

Work Communicator::send(ConstBuffer data, int to, const Call& call, int tag) {
  assert(to >= 0 && to < size_ && to != rank_ && tag >= 0);
  return counted(call, CollectiveKind::SendRecv, data.elements, [&] { return do_send(data, to, call, tag); });
}

Work Communicator::receive(Buffer data, int from, const Call& call, int tag) {
  assert(from >= 0 && from < size_ && from != rank_ && tag >= 0);
  return do_receive(data, from, call, tag);
}

Work Communicator::exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                            const Call& call) {
  const std::int64_t elements = std::accumulate(
      sends.begin(), sends.end(), std::int64_t{0},
      [](std::int64_t total, const Outgoing& message) { return total + message.data.elements; });
  const auto run = [&] { return do_exchange(sends, receives, call); };
  return sends.empty() ? run() : counted(call, CollectiveKind::SendRecv, elements, run);
}

Work Communicator::do_exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                               const Call& call) {
  std::vector<Work> parts;
  for (const Outgoing& message : sends) parts.push_back(do_send(message.data, message.peer, call, 0));
  for (const Incoming& message : receives) parts.push_back(do_receive(message.data, message.peer, call, 0));
  return Work{std::make_unique<AllOf>(std::move(parts))};
}

void Communicator::barrier(std::string_view where) {
  if (size_ > 1) do_barrier({.operation = where});
}

std::vector<std::vector<std::byte>> Communicator::gather_bytes(std::span<const std::byte> mine) {
  if (size_ == 1) return {{mine.begin(), mine.end()}};
  return do_gather_bytes(mine);
}

std::vector<std::vector<std::byte>> Communicator::do_gather_bytes(std::span<const std::byte> mine) {
  constexpr Call kGather{.operation = "gathering reports"};
  constexpr std::size_t kUnit = sizeof(std::int32_t);
  const auto ranks = static_cast<std::size_t>(size_);
  const double size = static_cast<double>(mine.size());
  std::vector<double> sizes(ranks);
  do_all_gather(std::span{&size, 1}, std::span{sizes}, kGather).wait();
  const auto longest = static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end()));
  const std::size_t units = longest / kUnit + 1;
  std::vector<std::int32_t> padded(units), everything(units * ranks);
  if (!mine.empty()) std::memcpy(padded.data(), mine.data(), mine.size());
  do_all_gather(std::span{padded}, std::span{everything}, kGather).wait();
  std::vector<std::vector<std::byte>> parts;
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto bytes = std::as_bytes(std::span{everything}.subspan(r * units, units));
    parts.emplace_back(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(sizes[r]));
  }
  return parts;
}

std::unique_ptr<Communicator> Communicator::split(std::span<const int> members, costmodel::Group kind) {
  const auto self = std::find(members.begin(), members.end(), rank_);
  assert(self != members.end());
  std::unique_ptr<Communicator> part = do_split(members, static_cast<int>(self - members.begin()), kind);
  part->device_ = device_;
  return part;
}

void Communicator::use(Device* device) {
  do_use(device);
  device_ = device;
}

std::unique_ptr<Communicator> make_group(Communicator& world, const costmodel::Layout& layout,
                                         costmodel::Group group) {
  assert(world.size() == layout.world_size());
  const std::vector<std::int64_t> ranks = costmodel::members_of(layout, group, world.rank());
  const std::vector<int> members{ranks.begin(), ranks.end()};
  return world.split(members, group);
}

}  // namespace hexaplan::validator
