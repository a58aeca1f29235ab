#include "validator/executor/device/cpu/kernels/optimizer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>

#include "costmodel/spec/optimizer_traits.h"
#include "validator/executor/device/dynamic_map.h"

namespace hexaplan::validator::kernels {
inline namespace HEXAPLAN_KERNEL_SET {
namespace {

template <class T>
struct Moments {
  T first, second;
};
template <class T>
Moments<T> next(const UpdateRates<T>& r, Moments<T> m, T g) {
  return {r.beta1 * m.first + (1 - r.beta1) * g, r.beta2 * m.second + (1 - r.beta2) * g * g};
}
template <class T>
T adam_direction(const UpdateRates<T>& r, Moments<T> m) {
  return m.first * r.first_correction / (std::sqrt(m.second * r.second_correction) + r.epsilon);
}
template <class T>
T sign(T x) {
  return static_cast<T>((x > 0) - (x < 0));
}

/// Moves the moments on; what AdamW steps along.
template <class T>
T move_moments(const UpdateRates<T>& r, const UpdatedRun<T>& run, std::int64_t i) {
  const Moments<T> m = next(r, {run.first_moment[i], run.second_moment[i]}, run.gradient[i] * r.factor);
  run.first_moment[i] = m.first;
  run.second_moment[i] = m.second;
  return adam_direction(r, m);
}

/// One parameter. The rule is known where this is compiled, so that loops over parameters are vector code.
template <UpdateRule kRule, class T>
void update_one(const UpdateRates<T>& r, const UpdatedRun<T>& run, std::int64_t i) {
  if constexpr (kRule == UpdateRule::AdamW) {
    run.master[i] -= r.rate * (move_moments(r, run, i) + r.decay * run.master[i]);
  } else if constexpr (kRule == UpdateRule::Sgd) {
    run.first_moment[i] =
        r.momentum * run.first_moment[i] + run.gradient[i] * r.factor + r.decay * run.master[i];
    run.master[i] -= r.rate * run.first_moment[i];
  } else if constexpr (kRule == UpdateRule::Lion) {
    const T g = run.gradient[i] * r.factor;
    const T direction = sign(r.beta1 * run.first_moment[i] + (1 - r.beta1) * g);
    run.master[i] -= r.rate * (direction + r.decay * run.master[i]);
    run.first_moment[i] = r.beta2 * run.first_moment[i] + (1 - r.beta2) * g;
  } else if constexpr (kRule == UpdateRule::LambDirection) {
    run.direction[i] = move_moments(r, run, i) + r.decay * run.master[i];
  } else if constexpr (kRule == UpdateRule::MuonDirection) {
    const T g = (1 - r.momentum) * run.gradient[i] * r.factor;
    run.first_moment[i] = r.momentum * run.first_moment[i] + g;
    run.direction[i] = r.momentum * run.first_moment[i] + g;
  } else if constexpr (kRule == UpdateRule::Descend) {
    run.master[i] -= r.rate * (r.direction_factor * run.direction[i] + r.decay * run.master[i]);
  } else {
    static_assert(kRule == UpdateRule::FactoredMoment);
    const T mean = run.gradient[i] * r.factor + r.epsilon;
    run.second_moment[i] = r.beta2 * run.second_moment[i] + (1 - r.beta2) * mean;
    run.direction[i] = r.direction_factor / std::sqrt(run.second_moment[i]);
  }
}

template <UpdateRule kRule, class T>
void update_all(const UpdateRates<T>& rates, const UpdatedRun<T>& run) {
  const UpdateRates<T> r = rates;  // what is stored cannot be these
  const UpdatedRun<T> arrays = run;
  for (std::int64_t i = 0; i < arrays.count; ++i) update_one<kRule>(r, arrays, i);
}

const DynamicMap& signed_map() {
  static const DynamicMap map = dynamic_map(true);
  return map;
}
const DynamicMap& unsigned_map() {
  static const DynamicMap map = dynamic_map(false);
  return map;
}

constexpr std::int64_t kBlock = costmodel::kMomentBlock;

/// The moments of element `i` of the run after this step.
template <class T>
Moments<T> next(const UpdateRates<T>& r, const QuantisedRun<T>& run, std::int64_t i) {
  const std::int64_t at = run.first + i, block = at / kBlock;
  const Moments<T> now{
      static_cast<T>(signed_map().values[run.first_moment[at]]) * run.first_scale[block],
      static_cast<T>(unsigned_map().values[run.second_moment[at]]) * run.second_scale[block]};
  return next(r, now, run.gradient[i] * r.factor);
}

/// Codes of a block and the largest of what they stand for; all zero without one.
template <class T>
T quantise(const DynamicMap& map, const std::array<T, kBlock>& values, std::int64_t count,
           std::uint8_t* codes) {
  T largest = 0;
  for (std::int64_t i = 0; i < count; ++i)
    largest = std::max(largest, std::abs(values[static_cast<std::size_t>(i)]));
  for (std::int64_t i = 0; i < count; ++i) {
    const T share = largest > 0 ? values[static_cast<std::size_t>(i)] / largest : T{0};
    codes[i] = static_cast<std::uint8_t>(map.nearest(share));
  }
  return largest;
}

template <class T>
void quantise_moments(const UpdateRates<T>& r, const QuantisedRun<T>& run) {
  assert(run.first % kBlock == 0);
  std::array<T, kBlock> first{}, second{};
  for (std::int64_t begin = 0; begin < run.count; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, run.count - begin), at = run.first + begin;
    for (std::int64_t i = 0; i < count; ++i) {
      const Moments<T> m = next(r, run, begin + i);
      first[static_cast<std::size_t>(i)] = m.first;
      second[static_cast<std::size_t>(i)] = m.second;
    }
    run.first_scale[at / kBlock] = quantise(signed_map(), first, count, run.first_moment + at);
    run.second_scale[at / kBlock] = quantise(unsigned_map(), second, count, run.second_moment + at);
  }
}

}  // namespace

template <class T>
void update(const UpdateRates<T>& rates, const UpdatedRun<T>& run) {
  switch (rates.rule) {
    case UpdateRule::AdamW:
      return update_all<UpdateRule::AdamW>(rates, run);
    case UpdateRule::Sgd:
      return update_all<UpdateRule::Sgd>(rates, run);
    case UpdateRule::Lion:
      return update_all<UpdateRule::Lion>(rates, run);
    case UpdateRule::LambDirection:
      return update_all<UpdateRule::LambDirection>(rates, run);
    case UpdateRule::MuonDirection:
      return update_all<UpdateRule::MuonDirection>(rates, run);
    case UpdateRule::Descend:
      return update_all<UpdateRule::Descend>(rates, run);
    case UpdateRule::FactoredMoment:
      return update_all<UpdateRule::FactoredMoment>(rates, run);
    case UpdateRule::AdamW8bit:
    case UpdateRule::AdamW8bitMoments:
      assert(false && "update_8bit does these");
  }
}

template <class T>
void update_8bit(const UpdateRates<T>& rates, const QuantisedRun<T>& run) {
  if (rates.rule == UpdateRule::AdamW8bitMoments) return quantise_moments(rates, run);
  for (std::int64_t i = 0; i < run.count; ++i) {
    const T direction = adam_direction(rates, next(rates, run, i));
    run.master[i] -= rates.rate * (direction + rates.decay * run.master[i]);
  }
}

template void update<double>(const UpdateRates<double>&, const UpdatedRun<double>&);
template void update<float>(const UpdateRates<float>&, const UpdatedRun<float>&);
template void update_8bit<double>(const UpdateRates<double>&, const QuantisedRun<double>&);
template void update_8bit<float>(const UpdateRates<float>&, const QuantisedRun<float>&);

}  // namespace HEXAPLAN_KERNEL_SET
}  // namespace hexaplan::validator::kernels
