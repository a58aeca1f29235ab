#include "presets/runs/trace_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "presets/json/input_error.h"

namespace hexaplan::presets {
namespace {

std::int64_t checked_product(const std::vector<std::int64_t>& dims, std::size_t first, std::size_t last) {
  std::int64_t all = 1;
  for (std::size_t i = first; i < last; ++i) {
    if (dims[i] < 1 || dims[i] > 1'000'000'000 || all > 1'000'000'000'000) return 0;
    all *= dims[i];
  }
  return all;
}

/// A[…, m, k] · B[…, k, n]; nothing where the dimensions are no product.
std::optional<TraceGemm> product_of(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  if (a.size() < 2 || b.size() != a.size() || a.back() != b[b.size() - 2]) return std::nullopt;
  TraceGemm gemm{.m = a[a.size() - 2],
                 .n = b.back(),
                 .k = a.back(),
                 .batch = checked_product(a, 0, a.size() - 2),
                 .type = {}};
  const bool sane = gemm.batch > 0 && checked_product({gemm.m, gemm.n, gemm.k}, 0, 3) > 0;
  return sane ? std::optional{gemm} : std::nullopt;
}

/// Operators of products, and which of their inputs are A and B.
struct GemmOperator {
  std::string_view name;
  std::size_t a;
};
constexpr GemmOperator kGemmOperators[] = {
    {"aten::mm", 0}, {"aten::bmm", 0}, {"aten::addmm", 1}, {"aten::baddbmm", 1}, {"aten::_scaled_mm", 0}};

}  // namespace

std::optional<TraceGemm> product_of_operator(std::string_view name,
                                             const std::vector<std::vector<std::int64_t>>& input_dims) {
  const auto found = std::find_if(std::begin(kGemmOperators), std::end(kGemmOperators),
                                  [&](const GemmOperator& row) { return row.name == name; });
  if (found == std::end(kGemmOperators) || input_dims.size() < found->a + 2) return std::nullopt;
  return product_of(input_dims[found->a], input_dims[found->a + 1]);
}

std::string message_of_kernel(std::string_view name) {
  constexpr std::string_view kKinds[] = {"AllReduce", "AllGather", "ReduceScatter", "SendRecv",
                                         "AllToAll",  "Broadcast", "Reduce"};
  const auto found = std::find_if(std::begin(kKinds), std::end(kKinds), [&](std::string_view kind) {
    return name.find(kind) != std::string_view::npos;
  });
  return found == std::end(kKinds) ? "collective" : std::string{*found};
}

TraceKernel& TraceBuilder::keep(const DeviceEvent& event) {
  if (trace_.kernels.size() >= kMostTraceKernels)
    throw InputError({.file = trace_.file,
                      .value = fmt::format("more than {} kernels", kMostTraceKernels),
                      .expected = "a trace of a few steps",
                      .hint = "profile fewer steps"});
  return trace_.kernels.emplace_back(TraceKernel{.start = event.start,
                                                 .duration = event.duration,
                                                 .kind = event.kind,
                                                 .name = event.name.empty() ? -1 : name_index(event.name),
                                                 .stream = stream_index(event.stream),
                                                 .operation = event.operation});
}

void TraceBuilder::add(const DeviceEvent& event) {
  if (event.kind == KernelKind::Gemm) correlations_.emplace_back(trace_.kernels.size(), event.correlation);
  keep(event);
}

void TraceBuilder::add_message(const DeviceEvent& event, TraceMessage message) {
  const auto [found, added] = message_indices_.try_emplace(std::move(message), trace_.messages.size());
  if (added) trace_.messages.push_back(found->first);
  keep(event).message = static_cast<std::int32_t>(found->second);
}

void TraceBuilder::add_launch(const TraceLaunch& launch) {
  if (launch.correlation >= 0 && launches_.size() < kMostTraceKernels) launches_.push_back(launch);
}

void TraceBuilder::add_product(std::int64_t operation, TraceGemm gemm, std::int64_t thread, double start,
                               double end) {
  trace_.gemms.insert_or_assign(operation, std::move(gemm));
  spans_.push_back({thread, start, end, operation});
}

void TraceBuilder::add_step(const TraceStep& step) {
  constexpr std::size_t kMostSteps = 100'000;
  if (trace_.steps.size() < kMostSteps) trace_.steps.push_back(step);
}

std::int32_t TraceBuilder::name_index(std::string_view name) {
  const auto [found, added] =
      name_indices_.try_emplace(std::string{name}, static_cast<std::int32_t>(trace_.names.size()));
  if (!added) return found->second;
  if (trace_.names.size() >= kMostKernelNames) {
    name_indices_.erase(found);
    return -1;
  }
  trace_.names.emplace_back(name);
  return found->second;
}

std::int32_t TraceBuilder::stream_index(std::int64_t stream) {
  const auto [found, added] =
      stream_indices_.try_emplace(stream, static_cast<std::int32_t>(trace_.streams.size()));
  if (added) trace_.streams.push_back(stream);
  return found->second;
}

void TraceBuilder::finish() {
  find_operators();
  const auto earlier = [](const auto& a, const auto& b) { return a.start < b.start; };
  std::stable_sort(trace_.kernels.begin(), trace_.kernels.end(), earlier);
  std::stable_sort(trace_.steps.begin(), trace_.steps.end(), earlier);
  const auto same = [](const TraceStep& a, const TraceStep& b) { return a.iteration == b.iteration; };
  trace_.steps.erase(std::unique(trace_.steps.begin(), trace_.steps.end(), same), trace_.steps.end());
}

void TraceBuilder::find_operators() {
  std::sort(spans_.begin(), spans_.end(), [](const ProductSpan& a, const ProductSpan& b) {
    return std::tie(a.thread, a.start) < std::tie(b.thread, b.start);
  });
  std::sort(launches_.begin(), launches_.end(),
            [](const TraceLaunch& a, const TraceLaunch& b) { return a.correlation < b.correlation; });
  for (const auto& [index, correlation] : correlations_) {
    std::int64_t& operation = trace_.kernels[index].operation;
    if (!trace_.gemms.contains(operation)) operation = operator_of(correlation).value_or(-1);
  }
}

std::optional<std::int64_t> TraceBuilder::operator_of(std::int64_t correlation) const {
  const auto launch =
      std::lower_bound(launches_.begin(), launches_.end(), correlation,
                       [](const TraceLaunch& a, std::int64_t value) { return a.correlation < value; });
  if (launch == launches_.end() || launch->correlation != correlation) return std::nullopt;
  const auto behind =
      std::upper_bound(spans_.begin(), spans_.end(), *launch, [](const TraceLaunch& a, const ProductSpan& b) {
        return std::tie(a.thread, a.start) < std::tie(b.thread, b.start);
      });
  if (behind == spans_.begin()) return std::nullopt;
  const ProductSpan& span = *std::prev(behind);
  const bool inside = span.thread == launch->thread && launch->start <= span.end;
  return inside ? std::optional{span.operation} : std::nullopt;
}

}  // namespace hexaplan::presets
