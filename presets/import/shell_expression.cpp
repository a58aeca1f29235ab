#include "presets/import/shell_expression.h"

#include <algorithm>
#include <utility>

#include "costmodel/units/parse_number.h"

namespace hexaplan::presets {
namespace {

constexpr int kDeepestArithmetic = 64;
constexpr std::size_t kMostConditionWords = 200;
constexpr std::int64_t kLargestShellNumber = 1'000'000'000'000'000'000;

/// A parser of one expression; nothing once it met what it does not know.
class Arithmetic {
 public:
  explicit Arithmetic(std::string_view text) : rest_{text} {}

  std::optional<std::int64_t> whole() {
    const auto value = sum(0);
    skip_blanks();
    return rest_.empty() ? value : std::nullopt;
  }

 private:
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size())); }
  bool take(char c) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  static std::optional<std::int64_t> within(double value) {
    if (!(value >= -1e18 && value <= 1e18)) return std::nullopt;
    return static_cast<std::int64_t>(value);
  }

  std::optional<std::int64_t> sum(int depth) {
    auto left = product(depth);
    while (left) {
      const bool plus = take('+');
      if (!plus && !take('-')) break;
      const auto right = product(depth);
      if (!right || !within(static_cast<double>(*left) + static_cast<double>(*right))) return std::nullopt;
      left = plus ? *left + *right : *left - *right;
      if (*left > kLargestShellNumber || *left < -kLargestShellNumber) return std::nullopt;
    }
    return left;
  }
  std::optional<std::int64_t> product(int depth) {
    auto left = operand(depth);
    while (left) {
      const char sign = take('*') ? '*' : take('/') ? '/' : take('%') ? '%' : '\0';
      if (sign == '\0') break;
      const auto right = operand(depth);
      if (!right || (sign != '*' && *right == 0)) return std::nullopt;
      if (sign == '*' && !within(static_cast<double>(*left) * static_cast<double>(*right)))
        return std::nullopt;
      left = sign == '*' ? *left * *right : sign == '/' ? *left / *right : *left % *right;
    }
    return left;
  }
  std::optional<std::int64_t> operand(int depth) {
    if (depth > kDeepestArithmetic) return std::nullopt;
    if (take('-')) {
      const auto value = operand(depth + 1);
      return value ? std::optional{-*value} : std::nullopt;
    }
    if (take('(')) {
      const auto value = sum(depth + 1);
      return take(')') ? value : std::nullopt;
    }
    skip_blanks();
    const std::size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    const auto value = costmodel::parse_number<std::int64_t>(rest_.substr(0, digits));
    rest_.remove_prefix(digits);
    if (!value || *value > kLargestShellNumber) return std::nullopt;
    return value;
  }

  std::string_view rest_;
};

bool compares(std::string_view left, std::string_view sign, std::string_view right) {
  if (sign == "=" || sign == "==") return matches_pattern(left, right);
  if (sign == "!=") return !matches_pattern(left, right);
  const auto a = costmodel::parse_number<std::int64_t>(left),
             b = costmodel::parse_number<std::int64_t>(right);
  if (!a || !b) return sign != "-ne";
  if (sign == "-eq") return *a == *b;
  if (sign == "-ne") return *a != *b;
  if (sign == "-gt") return *a > *b;
  if (sign == "-ge") return *a >= *b;
  if (sign == "-lt") return *a < *b;
  if (sign == "-le") return *a <= *b;
  return true;
}

using Words = std::vector<std::string>;
bool holds(Words::const_iterator begin, Words::const_iterator end) {
  if (begin == end) return false;
  for (const auto& [sign, either] : {std::pair{"||", true}, {"-o", true}, {"&&", false}, {"-a", false}}) {
    const auto found = std::find(begin, end, sign);
    if (found == end || found == begin) continue;
    const bool left = holds(begin, found), right = holds(found + 1, end);
    return either ? left || right : left && right;
  }
  if (*begin == "!") return !holds(begin + 1, end);
  const auto count = end - begin;
  if (count == 1) return !begin->empty();
  if (count == 2) return *begin == "-z" ? begin[1].empty() : *begin != "-n" || !begin[1].empty();
  return compares(begin[0], begin[1], begin[2]);
}

}  // namespace

std::optional<std::int64_t> shell_arithmetic(std::string_view expression) {
  return Arithmetic{expression}.whole();
}

bool matches_pattern(std::string_view text, std::string_view pattern) {
  // The last '*' met is where a mismatch starts again, one character further on.
  std::size_t at = 0, next = 0, star = std::string_view::npos, retry = 0;
  while (at < text.size()) {
    if (next < pattern.size() && (pattern[next] == '?' || pattern[next] == text[at]) &&
        pattern[next] != '*') {
      ++at, ++next;
    } else if (next < pattern.size() && pattern[next] == '*') {
      star = next++;
      retry = at;
    } else if (star != std::string_view::npos) {
      next = star + 1;
      at = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', next) == std::string_view::npos;
}

bool shell_condition(const std::vector<std::string>& words) {
  if (words.size() > kMostConditionWords) return true;
  return holds(words.begin(), words.end());
}

}  // namespace hexaplan::presets
