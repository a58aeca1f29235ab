#pragma once
#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hexaplan::tests {

// GCC names ThreadSanitizer by a macro, Clang by a feature.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#else
inline constexpr bool kThreadSanitizer = false;
#endif

/// `all` (with a `name`); under ThreadSanitizer, which makes a step tens of times as long, those that are
/// named alone: enough for every kind of work that threads share, not for every number. A name that no case
/// has is an error in every build.
template <class Case>
[[nodiscard]] std::vector<Case> cases_of_this_build(
    std::vector<Case> all, std::initializer_list<std::string_view> under_thread_sanitizer) {
  std::vector<Case> few;
  for (const std::string_view name : under_thread_sanitizer) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Case& c) { return c.name == name; });
    if (found == all.end()) throw std::invalid_argument{"no case is named " + std::string{name}};
    few.push_back(*found);
  }
  return kThreadSanitizer ? few : std::move(all);
}

}  // namespace hexaplan::tests
