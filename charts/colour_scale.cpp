#include "charts/colour_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace hexaplan::charts {
namespace {

constexpr std::array<Colour, 9> kKnots{{{0x00, 0x30, 0x6f},
                                        {0x2d, 0x41, 0x70},
                                        {0x4c, 0x56, 0x6d},
                                        {0x66, 0x69, 0x70},
                                        {0x7d, 0x7c, 0x78},
                                        {0x97, 0x90, 0x7a},
                                        {0xb3, 0xa7, 0x72},
                                        {0xd0, 0xbe, 0x64},
                                        {0xfe, 0xe8, 0x38}}};

/// Of sRGB (WCAG 2.2, "relative luminance").
double luminance(Colour colour) {
  const auto linear = [](std::uint8_t channel) {
    const double share = channel / 255.0;
    return share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
}

}  // namespace

Colour sequential_colour(double position) {
  const double at = std::clamp(position, 0.0, 1.0) * (kKnots.size() - 1);
  const auto left = std::min(static_cast<std::size_t>(at), kKnots.size() - 2);
  const double share = at - static_cast<double>(left);
  const auto mixed = [&](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(std::lround(a + share * (b - a)));
  };
  const Colour a = kKnots[left], b = kKnots[left + 1];
  return {mixed(a.red, b.red), mixed(a.green, b.green), mixed(a.blue, b.blue)};
}

Colour writing_on(Colour ground) {
  constexpr double kEqualContrast = 0.179;  // (L + 0.05)² = 1.05 · 0.05
  return luminance(ground) > kEqualContrast ? Colour{0x10, 0x10, 0x10} : Colour{0xff, 0xff, 0xff};
}

std::string to_text(Colour colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

}  // namespace hexaplan::charts
