#include "presets/import/python_lines.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "costmodel/units/parse_number.h"
#include "costmodel/units/trimmed.h"

namespace hexaplan::presets {
namespace {

constexpr std::size_t kDeepestPython = 64;
constexpr std::string_view kTriple[] = {"\"\"\"", "'''"};

bool is_name_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         (static_cast<unsigned char>(c) & 0x80U) != 0;
}

/// Where the string that begins at `at` ends: behind its closing quote, or at the end of the text.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const std::string_view quote = text.substr(at, 3) == kTriple[0] || text.substr(at, 3) == kTriple[1]
                                     ? text.substr(at, 3)
                                     : text.substr(at, 1);
  std::size_t i = at + quote.size();
  while (i < text.size() && text.substr(i, quote.size()) != quote) {
    if (quote.size() == 1 && text[i] == '\n') return i;  // it is not closed: the line ends it
    i += text[i] == '\\' ? 2 : 1;
  }
  return std::min(text.size(), i + quote.size());
}

bool is_quote(char c) {
  return c == '"' || c == '\'';
}

/// Splits a file into statements.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : text_{text} {}

  std::vector<PythonLine> take() {
    while (at_ < text_.size()) step();
    end_statement();
    return std::move(lines_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return;
    }
    if (is_quote(c)) return take_string();
    if (c == '\\' && at_ + 1 < text_.size() && (text_[at_ + 1] == '\n' || text_[at_ + 1] == '\r')) {
      at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
      ++line_;
      current_.text += '\n';
      return;
    }
    if (c == '\n') {
      if (depth_ == 0) end_statement();
      current_.text += depth_ > 0 ? "\n" : "";
      ++line_;
      ++at_;
      at_line_start_ = depth_ == 0;
      return;
    }
    if (at_line_start_ && (c == ' ' || c == '\t')) {
      current_.indent += c == ' ' ? 1 : 8;
      ++at_;
      return;
    }
    begin();
    depth_ = std::max(0, depth_ + bracket_step(c));
    if (c == ';' && depth_ == 0) {
      const std::size_t indent = current_.indent;
      end_statement();
      current_.indent = indent;
    } else {
      current_.text += c == '\r' ? ' ' : c;
    }
    ++at_;
  }

  void take_string() {
    begin();
    const std::size_t end = end_of_string(text_, at_);
    const std::string_view piece = text_.substr(at_, end - at_);
    line_ += static_cast<int>(std::count(piece.begin(), piece.end(), '\n'));
    current_.text += piece;
    at_ = end;
  }

  void begin() {
    if (at_line_start_ || current_.line == 0) current_.line = line_;
    at_line_start_ = false;
  }

  void end_statement() {
    std::string& text = current_.text;
    text = std::string{costmodel::trimmed(text)};
    const bool documents = std::any_of(std::begin(kTriple), std::end(kTriple),
                                       [&](std::string_view q) { return text.starts_with(q); });
    if (!text.empty() && !documents) lines_.push_back(std::move(current_));
    current_ = {};
  }

  std::string_view text_;
  std::vector<PythonLine> lines_;
  PythonLine current_;
  std::size_t at_ = 0;
  int line_ = 1;
  int depth_ = 0;
  bool at_line_start_ = true;
};

/// Reads one expression.
class ValueParser {
 public:
  ValueParser(std::string_view text, int line) : text_{text}, line_{line} {}

