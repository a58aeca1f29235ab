#pragma once

namespace hexaplan::gui {

/// Why no window can be shown here, or nullptr. Asked before QApplication, which aborts without a display.
[[nodiscard]] const char* displayProblem();

}  // namespace hexaplan::gui
