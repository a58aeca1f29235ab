#include "validator/executor/layers/norm.h"

namespace hexaplan::validator {

Normed norm_forward(const Rank& rank, const View& x, const View& weight, const Keeping& keep) {
  Normed out{.output = rank.device.allocate(keep.label("norm.output"), x.rows, x.cols),
             .stats = rank.device.allocate(keep.fp32("norm.stats"), x.rows, 1)};
  rank.device.rms_norm(x, weight, rank.scenario.model.norm_epsilon, out.output, out.stats);
  return out;
}

void norm_backward(const Rank& rank, const View& dy, const View& x, const View& weight, const View& stats,
                   const View& d, const View& d_weight) {
  rank.device.rms_norm_backward(dy, x, weight, stats, d, d_weight);
}

}  // namespace hexaplan::validator
