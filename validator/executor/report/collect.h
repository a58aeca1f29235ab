#pragma once
#include <vector>

#include "validator/executor/communicator/communicator.h"
#include "validator/executor/report/execution_report.h"

namespace hexaplan::validator {

/// Every rank's report on every rank, in rank order. Collective over `world`; counts no traffic.
[[nodiscard]] std::vector<RankReport> collect(Communicator& world, const RankReport& mine);

}  // namespace hexaplan::validator