  PythonValue take() {
    PythonValue value = expression();
    skip_blanks();
    return at_ == text_.size() ? value : PythonValue{};  // an operator behind it, a condition, …
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool accept(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  [[nodiscard]] char peek() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  /// The line of what comes next.
  int line() {
    skip_blanks();
    const auto from = text_.begin() + static_cast<std::ptrdiff_t>(std::min(counted_, at_)),
               to = text_.begin() + static_cast<std::ptrdiff_t>(std::max(counted_, at_));
    const auto lines = static_cast<int>(std::count(from, to, '\n'));
    line_ += counted_ <= at_ ? lines : -lines;
    counted_ = at_;
    return line_;
  }
  /// To behind the bracket that closes what is open, or the end.
  void skip_to_close() {
    int depth = 1;
    while (at_ < text_.size() && depth > 0) {
      const char c = text_[at_];
      if (is_quote(c)) {
        at_ = end_of_string(text_, at_);
        continue;
      }
      depth += bracket_step(c);
      ++at_;
    }
  }

  static PythonValue plain(JsonValue value) {
    PythonValue out;
    out.kind = PythonValue::Kind::Plain;
    out.plain = std::move(value);
    return out;
  }

  PythonValue expression() {
    if (++depth_ > kDeepestPython) {
      at_ = text_.size();
      return {};
    }
    PythonValue value = sum();
    --depth_;
    return value;
  }

  /// Numbers are added and multiplied: "8 * 2048".
  PythonValue sum() {
    PythonValue value = product();
    while (is_integer(value) && (peek() == '+' || peek() == '-')) {
      const char sign = text_[at_++];
      value = calculated(value, sign, product());
    }
    return value;
  }
  PythonValue product() {
    PythonValue value = primary();
    while (is_integer(value) && (accept_operator("//") || accept_operator("*"))) {
      const char symbol = text_[at_ - 1];
      value = calculated(value, symbol, primary());
    }
    return value;
  }
  bool accept_operator(std::string_view symbol) {
    skip_blanks();
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(symbol) || rest.substr(symbol.size()).starts_with('*')) return false;
    at_ += symbol.size();
    return true;
  }
  static bool is_integer(const PythonValue& value) {
    return value.kind == PythonValue::Kind::Plain && value.plain.get_if<std::int64_t>() != nullptr;
  }
  /// Of whole numbers that fit; `symbol`: + - * or / (whole division).
  static PythonValue calculated(const PythonValue& left, char symbol, const PythonValue& right) {
    if (!is_integer(left) || !is_integer(right)) return {};
    const std::int64_t a = *left.plain.get_if<std::int64_t>(), b = *right.plain.get_if<std::int64_t>();
    std::int64_t result = 0;
    bool fits = true;
    if (symbol == '*') fits = !__builtin_mul_overflow(a, b, &result);
    if (symbol == '+') fits = !__builtin_add_overflow(a, b, &result);
    if (symbol == '-') fits = !__builtin_sub_overflow(a, b, &result);
    if (symbol == '/') {
      fits = a >= 0 && b > 0;
      result = fits ? a / b : 0;
    }
    return fits ? plain(result) : PythonValue{};
  }

  PythonValue primary() {
    const char c = peek();
    if (is_quote(c)) return string();
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.') return number();
    if (c == '[' || c == '(') return list();
    if (c == '{') return dict();
    if (is_name_letter(c)) return name();
    return {};
  }

  PythonValue string() {
    std::string value;
    while (is_quote(peek())) {  // "a" "b" is one string
      const std::size_t end = end_of_string(text_, at_);
      const std::size_t quote =
          text_.substr(at_, 3) == kTriple[0] || text_.substr(at_, 3) == kTriple[1] ? 3 : 1;
      if (end < at_ + 2 * quote || text_.substr(end - quote, quote) != text_.substr(at_, quote)) return {};
      for (std::size_t i = at_ + quote; i < end - quote; ++i) {
        if (text_[i] == '\\' && i + 1 < end - quote) ++i;  // paths and names have no other escapes
        value += text_[i];
      }
      at_ = end;
    }
    return plain(std::move(value));
  }

  PythonValue number() {
    std::string digits;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool exponent = !digits.empty() && (digits.back() == 'e' || digits.back() == 'E');
      const bool sign = (c == '-' || c == '+') && (digits.empty() || exponent);
      if (std::isdigit(static_cast<unsigned char>(c)) == 0 && c != '.' && c != 'e' && c != 'E' && c != '_' &&
          !sign)
        break;
      if (c != '_') digits += c;
      ++at_;
    }
    if (const auto whole = costmodel::parse_number<std::int64_t>(digits)) return plain(*whole);
    if (digits.ends_with('.')) digits += '0';
    if (digits.starts_with('.')) digits.insert(0, 1, '0');
    if (const auto real = costmodel::parse_number<double>(digits)) return plain(*real);
    return {};
  }

  PythonValue list() {
    const char close = text_[at_] == '[' ? ']' : ')';
    const std::size_t start = ++at_;
    PythonValue list;
    list.kind = PythonValue::Kind::List;
    bool comma = false;
    while (!accept(close)) {
      list.positional.push_back(expression());
      const bool more = accept(',');
      if (list.positional.back().kind == PythonValue::Kind::Unknown || (!more && peek() != close)) {
        at_ = start;
        skip_to_close();
        return {};
      }
      comma = comma || more;
    }
    if (close == ')' && list.positional.size() == 1 && !comma) return list.positional.front();  // brackets
    JsonArray values;
    for (const PythonValue& value : list.positional) {
      if (value.kind != PythonValue::Kind::Plain) return list;
      values.push_back(value.plain);
    }
    return plain(std::move(values));
  }

