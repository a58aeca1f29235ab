#pragma once
#include <cstdint>
#include <string>

namespace hexaplan::charts {

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;
  friend bool operator==(const Colour&, const Colour&) = default;
};

/// From dark to light for `position` 0..1: cividis (Nuñez, Anderton, Renslow 2018,
/// doi:10.1371/journal.pone.0199239), without the darkest, which reads the same with every colour vision.
[[nodiscard]] Colour sequential_colour(double position);
/// The one of black and white that contrasts more with it (WCAG 2.2, relative luminance).
[[nodiscard]] Colour writing_on(Colour ground);
/// "#00306f".
[[nodiscard]] std::string to_text(Colour colour);

}  // namespace hexaplan::charts
