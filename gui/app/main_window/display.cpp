#include "gui/app/main_window/display.h"

#include <QString>
#include <QtGlobal>

namespace hexaplan::gui {

const char* displayProblem() {
#ifdef Q_OS_UNIX
  // A platform chosen by hand (offscreen, vnc) needs no display of the desktop's.
  const QString platform = qEnvironmentVariable("QT_QPA_PLATFORM");
  const bool needs_display =
      platform.isEmpty() || platform.startsWith("xcb") || platform.startsWith("wayland");
  if (needs_display && qEnvironmentVariableIsEmpty("DISPLAY") &&
      qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY"))
    return "no display: neither DISPLAY nor WAYLAND_DISPLAY is set; use 'ssh -X', a desktop, or the "
           "command 'hexaplan'";
#endif
  return nullptr;
}

}  // namespace hexaplan::gui
