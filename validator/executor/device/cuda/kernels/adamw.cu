#include <cassert>
#include <cmath>

#include "validator/executor/device/cuda/kernels/spread.h"
#include "validator/executor/device/device.h"

namespace hexaplan::validator::cuda {
namespace {

struct Update {
  View parameter, master, first_moment, second_moment, gradient;
  float rate, beta1, beta2, epsilon, decay, factor;
  float first_correction, second_correction;

  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    const Pack<kCount> g = load<kCount>(gradient, r, c);
    Pack<kCount> m = load<kCount>(first_moment, r, c), v = load<kCount>(second_moment, r, c);
    Pack<kCount> w = load<kCount>(master, r, c);
    for (int i = 0; i < kCount; ++i) {
      const float scaled = g.at[i] * factor;
      m.at[i] = beta1 * m.at[i] + (1 - beta1) * scaled;
      v.at[i] = beta2 * v.at[i] + (1 - beta2) * scaled * scaled;
      const float direction = m.at[i] * first_correction / (sqrtf(v.at[i] * second_correction) + epsilon);
      w.at[i] -= rate * (direction + decay * w.at[i]);
    }
    store(first_moment, r, c, m);
    store(second_moment, r, c, v);
    store(master, r, c, w);
    store(parameter, r, c, w);
  }
};

}  // namespace

void adamw(const Queue& queue, const AdamW& u) {
  assert(u.master.elements() == u.gradient.elements() && u.parameter.elements() == u.gradient.elements());
  const auto steps = static_cast<double>(u.step);
  const Update update{.parameter = flat(u.parameter),
                      .master = flat(u.master),
                      .first_moment = flat(u.first_moment),
                      .second_moment = flat(u.second_moment),
                      .gradient = flat(u.gradient),
                      .rate = static_cast<float>(u.learning_rate),
                      .beta1 = static_cast<float>(u.beta1),
                      .beta2 = static_cast<float>(u.beta2),
                      .epsilon = static_cast<float>(u.epsilon),
                      .decay = static_cast<float>(u.weight_decay),
                      .factor = static_cast<float>(u.gradient_factor),
                      .first_correction = static_cast<float>(1 / (1 - std::pow(u.beta1, steps))),
                      .second_correction = static_cast<float>(1 / (1 - std::pow(u.beta2, steps)))};
  const bool in_packs =
      packed({update.parameter, update.master, update.first_moment, update.second_moment, update.gradient});
  launch_elementwise(queue, "adamw", 1, update.gradient.cols, in_packs, update);
}

}  // namespace hexaplan::validator::cuda
