#pragma once
#include "costmodel/units/quantity.h"

namespace hexaplan::costmodel {

/// Compute with communication beside it.
struct Overlap {
  Seconds total;
  Seconds exposed;  // total − compute alone
};

/// `share` of `communication` may run beside `compute`, which meanwhile takes `slowdown` times as long; the
/// rest follows.  [docs/formulas.md#C7]  Preconditions: 0 <= share <= 1, slowdown >= 1.
[[nodiscard]] constexpr Overlap overlap(Seconds compute, Seconds communication, double share,
                                        double slowdown) {
  const Seconds beside = communication * share;
  const Seconds after = communication - beside;
  // Compute that finishes first leaves `beside` alone on the device, as it would have been anyway.
  const Seconds together = larger(beside, compute + beside * (1.0 - 1.0 / slowdown));
  const Seconds total = together + after;
  return {total, total - compute};
}

/// What is waited for of a transfer in `buckets` equal parts, each of which starts once its share of
/// `compute` has run (gradients), or which its share of compute waits for (parameters): one of them has
/// nothing beside it, nor has one share of compute.  [docs/formulas.md#C8]  Preconditions: buckets >= 1,
/// slowdown >= 1.
[[nodiscard]] constexpr Seconds exposed_in_buckets(Seconds compute, Seconds transfer, double buckets,
                                                   double slowdown) {
  const double beside = 1 - 1 / buckets;
  return transfer / buckets + overlap(compute * beside, transfer * beside, 1, slowdown).exposed;
}

}  // namespace hexaplan::costmodel
