#pragma once
#include <cstdint>

namespace hexaplan::validator {

/// Dynamic loss scaling (arXiv:1710.03740 §3.2): the loss's gradient is multiplied so that fp16 gradients do
/// not vanish; a step whose gradients overflow is left out and the factor halved, after a row of steps that
/// did not it is doubled. Constants: defaults of torch.amp.GradScaler (pytorch/pytorch@v2.9.0
/// torch/amp/grad_scaler.py).
class LossScale {
 public:
  static constexpr double kFirst = 65536, kGrowth = 2, kBackoff = 0.5;
  static constexpr std::int64_t kGrowthInterval = 2000;

  /// `scales` false: 1, whatever happens.
  explicit LossScale(bool scales) : scales_{scales}, factor_{scales ? kFirst : 1} {}

  [[nodiscard]] bool scales() const { return scales_; }
  /// Of the next step's loss.
  [[nodiscard]] double factor() const { return factor_; }
  /// After a step: whether all gradients were finite.
  void follow(bool finite);

 private:
  bool scales_;
  double factor_;
  std::int64_t since_change_ = 0;  // steps that went well
};

}  // namespace hexaplan::validator
