#include "validator/executor/report/run_summary.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace hexaplan::validator {

using costmodel::Seconds;

std::vector<PhaseSummary> summarize_phases(const std::vector<RankReport>& ranks) {
  std::vector<PhaseSummary> phases;
  double whole = 0;
  for (std::size_t i = 0; i < kPhases; ++i) {
    PhaseSummary sum{.phase = static_cast<Phase>(i), .mean = {}, .slowest = {}};
    for (const RankReport& rank : ranks) {
      sum.mean += rank.phases[i] / static_cast<double>(ranks.size());
      sum.slowest = std::max(sum.slowest, rank.phases[i]);
    }
    whole += sum.mean.value();
    if (sum.slowest.value() > 0) phases.push_back(sum);
  }
  for (PhaseSummary& sum : phases) sum.share = sum.mean.value() / whole;
  return phases;
}

std::vector<TrafficSummary> summarize_traffic(const std::vector<RankReport>& ranks) {
  using Key = std::pair<costmodel::CollectiveKind, costmodel::Group>;
  std::map<Key, TrafficCount> busiest;
  for (const RankReport& rank : ranks) {
    std::map<Key, TrafficCount> sums;
    for (const TrafficReport& row : rank.traffic) sums[{row.kind, row.group}] += row.count;
    for (const auto& [key, count] : sums) {
      TrafficCount& most = busiest[key];
      if (count.bytes >= most.bytes) most = count;
    }
  }
  std::vector<TrafficSummary> summary;
  summary.reserve(busiest.size());
  for (const auto& [key, count] : busiest) summary.push_back({key.first, key.second, count});
  return summary;
}

std::vector<OperationReport> summarize_operations(const std::vector<RankReport>& ranks) {
  std::map<std::string, OperationReport> sums;
  for (const RankReport& rank : ranks) {
    for (const OperationReport& row : rank.operations) {
      OperationReport& sum = sums[row.name];
      sum.name = row.name;
      sum.flops += row.flops;
      sum.timed_flops += row.timed_flops;
      sum.time += row.time;
    }
  }
  std::vector<OperationReport> slowest;
  slowest.reserve(sums.size());
  for (auto& [name, sum] : sums) slowest.push_back(std::move(sum));
  std::stable_sort(slowest.begin(), slowest.end(),
                   [](const auto& a, const auto& b) { return a.time > b.time; });
  return slowest;
}

}  // namespace hexaplan::validator