  PythonValue dict() {
    const std::size_t start = ++at_;
    PythonValue out;
    out.kind = PythonValue::Kind::Dict;
    while (!accept('}')) {
      if (peek() == '*') {  // **OTHERS: of them nothing is known
        while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '}') ++at_;
        if (accept(',')) continue;
        if (peek() == '}') continue;
        return {};
      }
      const int at_line = line();
      const PythonValue key = expression();
      const auto* text = key.kind == PythonValue::Kind::Plain ? key.plain.get_if<std::string>() : nullptr;
      if (text == nullptr || !accept(':')) {
        at_ = start;
        skip_to_close();
        return {};
      }
      out.members.push_back({*text, argument(), at_line});
      if (!accept(',') && peek() != '}') {
        at_ = start;
        skip_to_close();
        return {};
      }
    }
    return out;
  }

  /// Up to the comma or bracket behind it, whatever stands there.
  PythonValue argument() {
    PythonValue value = expression();
    const char next = peek();
    if (next == ',' || next == ')' || next == '}' || next == ']' || next == '\0') return value;
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_quote(c)) {
        at_ = end_of_string(text_, at_);
        continue;
      }
      if (depth == 0 && (c == ',' || c == ')' || c == '}' || c == ']')) break;
      depth += bracket_step(c);
      ++at_;
    }
    return {};
  }

  std::string dotted() {
    std::string name;
    while (at_ < text_.size() && (is_name_letter(text_[at_]) || text_[at_] == '.')) name += text_[at_++];
    return name;
  }

  PythonValue name() {
    PythonValue value;
    value.name = dotted();
    if (is_quote(at_ < text_.size() ? text_[at_] : '\0')) return prefixed_string(value.name);
    if (value.name == "True" || value.name == "False") return plain(value.name == "True");
    if (value.name == "None") return plain({});
    value.kind = PythonValue::Kind::Name;
    while (peek() == '(' || peek() == '.') {
      if (peek() == '.') {
        auto before = std::make_shared<PythonValue>(std::move(value));
        value = {};
        ++at_;
        value.name = dotted();
        value.of = std::move(before);
        value.kind = PythonValue::Kind::Name;
        continue;
      }
      ++at_;
      if (value.kind == PythonValue::Kind::Call) return {};  // f()()
      value.kind = PythonValue::Kind::Call;
      take_arguments(value);
    }
    return value;
  }

  PythonValue prefixed_string(const std::string& prefix) {
    const PythonValue value = string();
    const bool literal = prefix == "r" || prefix == "b" || prefix == "u" || prefix == "R";
    return literal ? value : PythonValue{};
  }

  void take_arguments(PythonValue& call) {
    while (!accept(')')) {
      if (at_ >= text_.size()) return;
      const int at_line = line();
      const std::size_t start = at_;
      const std::string keyword = dotted();
      if (!keyword.empty() && peek() == '=' && text_.substr(at_, 2) != "==") {
        ++at_;
        call.members.push_back({keyword, argument(), at_line});
      } else {
        at_ = start;
        if (peek() == '*') ++at_;
        if (peek() == '*') ++at_;
        call.positional.push_back(argument());
      }
      if (!accept(',') && peek() != ')') {
        if (at_ >= text_.size()) return;
        ++at_;  // whatever it is, it is none of a call
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0, depth_ = 0;
  int line_;  // at `counted_`
  std::size_t counted_ = 0;
};

/// Where a lone '=' stands outside of brackets and strings, from `from` on.
std::size_t equals_sign(std::string_view text, std::size_t from) {
  int depth = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quote(c)) {
      i = end_of_string(text, i) - 1;
      continue;
    }
    depth += bracket_step(c);
    if (c != '=' || depth != 0) continue;
    const char before = i > 0 ? text[i - 1] : ' ', behind = i + 1 < text.size() ? text[i + 1] : ' ';
    constexpr std::string_view kOperators = "=!<>+-*/%|&^:@";
    if (behind == '=' || kOperators.find(before) != std::string_view::npos) {
      if (behind == '=') ++i;
      continue;
    }
    return i;
  }
  return std::string_view::npos;
}

bool is_target(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_name_letter(c) || c == '.'; });
}

}  // namespace

std::vector<PythonLine> python_lines(std::string_view text) {
  return LineReader{text}.take();
}

std::optional<PythonAssignment> python_assignment(std::string_view statement) {
  PythonAssignment assignment;
  std::size_t from = 0;
  for (std::size_t at = equals_sign(statement, 0); at != std::string_view::npos;
       at = equals_sign(statement, from)) {
    std::string_view left = statement.substr(from, at - from);
    // "N: int = 4"
    left = costmodel::trimmed(left.substr(0, std::min(left.find(':'), left.size())));
    if (!is_target(left)) break;
    assignment.targets.emplace_back(left);
    from = at + 1;
  }
  if (assignment.targets.empty()) return std::nullopt;
  assignment.value = costmodel::trimmed(statement.substr(from));
  return assignment;
}

PythonValue python_value(std::string_view expression, int line) {
  return ValueParser{costmodel::trimmed(expression), line}.take();
}

}  // namespace hexaplan::presets
