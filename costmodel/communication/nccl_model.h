#pragma once
#include "costmodel/communication/collective_time.h"
#include "costmodel/communication/group_links.h"
#include "costmodel/communication/nccl_tuning.h"

namespace hexaplan::costmodel {

/// The cheapest algorithm and protocol by NCCL's cost model, at the rates of `links`.  [docs/formulas.md#C1]
/// Precondition: links.ranks > 1.
[[nodiscard]] CollectiveCost nccl_cost(CollectiveKind kind, Bytes payload, const GroupLinks& links,
                                       const nccl::Architecture& architecture, const NetworkModel& network);

}  // namespace hexaplan::costmodel
