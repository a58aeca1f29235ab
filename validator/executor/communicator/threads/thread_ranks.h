#pragma once
#include "validator/executor/communicator/run_ranks.h"

namespace hexaplan::validator {

/// Ranks are threads of this process. Sums run in rank order, so results do not depend on timing.
class ThreadRanks : public RankBackend {
 public:
  void run(const RankOptions& options, const RankProgram& program) override;
};

}  // namespace hexaplan::validator
