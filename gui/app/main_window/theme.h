#pragma once
#include <cstdint>

class QApplication;

namespace hexaplan::gui {

enum class Theme : std::uint8_t { Light, Dark };

/// Colours and style of the whole application; charts follow the palette.
void applyTheme(Theme theme);
[[nodiscard]] Theme currentTheme();

}  // namespace hexaplan::gui
