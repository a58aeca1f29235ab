#pragma once
#include <algorithm>
#include <cstdint>

#include "validator/executor/device/bf16.h"
#include "validator/executor/device/e4m3.h"
#include "validator/executor/device/fp16.h"
#include "validator/executor/device/view.h"

namespace hexaplan::validator::cuda {

/// Calls visit(part, first) for parts of at most `most` elements that make up the view in row-major order;
/// `first` elements come before a part.
template <class Visit>
void for_pieces(const View& whole, std::int64_t most, const Visit& visit, std::int64_t first = 0) {
  if (whole.elements() == 0) return;
  if (whole.contiguous()) {
    const View row = whole.rows == 1 ? whole : whole.reshaped(1, whole.elements());
    for (std::int64_t at = 0; at < row.cols; at += most)
      visit(row.column_range(at, std::min(most, row.cols - at)), first + at);
    return;
  }
  const std::int64_t rows = std::max<std::int64_t>(most / whole.cols, 1);
  for (std::int64_t r = 0; r < whole.rows; r += rows) {
    const View part = whole.row_range(r, std::min(rows, whole.rows - r));
    if (part.elements() <= most) {
      visit(part, first + r * whole.cols);
    } else {
      for_pieces(part, most, visit, first + r * whole.cols);  // one row, too long
    }
  }
}

/// Host numbers to and from memory that holds `element`.
template <class Host>
void encode(std::byte* to, Element element, const Host* from, std::int64_t count) {
  const auto each = [&]<class Stored>(Stored* out, const auto& convert) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = convert(from[i]);
  };
  // NOLINTBEGIN(*-reinterpret-cast): staging memory is untyped
  switch (element) {
    case Element::F64:
      return each(reinterpret_cast<double*>(to), [](Host x) { return static_cast<double>(x); });
    case Element::F32:
      return each(reinterpret_cast<float*>(to), [](Host x) { return static_cast<float>(x); });
    case Element::I32:
      return each(reinterpret_cast<std::int32_t*>(to), [](Host x) { return static_cast<std::int32_t>(x); });
    case Element::Bf16:
      return each(reinterpret_cast<Bf16*>(to), [](Host x) { return to_bf16(static_cast<float>(x)); });
    case Element::F16:
      return each(reinterpret_cast<Fp16*>(to), [](Host x) { return to_fp16(static_cast<float>(x)); });
    case Element::E4m3:
      return each(reinterpret_cast<E4m3*>(to), [](Host x) { return to_e4m3(static_cast<float>(x)); });
    case Element::U8:
      return each(reinterpret_cast<std::uint8_t*>(to), [](Host x) { return static_cast<std::uint8_t>(x); });
  }
}
template <class Host>
void decode(Host* to, Element element, const std::byte* from, std::int64_t count) {
  const auto each = [&]<class Stored>(const Stored* in, const auto& convert) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<Host>(convert(in[i]));
  };
  const auto same = [](auto x) { return x; };
  switch (element) {
    case Element::F64:
      return each(reinterpret_cast<const double*>(from), same);
    case Element::F32:
      return each(reinterpret_cast<const float*>(from), same);
    case Element::I32:
      return each(reinterpret_cast<const std::int32_t*>(from), same);
    case Element::Bf16:
      return each(reinterpret_cast<const Bf16*>(from), [](Bf16 x) { return to_float(x); });
    case Element::F16:
      return each(reinterpret_cast<const Fp16*>(from), [](Fp16 x) { return to_float(x); });
    case Element::E4m3:
      return each(reinterpret_cast<const E4m3*>(from), [](E4m3 x) { return to_float(x); });
    case Element::U8:
      return each(reinterpret_cast<const std::uint8_t*>(from), same);
  }
  // NOLINTEND(*-reinterpret-cast)
}

}  // namespace hexaplan::validator::cuda
