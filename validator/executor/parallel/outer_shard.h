#pragma once
#include "validator/executor/optimizer/optimizer_step.h"
#include "validator/executor/parallel/rank.h"
#include "validator/executor/parallel/shard_place.h"

namespace hexaplan::validator {

/// What outer steps keep of a rank's shard of a flat buffer, on the device or its host, and the steps that
/// they take with it: SGD with Nesterov's momentum along the mean of what the replicas' parameters have moved
/// by (arXiv:2311.08105 algorithm 1; pytorch/pytorch torch/optim/sgd.py).
class OuterShard {
 public:
  OuterShard() = default;
  /// The momentum is zero, and the copy is not written.
  OuterShard(const Rank& rank, const ShardPlace& place);

  /// The copy becomes `parameters`: of the shard, as the optimizer updates them.
  void begin(const Rank& rank, const View& parameters) const;
  /// … and both become what the replicas' parameters make of the copy. Collective over them.
  void step(const Rank& rank, const OptimizerOptions& options, const View& parameters) const;

 private:
  void average(const Rank& rank, const View& gradient) const;

  bool copy_on_host_ = false, momentum_on_host_ = false;
  Tensor copy_, momentum_;
};

}  // namespace hexaplan::validator
