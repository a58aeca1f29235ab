#pragma once
#include <vector>

#include "validator/executor/report/execution_report.h"

namespace hexaplan::validator {

// What all ranks did, summed up for people.

/// One phase of the steps, over all of them.
struct PhaseSummary {
  Phase phase = Phase::Other;
  costmodel::Seconds mean, slowest;  // over ranks
  double share = 0;                  // of the mean in all phases together
};
/// Phases that took time, in the order of Phase.
[[nodiscard]] std::vector<PhaseSummary> summarize_phases(const std::vector<RankReport>& ranks);

/// One kind of collective over one kind of group: what the rank that moved most bytes did, all steps.
struct TrafficSummary {
  costmodel::CollectiveKind kind = costmodel::CollectiveKind::AllReduce;
  costmodel::Group group = costmodel::Group::World;
  TrafficCount busiest;
};
[[nodiscard]] std::vector<TrafficSummary> summarize_traffic(const std::vector<RankReport>& ranks);

/// Matrix products and attention by name, over all ranks, passes and steps; the slowest first. `pass` says
/// nothing.
[[nodiscard]] std::vector<OperationReport> summarize_operations(const std::vector<RankReport>& ranks);

}  // namespace hexaplan::validator
