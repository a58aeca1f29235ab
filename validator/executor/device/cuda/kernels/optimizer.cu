#include <algorithm>
#include <cassert>
#include <cmath>

#include "costmodel/spec/optimizer_traits.h"
#include "validator/executor/device/cuda/kernels/spread.h"
#include "validator/executor/device/device.h"
#include "validator/executor/device/dynamic_map.h"

namespace hexaplan::validator::cuda {
namespace {

/// What a step does to every parameter alike.
struct Rates {
  UpdateRule rule;
  float rate, beta1, beta2, epsilon, momentum, decay, factor, direction_factor;
  float first_correction, second_correction;

  HEXAPLAN_DEVICE float first(float m, float g) const { return beta1 * m + (1 - beta1) * g; }
  HEXAPLAN_DEVICE float second(float v, float g) const { return beta2 * v + (1 - beta2) * g * g; }
  HEXAPLAN_DEVICE float direction(float m, float v) const {
    return m * first_correction / (sqrtf(v * second_correction) + epsilon);
  }
};
Rates rates_of(const OptimizerUpdate& u) {
  const auto steps = static_cast<double>(u.step);
  return {.rule = u.rule,
          .rate = static_cast<float>(u.learning_rate),
          .beta1 = static_cast<float>(u.beta1),
          .beta2 = static_cast<float>(u.beta2),
          .epsilon = static_cast<float>(u.epsilon),
          .momentum = static_cast<float>(u.momentum),
          .decay = static_cast<float>(u.weight_decay),
          .factor = static_cast<float>(u.gradient_factor),
          .direction_factor = static_cast<float>(u.direction_factor),
          .first_correction = static_cast<float>(1 / (1 - std::pow(u.beta1, steps))),
          .second_correction = static_cast<float>(1 / (1 - std::pow(u.beta2, steps)))};
}

/// AdamW, or the direction that LAMB takes from the same moments.
struct Adam {
  Rates rates;
  View parameter, master, first_moment, second_moment, gradient, direction;

  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    const Pack<kCount> g = load<kCount>(gradient, r, c);
    Pack<kCount> m = load<kCount>(first_moment, r, c), v = load<kCount>(second_moment, r, c);
    Pack<kCount> w = load<kCount>(master, r, c), d;
    for (int i = 0; i < kCount; ++i) {
      const float scaled = g.at[i] * rates.factor;
      m.at[i] = rates.first(m.at[i], scaled);
      v.at[i] = rates.second(v.at[i], scaled);
      d.at[i] = rates.direction(m.at[i], v.at[i]) + rates.decay * w.at[i];
      w.at[i] -= rates.rate * d.at[i];
    }
    store(first_moment, r, c, m);
    store(second_moment, r, c, v);
    if (rates.rule == UpdateRule::LambDirection) return store(direction, r, c, d);
    store(master, r, c, w);
    store(parameter, r, c, w);
  }
};

/// SGD and Lion.
struct OneMoment {
  Rates rates;
  View parameter, master, moment, gradient;

  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    const Pack<kCount> g = load<kCount>(gradient, r, c);
    Pack<kCount> m = load<kCount>(moment, r, c), w = load<kCount>(master, r, c);
    for (int i = 0; i < kCount; ++i) {
      const float scaled = g.at[i] * rates.factor;
      if (rates.rule == UpdateRule::Sgd) {
        m.at[i] = rates.momentum * m.at[i] + scaled + rates.decay * w.at[i];
        w.at[i] -= rates.rate * m.at[i];
      } else {
        const float mixed = rates.first(m.at[i], scaled);
        const auto sign = static_cast<float>((mixed > 0) - (mixed < 0));
        w.at[i] -= rates.rate * (sign + rates.decay * w.at[i]);
        m.at[i] = rates.beta2 * m.at[i] + (1 - rates.beta2) * scaled;
      }
    }
    store(moment, r, c, m);
    store(master, r, c, w);
    store(parameter, r, c, w);
  }
};

struct MuonDirection {
  Rates rates;
  View moment, gradient, direction;

  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    Pack<kCount> g = load<kCount>(gradient, r, c), m = load<kCount>(moment, r, c);
    for (int i = 0; i < kCount; ++i) {
      g.at[i] *= rates.factor * (1 - rates.momentum);
      m.at[i] = rates.momentum * m.at[i] + g.at[i];
      g.at[i] += rates.momentum * m.at[i];
    }
    store(moment, r, c, m);
    store(direction, r, c, g);
  }
};

struct Descend {
  Rates rates;
  View parameter, master, direction;

  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    const Pack<kCount> d = load<kCount>(direction, r, c);
    Pack<kCount> w = load<kCount>(master, r, c);
    for (int i = 0; i < kCount; ++i)
      w.at[i] -= rates.rate * (rates.direction_factor * d.at[i] + rates.decay * w.at[i]);
    store(master, r, c, w);
    store(parameter, r, c, w);
  }
};

/// `sums` may be `direction`.
struct FactoredMoment {
  Rates rates;
  View moment, sums, direction;

  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    const Pack<kCount> sum = load<kCount>(sums, r, c);
    Pack<kCount> v = load<kCount>(moment, r, c), d;
    for (int i = 0; i < kCount; ++i) {
      const float mean = sum.at[i] * rates.factor + rates.epsilon;
      v.at[i] = rates.beta2 * v.at[i] + (1 - rates.beta2) * mean;
      d.at[i] = rates.direction_factor / sqrtf(v.at[i]);
    }
    store(moment, r, c, v);
    store(direction, r, c, d);
  }
};

constexpr int kBlock = costmodel::kMomentBlock;

