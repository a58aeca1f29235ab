#include "cli/version.h"

#include <string_view>

namespace hexaplan::cli {

std::string version_text() {
  constexpr std::string_view commit = HEXAPLAN_COMMIT;
  std::string text = HEXAPLAN_VERSION;
  if (!commit.empty()) text.append(" (").append(commit).append(")");
  return text;
}

}  // namespace hexaplan::cli
