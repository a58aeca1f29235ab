#pragma once
#include <string>

namespace hexaplan::cli {

/// "0.1.0 (3e9cc59)"; the commit is left out when the source was no git checkout.
[[nodiscard]] std::string version_text();

}  // namespace hexaplan::cli
