#pragma once
#include <array>

#include "costmodel/program/ops.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel::program {

/// FlashAttention-2 counts backward as 2.5 times forward (arXiv:2307.08691 §4.1): five products, not two.
inline constexpr double kAttentionBackwardFlops = 2.5;

/// Numbers for the symbols of shapes, on one rank and for one micro-batch.
struct Sizes {
  std::array<double, position(Rows::Count)> rows{};
  std::array<double, position(Width::Count)> width{};
  double activation_bytes = 2;                     // per element of Type::Activation
  double quantised_bytes = 1;                      // … of Type::Quantised
  double attention_flops = 0, windowed_flops = 0;  // of core attention's forward pass
  double score_flops = 0, value_flops = 0;     // … that stores its scores: nothing is masked in products
  double scan_flops = 0, scan_back_flops = 0;  // of a recurrence's products

  [[nodiscard]] double of(Rows symbol) const { return rows[position(symbol)]; }
  [[nodiscard]] double of(Width symbol) const { return width[position(symbol)]; }
  [[nodiscard]] double bytes(const Shape& shape) const {
    return elements(shape) * bytes_per_element(shape.type);
  }
  [[nodiscard]] double bytes(const Value& value) const { return bytes(value.shape) * value.copies; }
  [[nodiscard]] double elements(const Shape& shape) const {
    return of(shape.rows) * of(shape.width) * of(shape.by);
  }
  [[nodiscard]] double bytes_per_element(Type type) const {
    const std::array<double, 5> bytes{activation_bytes, 4, 4, quantised_bytes, 1};  // by Type
    return bytes[position(type)];
  }
};
[[nodiscard]] Sizes sizes_of(const Scenario& scenario, const LocalDims& dims);

}  // namespace hexaplan::costmodel::program
