#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "costmodel/communication/collective_time.h"
#include "tests/support/random_scenario.h"

namespace hexaplan::costmodel {
namespace {

struct Question {
  CollectiveKind kind;
  Bytes payload;
  Scenario scenario;
  Group group;
  Calibration calibration;
  [[nodiscard]] Seconds time(Bytes size, const ClusterSpec& cluster) const {
    return collective_cost(kind, size, place_group(scenario.layout, group, cluster), cluster, calibration)
        .time;
  }
};

Question any_question() {
  const auto kinds = {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                      CollectiveKind::AllToAll,  CollectiveKind::SendRecv,  CollectiveKind::Broadcast};
  return {.kind = *rc::gen::elementOf(std::vector<CollectiveKind>(kinds)),
          .payload = Bytes{std::exp2(*rc::gen::inRange(0, 3600) / 100.0)},
          .scenario = *support::any_scenario(),
          .group = static_cast<Group>(*rc::gen::inRange(0, kLayoutGroups)),
          .calibration = *support::any_calibration()};
}

RC_GTEST_PROP(collective_laws, time_is_finite_and_one_rank_costs_nothing, ()) {
  const Question q = any_question();
  const Seconds t = q.time(q.payload, q.scenario.cluster);
  RC_ASSERT(std::isfinite(t.value()));
  if (group_size(q.scenario.layout, q.group) == 1) {
    RC_ASSERT(t == Seconds{0});
  } else {
    RC_ASSERT(t > Seconds{0});
  }
}

RC_GTEST_PROP(collective_laws, doubling_bandwidth_never_slows, ()) {
  const Question q = any_question();
  ClusterSpec faster = q.scenario.cluster;
  for (NetworkLevel& level : faster.levels) level.bandwidth *= 2;
  RC_ASSERT(q.time(q.payload, faster) <= q.time(q.payload, q.scenario.cluster));
}

RC_GTEST_PROP(collective_laws, more_bytes_never_take_less_time, ()) {
  const Question q = any_question();
  const double factor = 1 + *rc::gen::inRange(1, 400) / 100.0;
  RC_ASSERT(q.time(factor * q.payload, q.scenario.cluster) >= q.time(q.payload, q.scenario.cluster));
}

RC_GTEST_PROP(collective_laws, a_large_all_reduce_costs_at_least_half_an_all_gather_of_the_same_tensor, ()) {
  Question q = any_question();
  q.payload = Bytes{std::exp2(*rc::gen::inRange(30, 40))};  // small ones: a tree has fewer steps than a ring
  q.kind = CollectiveKind::AllGather;
  const Seconds gather = q.time(q.payload, q.scenario.cluster);
  q.kind = CollectiveKind::AllReduce;
  // In-network reduction can halve the traffic of an all-reduce, never more.
  RC_ASSERT(2 * q.time(q.payload, q.scenario.cluster) >= gather);
}

}  // namespace
}  // namespace hexaplan::costmodel
