#include "validator/executor/report/execution_report.h"

#include <algorithm>
#include <numeric>

namespace hexaplan::validator {
namespace {

std::int64_t total(const MemorySample& sample) {
  return std::accumulate(sample.live.begin(), sample.live.end(), std::int64_t{0});
}

}  // namespace

costmodel::Seconds median_step_time(const std::vector<StepReport>& steps) {
  std::vector<costmodel::Seconds> measured, all;
  for (const StepReport& step : steps) {
    all.push_back(step.time);
    if (!step.warm_up && !step.profiled) measured.push_back(step.time);
  }
  std::vector<costmodel::Seconds>& times = measured.empty() ? all : measured;
  if (times.empty()) return {};
  std::sort(times.begin(), times.end());
  const std::size_t middle = times.size() / 2;
  return times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

MemoryReport memory_report(const TrackingAllocator& memory) {
  MemoryReport report{.peak_bytes = memory.peak_bytes(),
                      .peak_by_kind = memory.peak_by_kind(),
                      .peak_tensors = {},
                      .timeline = memory.timeline()};
  for (std::size_t i = 0; i < report.peak_at.size(); ++i)
    report.peak_at[i] = memory.peak_at(costmodel::instant_at(static_cast<int>(i)));
  for (const LiveTensor& tensor : memory.peak_tensors())
    report.peak_tensors.push_back({std::string{tensor.name}, tensor.kind, tensor.bytes});
  return report;
}

std::vector<TrafficReport> traffic_report(const Traffic& traffic) {
  std::vector<TrafficReport> report;
  for (const TrafficRow& row : traffic.rows())
    report.push_back({std::string{row.operation}, row.pass, row.kind, row.group, row.count});
  return report;
}

std::vector<MemorySample> thinned(const std::vector<MemorySample>& samples, std::size_t most) {
  if (samples.size() <= most) return samples;
  std::vector<MemorySample> kept;
  for (std::size_t run = 0; run < most; ++run) {
    const auto begin = samples.begin() + static_cast<std::ptrdiff_t>(run * samples.size() / most);
    const auto end = samples.begin() + static_cast<std::ptrdiff_t>((run + 1) * samples.size() / most);
    kept.push_back(*std::max_element(
        begin, end, [](const MemorySample& a, const MemorySample& b) { return total(a) < total(b); }));
  }
  return kept;
}

}  // namespace hexaplan::validator
