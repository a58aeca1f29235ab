#pragma once
#include <cmath>
#include <cstdint>

#include "validator/executor/device/cpu/kernels/kernel_set.h"
#include "validator/executor/device/operation_forms.h"

namespace hexaplan::validator::kernels {

/// What a step does to every parameter alike, in the type that is computed in.
template <class T>
struct UpdateRates {
  UpdateRule rule = UpdateRule::AdamW;
  T rate = 0, beta1 = 0, beta2 = 0, epsilon = 0, momentum = 0;
  T decay = 0, factor = 1, direction_factor = 1;
  T first_correction = 1, second_correction = 1;  // 1 / (1 − βᵗ)
};
template <class T>
[[nodiscard]] UpdateRates<T> rates_of(const OptimizerUpdate& u) {
  const auto steps = static_cast<double>(u.step);
  return {.rule = u.rule,
          .rate = static_cast<T>(u.learning_rate),
          .beta1 = static_cast<T>(u.beta1),
          .beta2 = static_cast<T>(u.beta2),
          .epsilon = static_cast<T>(u.epsilon),
          .momentum = static_cast<T>(u.momentum),
          .decay = static_cast<T>(u.weight_decay),
          .factor = static_cast<T>(u.gradient_factor),
          .direction_factor = static_cast<T>(u.direction_factor),
          .first_correction = static_cast<T>(1 / (1 - std::pow(u.beta1, steps))),
          .second_correction = static_cast<T>(1 / (1 - std::pow(u.beta2, steps)))};
}

/// Arrays of a run of parameters; what a rule does not use may be null.
template <class T>
struct UpdatedRun {
  std::int64_t count = 0;
  const T* gradient = nullptr;
  T *first_moment = nullptr, *second_moment = nullptr, *master = nullptr, *direction = nullptr;
};
inline namespace HEXAPLAN_KERNEL_SET {
/// Every UpdateRule but those in 8 bits.
template <class T>
void update(const UpdateRates<T>& rates, const UpdatedRun<T>& run);
}  // namespace HEXAPLAN_KERNEL_SET

/// A run that begins at element `first` of a shard whose moments are codes of a DynamicMap, the first with a
/// sign, the second without, times the scale of their block.
template <class T>
struct QuantisedRun {
  std::int64_t first = 0, count = 0;
  const T* gradient = nullptr;
  std::uint8_t *first_moment = nullptr, *second_moment = nullptr;
  T *first_scale = nullptr, *second_scale = nullptr;
  T* master = nullptr;
};
inline namespace HEXAPLAN_KERNEL_SET {
/// UpdateRule::AdamW8bit, which changes the master alone, and AdamW8bitMoments, which changes the rest.
template <class T>
void update_8bit(const UpdateRates<T>& rates, const QuantisedRun<T>& run);
}  // namespace HEXAPLAN_KERNEL_SET

}  // namespace hexaplan::validator::kernels
