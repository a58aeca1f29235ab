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
constexpr double kMostCollectiveRepeats = 50;
/// GEMMs beside one collective: the first and last may lie outside it.
constexpr int kBeside = 6;

/// The largest of one number per rank, on every rank.
double largest(Communicator& group, double mine) {
  std::array<std::byte, sizeof(double)> bytes{};
  std::memcpy(bytes.data(), &mine, sizeof mine);
  double most = mine;
  for (const std::vector<std::byte>& theirs : group.gather_bytes(bytes)) {
    double value = 0;
    std::memcpy(&value, theirs.data(), sizeof value);
    most = std::max(most, value);
  }
  return most;
}

}  // namespace

CollectiveBench::CollectiveBench(Device& device, Communicator& world, const BenchOptions& options)
    : device_{device}, world_{world}, options_{options} {
  device_.time_calls(false);
}

Communicator& CollectiveBench::group_of(int ranks) {
  const auto same = [ranks](const auto& group) { return group.first == ranks; };
  const auto found = std::find_if(groups_.begin(), groups_.end(), same);
  if (found != groups_.end()) return *found->second;
  const bool inside = world_.rank() < ranks;
  const std::vector<int> members =
      ranks_where(world_.size(), [&](int rank) { return (rank < ranks) == inside; });
  return *groups_.emplace_back(ranks, world_.split(members, costmodel::Group::World)).second;
}

std::vector<double> CollectiveBench::measure(const Point& point) {
  assert(point.ranks >= 2 && point.ranks <= world_.size());
  Communicator& group = group_of(point.ranks);
  std::vector<double> seconds(static_cast<std::size_t>(options_.samples));
  if (world_.rank() < point.ranks) seconds = sample(group, point);
  // Ranks outside of the group hear the numbers from rank 0.
  std::vector<std::byte> bytes(seconds.size() * sizeof(double));
  std::memcpy(bytes.data(), seconds.data(), bytes.size());
  const std::vector<std::byte> first = world_.gather_bytes(bytes).front();
  std::memcpy(seconds.data(), first.data(), first.size());
  return seconds;
}

std::vector<double> CollectiveBench::sample(Communicator& group, const Point& point) {
  const Buffers buffers = allocate(point);
  const bool beside = point.kind == PointKind::Overlap;
  if (beside) {
    gemm_operands_ = device_.allocate({.name = "calibrate.data"}, point.gemm.m + point.gemm.n, point.gemm.k);
    gemm_result_ = device_.allocate({.name = "calibrate.data"}, point.gemm.m, point.gemm.n);
    device_.fill_noise(gemm_operands_, 7, 1.0, Stream::Compute);
  }
  // The first call makes connections; the second says how many calls make a sample, the same on all ranks.
  (void)call(group, point, buffers, 1);
  const double once = std::max(largest(group, call(group, point, buffers, 1)), 1e-9);
  const int repeats = static_cast<int>(
      std::clamp(std::ceil(options_.shortest_sample.value() / once), 1.0, kMostCollectiveRepeats));
  std::vector<double> seconds;
  for (int i = 2; i < options_.warmups + options_.samples; ++i) {
    const double mine = beside ? overlapped(group, point, buffers) : call(group, point, buffers, repeats);
    const double slowest = largest(group, mine);
    if (i >= options_.warmups) seconds.push_back(slowest);
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

double CollectiveBench::call(Communicator& group, const Point& point, const Buffers& buffers, int repeats) {
  device_.synchronize();
  group.barrier("calibrate");
  const TimeMark begin = device_.mark(Stream::Compute);
  for (int i = 0; i < repeats; ++i) start(group, point, buffers).wait();
  const TimeMark end = device_.mark(Stream::Compute);
  device_.synchronize();
  return device_.between(begin, end).value() / repeats;
}

/// Time of one GEMM among several that run beside the collective.
double CollectiveBench::overlapped(Communicator& group, const Point& point, const Buffers& buffers) {
  const View a = gemm_operands_.view().row_range(0, point.gemm.m);
  const View b = gemm_operands_.view().row_range(point.gemm.m, point.gemm.n);
  device_.synchronize();
  group.barrier("calibrate");
  Work work = start(group, point, buffers);
  device_.gemm(kCalibrating, {.a = a, .b = b, .c = gemm_result_, .transpose_b = true});
  const TimeMark begin = device_.mark(Stream::Compute);
  for (int i = 0; i < kBeside; ++i)
    device_.gemm(kCalibrating, {.a = a, .b = b, .c = gemm_result_, .transpose_b = true});
  const TimeMark end = device_.mark(Stream::Compute);
  work.wait();
  device_.synchronize();
  return device_.between(begin, end).value() / kBeside;
}

}  // namespace hexaplan::validator
