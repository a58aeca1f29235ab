#pragma once
#include <string>

namespace hexaplan::gui {

/// "0.1.0 (3e9cc59)"; the commit is left out when the source was no git checkout.
[[nodiscard]] std::string versionText();

}  // namespace hexaplan::gui
