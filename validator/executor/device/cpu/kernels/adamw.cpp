#include "validator/executor/device/cpu/kernels/adamw.h"

#include <cmath>

namespace hexaplan::validator::kernels {

template <class T>
void adamw(const AdamWFactors& f, const T* gradient, std::int64_t count, T* first_moment, T* second_moment,
           T* master) {
  const auto steps = static_cast<double>(f.step);
  const auto first_correction = static_cast<T>(1 / (1 - std::pow(f.beta1, steps)));
  const auto second_correction = static_cast<T>(1 / (1 - std::pow(f.beta2, steps)));
  const auto rate = static_cast<T>(f.learning_rate), epsilon = static_cast<T>(f.epsilon);
  const auto decay = static_cast<T>(f.weight_decay), factor = static_cast<T>(f.gradient_factor);
  const auto beta1 = static_cast<T>(f.beta1), beta2 = static_cast<T>(f.beta2);
  for (std::int64_t i = 0; i < count; ++i) {
    const T g = gradient[i] * factor;
    first_moment[i] = beta1 * first_moment[i] + (1 - beta1) * g;
    second_moment[i] = beta2 * second_moment[i] + (1 - beta2) * g * g;
    const T direction =
        first_moment[i] * first_correction / (std::sqrt(second_moment[i] * second_correction) + epsilon);
    master[i] -= rate * (direction + decay * master[i]);
  }
}

template void adamw<double>(const AdamWFactors&, const double*, std::int64_t, double*, double*, double*);
template void adamw<float>(const AdamWFactors&, const float*, std::int64_t, float*, float*, float*);

}  // namespace hexaplan::validator::kernels
