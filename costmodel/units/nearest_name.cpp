#include "costmodel/units/nearest_name.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace hexaplan::costmodel {
namespace {

// Longer words are not names; the distance is quadratic.
constexpr std::size_t kLongestWord = 64;

std::string folded(std::string_view word) {
  std::string result;
  for (const char c : word.substr(0, kLongestWord)) {
    if (c != '-' && c != '_' && c != ' ') {
      result.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    }
  }
  return result;
}

/// Optimal string alignment distance: insertions, deletions, replacements, swaps of neighbours.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  before_last = last;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      const std::size_t swap = swapped ? before_last[j - 2] + 1 : replace;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace, swap});
    }
    before_last = last;
    last = row;
  }
  return last.back();
}

template <class Names>
std::string_view nearest(std::string_view word, const Names& candidates) {
  const std::string wanted = folded(word);
  std::string_view best;
  std::size_t best_distance = std::string::npos;
  for (const auto& candidate : candidates) {
    const std::string name = folded(candidate);
    const std::size_t distance = edit_distance(wanted, name);
    const std::size_t allowed = (std::max(wanted.size(), name.size()) + 2) / 3;
    if (distance <= allowed && distance < std::max(wanted.size(), name.size()) && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates) {
  return nearest(word, candidates);
}
std::string_view nearest_name(std::string_view word, std::span<const std::string> candidates) {
  return nearest(word, candidates);
}

}  // namespace hexaplan::costmodel
