#include "costmodel/communication/collective_time.h"

#include <cmath>

#include "costmodel/communication/collective_curve.h"
#include "costmodel/communication/group_links.h"
#include "costmodel/communication/nccl_model.h"
#include "costmodel/communication/nccl_tuning.h"

namespace hexaplan::costmodel {
namespace {

/// Two curves with other rank counts on either side: in between by the logarithm of the count.
Seconds between(const CurvePair& curves, std::int64_t ranks, Bytes payload) {
  const double low = time_on(*curves.below, payload).value();
  const double high = time_on(*curves.above, payload).value();
  const auto log_of = [](std::int64_t n) { return std::log2(static_cast<double>(n)); };
  const double share = (log_of(ranks) - log_of(curves.below->ranks)) /
                       (log_of(curves.above->ranks) - log_of(curves.below->ranks));
  return Seconds{low * std::pow(high / low, share)};
}

/// The same links, with another number of members.
GroupLinks with_ranks(GroupLinks links, std::int64_t ranks) {
  links.ranks = links.per_domain = static_cast<double>(ranks);
  return links;
}

CollectiveCost measured(Seconds time) {
  return {time, Algorithm::None, Protocol::Simple, true};
}

/// By the curves inside a node, else by NCCL's model.
CollectiveCost cost_on(const GroupLinks& links, CollectiveKind kind, Bytes payload,
                       const GroupPlacement& group, const ClusterSpec& cluster,
                       const Calibration& calibration) {
  const nccl::Architecture& architecture = nccl::architecture_of(cluster.gpu.architecture);
  const auto model = [&](const GroupLinks& of) {
    return nccl_cost(kind, payload, of, architecture, calibration.network);
  };
  const CurvePair curves =
      links.domains > 1 ? CurvePair{} : nearest_curves(calibration.collectives, kind, group.ranks);
  if (curves.below == nullptr) {
    return model(links);
  }
  if (curves.below->ranks == group.ranks) {
    return measured(time_on(*curves.below, payload));
  }
  if (curves.below != curves.above) {
    return measured(between(curves, group.ranks, payload));
  }
  // Beyond the measured counts: the nearest curve, in the proportion of the model.
  const double growth = model(links).time / model(with_ranks(links, curves.below->ranks)).time;
  return measured(time_on(*curves.below, payload) * growth);
}

}  // namespace

CollectiveCost collective_cost(CollectiveKind kind, Bytes payload, const GroupPlacement& group,
                               const ClusterSpec& cluster, const Calibration& calibration) {
  if (group.ranks <= 1 || payload.value() <= 0) {
    return {};
  }
  const GroupLinks links = links_of(group, cluster, calibration.network);
  CollectiveCost cost = cost_on(links, kind, payload, group, cluster, calibration);
  if (links.domains <= 1) cost.time = cost.time / calibration.node_links;
  return cost;
}

}  // namespace hexaplan::costmodel
