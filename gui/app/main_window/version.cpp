#include "gui/app/main_window/version.h"

#include <string_view>

namespace hexaplan::gui {

std::string versionText() {
  constexpr std::string_view commit = HEXAPLAN_COMMIT;
  std::string text = HEXAPLAN_VERSION;
  if (!commit.empty()) text.append(" (").append(commit).append(")");
  return text;
}

}  // namespace hexaplan::gui
