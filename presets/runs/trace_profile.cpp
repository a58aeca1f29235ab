#include "presets/runs/trace_profile.h"

#include <algorithm>
#include <span>

#include "costmodel/communication/bus_share.h"

namespace hexaplan::presets {
namespace {

constexpr double kMicro = 1e-6;

struct Window {
  double start = 0, end = 0;
  std::size_t steps = 0;
};

Window window_of(const DeviceTrace& trace) {
  if (!trace.steps.empty()) {
    const TraceStep& last = trace.steps.back();
    return {trace.steps.front().start, last.start + last.duration, trace.steps.size()};
  }
  Window window{trace.kernels.front().start, trace.kernels.front().start, 0};
  for (const TraceKernel& kernel : trace.kernels)
    window.end = std::max(window.end, kernel.start + kernel.duration);
  return window;
}

/// Kernels that begin in the window; they are sorted by start.
std::span<const TraceKernel> kernels_in(const DeviceTrace& trace, const Window& window) {
  const auto before = [](const TraceKernel& kernel, double time) { return kernel.start < time; };
  const auto first = std::lower_bound(trace.kernels.begin(), trace.kernels.end(), window.start, before);
  const auto last = trace.steps.empty() ? trace.kernels.end()
                                        : std::lower_bound(first, trace.kernels.end(), window.end, before);
  return {first, last};
}

/// Time during which at least one kernel of each class runs: computing, messages, copies.
struct Covered {
  double any = 0, messages_alone = 0, copies_alone = 0;
};

enum class Lane : std::uint8_t { Compute, Message, Copy };
Lane lane_of(KernelKind kind) {
  if (kind == KernelKind::Collective) return Lane::Message;
  return kind == KernelKind::Copy ? Lane::Copy : Lane::Compute;
}

struct Edge {
  double time;
  Lane lane;
  int change;
};

Covered cover(std::span<const TraceKernel> kernels, double end) {
  std::vector<Edge> edges;
  edges.reserve(2 * kernels.size());
  for (const TraceKernel& kernel : kernels) {
    edges.push_back({kernel.start, lane_of(kernel.kind), 1});
    edges.push_back({std::min(end, kernel.start + kernel.duration), lane_of(kernel.kind), -1});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.time < b.time; });
  Covered covered;
  std::array<int, 3> running{};
  double from = 0;
  for (const Edge& edge : edges) {
    const double length = edge.time - from;
    const bool compute = running[0] > 0, message = running[1] > 0, copy = running[2] > 0;
    if (compute || message || copy) covered.any += length;
    if (message && !compute) covered.messages_alone += length;
    if (copy && !compute && !message) covered.copies_alone += length;
    running[static_cast<std::size_t>(edge.lane)] += edge.change;
    from = edge.time;
  }
  return covered;
}

double median_of_some(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Bus bandwidth over bytes per second; 0 of what is no collective of several ranks.
double bus_factor(const TraceMessage& message) {
  const auto kind = collective_of(message);
  return message.ranks < 2 || !kind ? 0 : costmodel::bus_share(*kind, message.ranks);
}

/// Durations by what they are of.
template <class Key>
using Durations = std::map<Key, std::vector<double>>;

std::vector<MessageShare> messages_of(const DeviceTrace& trace, Durations<std::int32_t>& times,
                                      double steps) {
  std::vector<MessageShare> shares;
  for (auto& [index, durations] : times) {
    MessageShare share{.message = trace.messages[static_cast<std::size_t>(index)]};
    for (const double duration : durations) share.seconds += duration * kMicro / steps;
    share.count = static_cast<double>(durations.size()) / steps;
    share.median = median_of_some(durations) * kMicro;
    if (share.median > 0)
      share.bus_bandwidth = bus_factor(share.message) * share.message.bytes / share.median;
    shares.push_back(std::move(share));
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return shares;
}

std::vector<GemmShare> gemms_of(Durations<TraceGemm>& times, double steps) {
  std::vector<GemmShare> shares;
  for (auto& [gemm, durations] : times) {
    GemmShare share{.gemm = gemm};
    for (const double duration : durations) share.seconds += duration * kMicro / steps;
    share.count = static_cast<double>(durations.size()) / steps;
    share.median = median_of_some(durations) * kMicro;
    const double flops = 2.0 * static_cast<double>(gemm.m) * static_cast<double>(gemm.n) *
                         static_cast<double>(gemm.k) * static_cast<double>(gemm.batch);
    if (share.median > 0) share.rate = flops / share.median;
    shares.push_back(std::move(share));
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return shares;
}

}  // namespace

TraceProfile profile_of(const DeviceTrace& trace) {
  const Window window = window_of(trace);
  const double steps = static_cast<double>(std::max<std::size_t>(1, window.steps));
  TraceProfile profile{.steps = window.steps, .step = (window.end - window.start) * kMicro / steps};
  const std::span<const TraceKernel> kernels = kernels_in(trace, window);
  const Covered covered = cover(kernels, window.end);
  profile.busy = covered.any * kMicro / steps;
  profile.exposed_messages = covered.messages_alone * kMicro / steps;
  profile.exposed_copies = covered.copies_alone * kMicro / steps;
  Durations<std::int32_t> messages;
  std::map<std::int64_t, double> products;  // by operator: a product may take several kernels
  for (const TraceKernel& kernel : kernels) {
    KindShare& share = profile.kinds[static_cast<std::size_t>(kernel.kind)];
    share.seconds += kernel.duration * kMicro / steps;
    share.count += 1 / steps;
    if (kernel.message >= 0) messages[kernel.message].push_back(kernel.duration);
    if (kernel.kind == KernelKind::Gemm && trace.gemms.contains(kernel.operation))
      products[kernel.operation] += kernel.duration;
  }
  Durations<TraceGemm> gemms;
  for (const auto& [operation, duration] : products) {
    gemms[trace.gemms.at(operation)].push_back(duration);
    profile.known_gemms += duration * kMicro / steps;
  }
  profile.messages = messages_of(trace, messages, steps);
  profile.gemms = gemms_of(gemms, steps);
  return profile;
}

}  // namespace hexaplan::presets
