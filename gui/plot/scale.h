#pragma once
#include <cstdint>

namespace hexaplan::gui {

enum class ScaleKind : std::uint8_t { Linear, Log };

/// Maps values of an axis to pixels and back. A value type: no widget, no painter.
/// Preconditions: low < high; both positive when logarithmic.
class Scale {
 public:
  Scale() = default;
  Scale(ScaleKind kind, double low, double high, double from_pixel, double to_pixel);

  [[nodiscard]] double toPixel(double value) const;
  [[nodiscard]] double fromPixel(double pixel) const;
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }
  [[nodiscard]] ScaleKind kind() const { return kind_; }
  /// Length in pixels, never negative.
  [[nodiscard]] double length() const;

 private:
  ScaleKind kind_ = ScaleKind::Linear;
  double low_ = 0, high_ = 1, from_ = 0, to_ = 1;
};

}  // namespace hexaplan::gui
