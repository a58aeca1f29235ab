#pragma once
#include <string_view>
#ifdef HEXAPLAN_MUTATIONS
#include <cstdlib>
#endif

namespace hexaplan::costmodel {

/// A place where a build with the option HEXAPLAN_MUTATIONS can be made wrong: true there when the
/// environment variable HEXAPLAN_MUTANT is `id`. Every other build knows at compile time that it is false.
/// scripts/mutate.sh switches the places on one by one and says which tests notice.
#ifdef HEXAPLAN_MUTATIONS
[[nodiscard]] inline bool mutant(std::string_view id) {
  static const char* const chosen = std::getenv("HEXAPLAN_MUTANT");
  return chosen != nullptr && id == chosen;
}
#else
[[nodiscard]] constexpr bool mutant(std::string_view /*id*/) {
  return false;
}
#endif

}  // namespace hexaplan::costmodel
