#include "costmodel/communication/device_overhead.h"

#include <algorithm>

#include "costmodel/communication/communicator_memory.h"
#include "costmodel/spec/rank_grid.h"

namespace hexaplan::costmodel {
namespace {

/// What a layout's process groups run, by the kind that needs most buffers.
struct GroupTraffic {
  Group group;
  CollectiveKind kind;
};

}  // namespace

Bytes communicator_bytes(const Scenario& sc) {
  const Layout& l = sc.layout;
  const GroupTraffic traffic[] = {
      {Group::Tensor, l.sp ? CollectiveKind::AllGather : CollectiveKind::AllReduce},
      {Group::Context, l.context == ContextKind::Ring ? CollectiveKind::SendRecv : CollectiveKind::AllToAll},
      {Group::DataContext, l.sharding.stage >= 1 ? CollectiveKind::AllGather : CollectiveKind::AllReduce},
      {Group::Pipeline, CollectiveKind::SendRecv},
      {Group::Expert, CollectiveKind::AllToAll},
      {Group::World, CollectiveKind::AllReduce},  // loss, gradient norm, barriers
      {Group::Outer, CollectiveKind::AllReduce},
  };
  Bytes sum;
  for (const auto& [group, kind] : traffic) {
    if (group_size(l, group) <= 1) continue;
    sum +=
        sc.framework.communicator + communicator_memory(kind, place_group(l, group, sc.cluster), sc.cluster);
  }
  return sum;
}

DeviceOverhead device_overhead(const Scenario& sc, const Calibration& calibration) {
  return {.context = calibration.context.value() > 0 ? calibration.context : sc.framework.context,
          .communicators = communicator_bytes(sc)};
}

}  // namespace hexaplan::costmodel
