#include "validator/executor/optimizer/loss_scale.h"

namespace hexaplan::validator {

void LossScale::follow(bool finite) {
  if (!scales_) return;
  if (!finite) {
    factor_ *= kBackoff;
    since_change_ = 0;
  } else if (++since_change_ == kGrowthInterval) {
    factor_ *= kGrowth;
    since_change_ = 0;
  }
}

}  // namespace hexaplan::validator
