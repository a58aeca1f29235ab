#pragma once
#include <string>

#include "costmodel/spec/layout.h"

namespace hexaplan::costmodel {

/// The axes whose degrees make all ranks, as messages name their product: "dp·tp·cp·pp", or what one more of
/// dp takes, "tp·cp·pp"; with "diloco·" in front where replicas train apart.
[[nodiscard]] std::string axes_text(const Layout& layout, bool with_dp = true);

}  // namespace hexaplan::costmodel
