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
  int stride = 1;  // between the ranks of a group
  int groups = 1;  // that did the same at the same time
};

/// What the cost model takes for the sample's collective on the first ranks of `cluster`.
[[nodiscard]] costmodel::Seconds modelled_time(const CollectiveSample& sample,
                                               const costmodel::ClusterSpec& cluster,
                                               const costmodel::Calibration& calibration);

/// The plainest description of one kind over one group: time = latency + payload / rate.
struct CollectiveLine {
  costmodel::CollectiveKind kind = costmodel::CollectiveKind::AllReduce;
  int ranks = 2, nodes = 1, stride = 1, groups = 1, points = 0;
  costmodel::Seconds latency, latency_error;  // one standard deviation
  costmodel::BytesPerSecond rate;             // of the payload; infinite: too small to tell
  double rate_error = 0;                      // relative
  double median_error = 0;                    // of |log(measured/line)|
};

/// Robust lines, by kind and groups. Groups of fewer than two sizes have none.
[[nodiscard]] std::vector<CollectiveLine> fit_lines(std::span<const CollectiveSample> samples);

/// Curves of the groups inside one node: the median per size, times that never fall as sizes grow.
[[nodiscard]] std::vector<costmodel::CollectiveCurve> fit_curves(std::span<const CollectiveSample> samples);

/// How the network performs: attained share of the card's rate, latencies, what groups that share the cards
/// of a node lose, and the shares of pairs and all-to-alls [docs/formulas.md#C1], fitted through
/// collective_cost to the samples over several nodes of `cluster`.
struct NetworkFit {
  costmodel::NetworkModel model;
  int points = 0;
  double median_error = 0, p90_error = 0;  // of |log(measured/modelled)|
  double efficiency_error = 0;             // one standard deviation, relative
  bool measured_contention = false, measured_pairs = false, measured_exchange = false;
};
/// Nothing when no sample spans nodes. `around`: curves inside the node, and what the fit starts from;
/// congestion stays as it is there, and so does what no sample speaks of.
[[nodiscard]] std::optional<NetworkFit> fit_network(std::span<const CollectiveSample> samples,
                                                    const costmodel::ClusterSpec& cluster,
                                                    const costmodel::Calibration& around);

}  // namespace hexaplan::validator
