#pragma once
#include <cstdint>

class QApplication;

namespace hexaplan::gui {

enum class Theme : std::uint8_t { Light, Dark, LightContrast, DarkContrast };
[[nodiscard]] constexpr Theme themeOf(bool dark, bool high_contrast) {
  if (high_contrast) return dark ? Theme::DarkContrast : Theme::LightContrast;
  return dark ? Theme::Dark : Theme::Light;
}
[[nodiscard]] constexpr bool isDark(Theme theme) {
  return theme == Theme::Dark || theme == Theme::DarkContrast;
}
[[nodiscard]] constexpr bool isHighContrast(Theme theme) {
  return theme == Theme::LightContrast || theme == Theme::DarkContrast;
}

/// Colours and style of the whole application; charts follow the palette.
void applyTheme(Theme theme);
[[nodiscard]] Theme currentTheme();

}  // namespace hexaplan::gui
