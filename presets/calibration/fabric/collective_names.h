#pragma once
#include "costmodel/compute/operation.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {

/// Names of collectives in fabric files.
inline constexpr Named<costmodel::CollectiveKind> kCollectiveNames[] = {
    {"all_reduce", costmodel::CollectiveKind::AllReduce},
    {"all_gather", costmodel::CollectiveKind::AllGather},
    {"reduce_scatter", costmodel::CollectiveKind::ReduceScatter},
    {"all_to_all", costmodel::CollectiveKind::AllToAll},
    {"send_recv", costmodel::CollectiveKind::SendRecv},
    {"broadcast", costmodel::CollectiveKind::Broadcast}};

}  // namespace hexaplan::presets
