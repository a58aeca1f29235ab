#pragma once
#include "validator/executor/communicator/run_ranks.h"

namespace hexaplan::validator {

/// One real rank of a world of any size, on the calling thread; nobody else exists. Its memory, sizes, order
/// of calls and traffic counts are those of the rank in the whole job, so that one device measures what a
/// rank of thousands computes and keeps. What peers would have sent is made on the device, never zeros:
/// whoever contributes alike sends what this rank sends (gathered parameters, rows for experts, counts of
/// rows), sums are this rank's share, and a stream from another pipeline stage is noise. Numbers that come
/// out (loss, gradient norm) are therefore this rank's share and mean nothing more; sizes that received
/// numbers steer (a mixture of experts) are as if all ranks chose as this one does.
class SoloRanks : public RankBackend {
 public:
  explicit SoloRanks(int rank) : rank_{rank} {}
  /// Throws std::out_of_range when there is no such rank among options.ranks.
  void run(const RankOptions& options, const RankProgram& program) override;

 private:
  int rank_;
};

}  // namespace hexaplan::validator
