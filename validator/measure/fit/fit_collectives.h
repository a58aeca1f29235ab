#pragma once
#include <optional>
#include <span>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/cluster_spec.h"

namespace hexaplan::validator {

/// One collective, measured: payload in nccl-tests' convention.
struct CollectiveSample {
  costmodel::CollectiveKind kind = costmodel::CollectiveKind::AllReduce;
  int ranks = 2, nodes = 1;
  costmodel::Bytes payload;
  double seconds = 0;
};

/// The plainest description of one kind over one group: time = latency + payload / rate.
struct CollectiveLine {
  costmodel::CollectiveKind kind = costmodel::CollectiveKind::AllReduce;
  int ranks = 2, nodes = 1, points = 0;
  costmodel::Seconds latency, latency_error;  // one standard deviation
  costmodel::BytesPerSecond rate;             // of the payload; infinite: too small to tell
  double rate_error = 0;                      // relative
  double median_error = 0;                    // of |log(measured/line)|
};

/// Robust lines, by kind, ranks and nodes. Groups of fewer than two sizes have none.
[[nodiscard]] std::vector<CollectiveLine> fit_lines(std::span<const CollectiveSample> samples);

/// Curves of the groups inside one node: the median per size, times that never fall as sizes grow.
[[nodiscard]] std::vector<costmodel::CollectiveCurve> fit_curves(std::span<const CollectiveSample> samples);

/// How the network performs: attained share of the card's rate and latencies [docs/formulas.md#C1], fitted
/// through collective_cost to the samples over several nodes of `cluster`.
struct NetworkFit {
  costmodel::NetworkModel model;
  int points = 0;
  double median_error = 0, p90_error = 0;  // of |log(measured/modelled)|
  double efficiency_error = 0;             // one standard deviation, relative
};
/// Nothing when no sample spans nodes. `around`: curves inside the node, and what the fit starts from;
/// congestion stays as it is there.
[[nodiscard]] std::optional<NetworkFit> fit_network(std::span<const CollectiveSample> samples,
                                                    const costmodel::ClusterSpec& cluster,
                                                    const costmodel::Calibration& around);

}  // namespace hexaplan::validator
