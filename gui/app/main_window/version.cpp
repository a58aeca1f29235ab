#include "gui/app/main_window/version.h"

namespace hexaplan::gui {

std::string versionText() {
  return HEXAPLAN_VERSION;
}

}  // namespace hexaplan::gui