/// The numbers of a DynamicMap where kernels can read them.
struct Codes {
  float values[256];

  /// As DynamicMap::nearest.
  HEXAPLAN_DEVICE int nearest(float x) const {
    int low = 0, high = 255;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (x > (values[middle] + values[middle + 1]) / 2) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
};
Codes codes_of(bool has_sign) {
  Codes out;
  const DynamicMap map = dynamic_map(has_sign);
  std::copy(map.values.begin(), map.values.end(), out.values);
  return out;
}

/// A moment in 8 bits.
struct Quantised {
  Codes codes;
  View moment, scale;

  HEXAPLAN_DEVICE std::uint8_t* at(std::int64_t i) const {
    return reinterpret_cast<std::uint8_t*>(moment.data) + i;
  }
  HEXAPLAN_DEVICE float value(std::int64_t i) const {
    return codes.values[*at(i)] * vector_at(scale, i / kBlock);
  }
};

struct Adam8bit {
  Rates rates;
  Quantised first, second;
  View parameter, master, gradient;
  std::int64_t begin;  // of the run, in the shard

  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    const Pack<kCount> g = load<kCount>(gradient, r, c);
    Pack<kCount> w = load<kCount>(master, r, c);
    for (int i = 0; i < kCount; ++i) {
      const float scaled = g.at[i] * rates.factor;
      const float m = rates.first(first.value(begin + c + i), scaled),
                  v = rates.second(second.value(begin + c + i), scaled);
      w.at[i] -= rates.rate * (rates.direction(m, v) + rates.decay * w.at[i]);
    }
    store(master, r, c, w);
    store(parameter, r, c, w);
  }
};

/// The largest of a block of numbers becomes its scale, and each a code. All threads of a block call it.
HEXAPLAN_DEVICE void quantise(const Quantised& to, std::int64_t i, bool inside, float value) {
  const float largest = over_block(inside ? fabsf(value) : 0.0F, Max{});
  if (inside) *to.at(i) = static_cast<std::uint8_t>(to.codes.nearest(largest > 0 ? value / largest : 0.0F));
  if (threadIdx.x == 0) set_vector(to.scale, i / kBlock, largest);
}

/// One block of threads per block of moments.
HEXAPLAN_KERNEL quantise_moments(Rates rates, Quantised first, Quantised second, View gradient) {
  for (std::int64_t block = blockIdx.x; block < (gradient.cols + kBlock - 1) / kBlock; block += gridDim.x) {
    const std::int64_t i = block * kBlock + threadIdx.x;
    const bool inside = i < gradient.cols;
    const float g = inside ? load(gradient, 0, i) * rates.factor : 0.0F;
    const float m = inside ? rates.first(first.value(i), g) : 0.0F;
    const float v = inside ? rates.second(second.value(i), g) : 0.0F;
    sync_block();  // scales are read
    quantise(first, i, inside, m);
    quantise(second, i, inside, v);
  }
}

template <class Operation>
void launch_run(const Queue& queue, const char* name, const View& run, bool in_packs,
                const Operation& operation) {
  launch_elementwise(queue, name, 1, run.elements(), in_packs, operation);
}

}  // namespace

void update(const Queue& queue, const OptimizerUpdate& u) {
  const Rates rates = rates_of(u);
  const View gradient = flat(u.gradient), parameter = flat(u.parameter), master = flat(u.master),
             direction = flat(u.direction), m = flat(u.first_moment), v = flat(u.second_moment);
  assert(u.master.data == nullptr || u.gradient.data == nullptr || master.elements() == gradient.elements());
  switch (u.rule) {
    case UpdateRule::AdamW:
      return launch_run(queue, "adamw", gradient, packed({parameter, master, m, v, gradient}),
                        Adam{rates, parameter, master, m, v, gradient, direction});
    case UpdateRule::LambDirection:
      return launch_run(queue, "lamb_direction", gradient, packed({direction, master, m, v, gradient}),
                        Adam{rates, parameter, master, m, v, gradient, direction});
    case UpdateRule::Sgd:
    case UpdateRule::Lion:
      return launch_run(queue, u.rule == UpdateRule::Sgd ? "sgd" : "lion", gradient,
                        packed({parameter, master, m, gradient}),
                        OneMoment{rates, parameter, master, m, gradient});
    case UpdateRule::MuonDirection:
      return launch_run(queue, "muon_direction", gradient, packed({m, gradient, direction}),
                        MuonDirection{rates, m, gradient, direction});
    case UpdateRule::Descend:
      return launch_run(queue, "descend", direction, packed({parameter, master, direction}),
                        Descend{rates, parameter, master, direction});
    case UpdateRule::FactoredMoment:
      return launch_run(queue, "factored_moment", gradient, packed({v, gradient, direction}),
                        FactoredMoment{rates, v, gradient, direction});
    case UpdateRule::AdamW8bit:
    case UpdateRule::AdamW8bitMoments:
      break;
  }
  const Quantised first{codes_of(true), m, u.first_scale}, second{codes_of(false), v, u.second_scale};
  if (u.rule == UpdateRule::AdamW8bit)
    return launch_run(queue, "adamw_8bit", gradient, packed({parameter, master, gradient}),
                      Adam8bit{rates, first, second, parameter, master, gradient, u.first});
  const std::int64_t blocks = ceil_of(gradient.elements(), kBlock);
  launch(queue,
         {.name = "adamw_8bit_moments",
          .grid = {as_dim(std::min(blocks, kManyBlocks)), 1, 1},
          .block = {kBlock, 1, 1}},
         quantise_moments, rates, first, second, gradient);
}

}  // namespace hexaplan::validator::cuda
