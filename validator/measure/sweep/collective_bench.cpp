#include "validator/measure/sweep/collective_bench.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <utility>

#include "validator/executor/parallel/rank.h"

namespace hexaplan::validator {
namespace {

using costmodel::CollectiveKind;
using costmodel::DType;

constexpr Call kCall{.operation = "calibrate"};
constexpr double kMostCollectiveRepeats = 500;
/// GEMMs beside messages, behind one that gets the messages under way.
constexpr int kBeside = 6;
/// Messages last so much longer than what is timed beside them.
constexpr double kBesideMargin = 1.5;
constexpr double kMostMessages = 100;

/// One number per rank, in order, on every rank.
std::vector<double> sorted_of_all(Communicator& group, double mine) {
  std::array<std::byte, sizeof(double)> bytes{};
  std::memcpy(bytes.data(), &mine, sizeof mine);
  std::vector<double> all;
  for (const std::vector<std::byte>& theirs : group.gather_bytes(bytes))
    std::memcpy(&all.emplace_back(), theirs.data(), sizeof(double));
  std::sort(all.begin(), all.end());
  return all;
}
double largest(Communicator& group, double mine) {
  return sorted_of_all(group, mine).back();
}
double middle(Communicator& group, double mine) {
  const std::vector<double> all = sorted_of_all(group, mine);
  return all[(all.size() - 1) / 2];
}

}  // namespace

CollectiveBench::CollectiveBench(Device& device, Communicator& world, const BenchOptions& options)
    : device_{device}, world_{world}, options_{options} {
  device_.time_calls(false);
}

/// Groups fill blocks of ranks · stride consecutive ranks; those behind the last block are one group that
/// waits.
const CollectiveBench::Groups& CollectiveBench::groups_of(const Point& point) {
  const auto [at, added] = groups_.try_emplace(Shape{point.ranks, point.stride, point.groups});
  Groups& groups = at->second;
  if (!added) return groups;
  const int block = point.ranks * point.stride, measuring = point.ranks * point.groups;
  const auto group_at = [&](int rank) {
    return rank < measuring ? rank / block * point.stride + rank % point.stride : -1;
  };
  const auto same = [&](const auto& what) {
    return ranks_where(world_.size(), [&](int rank) { return what(rank) == what(world_.rank()); });
  };
  const auto measures = [measuring](int rank) { return rank < measuring; };
  groups.measures = measures(world_.rank());
  groups.own = world_.split(same(group_at), costmodel::Group::World);
  if (point.groups > 1 && measuring < world_.size())
    groups.of_all = world_.split(same(measures), costmodel::Group::World);
  return groups;
}

Communicator& CollectiveBench::all_of(const Groups& groups, const Point& point) {
  if (groups.of_all) return *groups.of_all;
  return point.groups > 1 ? world_ : *groups.own;
}

std::vector<double> CollectiveBench::measure(const Point& point) {
  assert(point.ranks >= 2 && point.ranks * point.groups <= world_.size());
  assert(point.groups == 1 ? point.stride == 1 : point.groups % point.stride == 0);
  const Groups& groups = groups_of(point);
  std::vector<double> seconds(static_cast<std::size_t>(options_.samples));
  if (groups.measures) {
    all_ = &all_of(groups, point);
    seconds = sample(*groups.own, point);
  }
  // Ranks outside of the groups hear the numbers from rank 0.
  std::vector<std::byte> bytes(seconds.size() * sizeof(double));
  std::memcpy(bytes.data(), seconds.data(), bytes.size());
  const std::vector<std::byte> first = world_.gather_bytes(bytes).front();
  std::memcpy(seconds.data(), first.data(), first.size());
  return seconds;
}

/// Samples are timed as a whole: marks around every call would lengthen the short ones.
std::vector<double> CollectiveBench::sample(Communicator& group, const Point& point) {
  device_.time_calls(false);
  const Buffers buffers = allocate(point);
  const bool beside = point.kind == PointKind::Overlap;
  if (beside) {
    gemm_operands_ = device_.allocate({.name = "calibrate.data"}, point.gemm.m + point.gemm.n, point.gemm.k);
    gemm_result_ = device_.allocate({.name = "calibrate.data"}, point.gemm.m, point.gemm.n);
    device_.fill_noise(gemm_operands_, 7, 1.0, Stream::Compute);
  }
  // The first call makes connections; the second says how many calls make a sample, the same on all ranks.
  (void)call(group, point, buffers, 1);
  const double once = std::max(largest(*all_, call(group, point, buffers, 1)), 1e-9);
  const int repeats =
      static_cast<int>(std::clamp(std::ceil(options_.shortest_sample.value() / once),
                                  static_cast<double>(options_.least_repeats), kMostCollectiveRepeats));
  const int messages = beside ? messages_beside(point, once) : 0;
  std::vector<double> seconds;
  for (int i = 2; i < options_.warmups + options_.samples; ++i) {
    const double mine =
        beside ? overlapped(group, point, buffers, messages) : call(group, point, buffers, repeats);
    // A message takes as long as on its slowest rank; a GEMM beside one is that of the median GPU, as alone.
    const double counts = beside ? middle(*all_, mine) : largest(*all_, mine);
    if (i >= options_.warmups) seconds.push_back(counts);
    device_.reset_flops();
  }
  return seconds;
}

CollectiveBench::Buffers CollectiveBench::allocate(const Point& point) {
  const auto ranks = static_cast<std::int64_t>(point.ranks);
  const auto part =
      static_cast<std::int64_t>(std::ceil(point.payload.value() / 2 / static_cast<double>(ranks)));
  const std::int64_t whole = part * ranks;
  std::int64_t in = whole, out = whole;
  if (point.collective == CollectiveKind::AllGather) in = part;
  if (point.collective == CollectiveKind::ReduceScatter) out = part;
  const TensorLabel label{.name = "calibrate.data", .dtype = DType::Bf16};
  Buffers buffers{device_.allocate(label, 1, in), device_.allocate(label, 1, out)};
  device_.fill_noise(buffers.in, 5, 1.0, Stream::Compute);
  device_.fill_noise(buffers.out, 6, 1.0, Stream::Compute);
  device_.synchronize();
  return buffers;
}

Work CollectiveBench::start(Communicator& group, const Point& point, const Buffers& buffers) {
  switch (point.collective) {
    case CollectiveKind::AllReduce:  // in place, over and over: sums would overflow; a maximum moves as much
      return group.all_reduce(wire(buffers.out), Reduction::Max, kCall);
    case CollectiveKind::AllGather:
      return group.all_gather(wire(buffers.in), wire(buffers.out), kCall);
    case CollectiveKind::ReduceScatter:
      return group.reduce_scatter(wire(buffers.in), wire(buffers.out), Reduction::Sum, kCall);
    case CollectiveKind::AllToAll:
      return group.all_to_all(wire(buffers.in), wire(buffers.out), kCall);
    case CollectiveKind::Broadcast:
      return group.broadcast(wire(buffers.out), 0, kCall);
    case CollectiveKind::SendRecv:
      break;
  }
  const int right = (group.rank() + 1) % group.size(),
            left = (group.rank() + group.size() - 1) % group.size();
  const Outgoing send{right, wire(buffers.in)};
  const Incoming receive{left, wire(buffers.out)};
  return group.exchange({&send, 1}, {&receive, 1}, kCall);
}

/// Ranks leave a barrier one after the other; a message brings the GPUs of all groups together.
void CollectiveBench::bring_together() {
  device_.synchronize();
  all_->barrier("calibrate");
  if (meeting_.empty()) {
    meeting_ = device_.allocate({.name = "calibrate.data", .dtype = DType::Bf16}, 1, 8);
    device_.fill_noise(meeting_, 3, 1.0, Stream::Compute);
  }
  all_->all_reduce(wire(meeting_), Reduction::Max, kCall).wait();
}

/// The first call is not timed: behind it streams are not empty.
double CollectiveBench::call(Communicator& group, const Point& point, const Buffers& buffers, int repeats) {
  bring_together();
  start(group, point, buffers).wait();
  const TimeMark begin = device_.mark(Stream::Compute);
  for (int i = 0; i < repeats; ++i) start(group, point, buffers).wait();
  const TimeMark end = device_.mark(Stream::Compute);
  device_.synchronize();
  return device_.between(begin, end).value() / repeats;
}

double CollectiveBench::multiply(const Point& point, int times) {
  const View a = gemm_operands_.view().row_range(0, point.gemm.m);
  const View b = gemm_operands_.view().row_range(point.gemm.m, point.gemm.n);
  device_.gemm(kCalibrating, {.a = a, .b = b, .c = gemm_result_, .transpose_b = true});
  const TimeMark begin = device_.mark(Stream::Compute);
  for (int i = 0; i < times; ++i)
    device_.gemm(kCalibrating, {.a = a, .b = b, .c = gemm_result_, .transpose_b = true});
  const TimeMark end = device_.mark(Stream::Compute);
  device_.synchronize();
  return device_.between(begin, end).value() / times;
}

/// So many that they are under way until the last product is done; the same on all ranks.
int CollectiveBench::messages_beside(const Point& point, double once) {
  (void)multiply(point, 1);
  const double alone = largest(*all_, multiply(point, kBeside));
  const double wanted = std::ceil(kBesideMargin * (kBeside + 1) * alone / once);
  return static_cast<int>(std::clamp(wanted, 1.0, kMostMessages));
}

/// Time of one GEMM among several that run beside messages.
double CollectiveBench::overlapped(Communicator& group, const Point& point, const Buffers& buffers,
                                   int messages) {
  bring_together();
  std::vector<Work> under_way;
  under_way.reserve(static_cast<std::size_t>(messages));
  for (int i = 0; i < messages; ++i) under_way.push_back(start(group, point, buffers));
  const double seconds = multiply(point, kBeside);
  for (Work& work : under_way) work.wait();
  device_.synchronize();
  return seconds;
}

}  // namespace hexaplan::validator
