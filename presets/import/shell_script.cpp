#include "presets/import/shell_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "presets/import/shell_expression.h"
#include "presets/json/input_error.h"

namespace hexaplan::presets {
namespace {

/// A character and the line it was written on.
struct Char {
  char c;
  int line;
  int variable = 0;  // of kUnknown and kAbsent: which one it is, among the shell's names
};
using Text = std::vector<Char>;
/// Stands for what only the running script knows.
constexpr char kUnknown = '\0';
/// Stands for a parameter that the script is not given: empty where it is asked for, and where it becomes
/// part of a command something that the reader of this script would have given.
constexpr char kAbsent = '\1';

bool is_gap(const Char& c) {
  return c.c == kUnknown || c.c == kAbsent;
}
constexpr std::size_t kMostCharacters = 4'000'000;
constexpr int kDeepestScript = 8;

struct Token {
  enum class Kind { Word, Operator, End } kind = Kind::End;
  Text raw;            // of words, with their quotes
  std::string symbol;  // of operators; a line's end is "\n"
};

std::string plain_text(const Text& text) {
  std::string result;
  for (const Char& c : text) result += is_gap(c) ? std::string{"…"} : std::string{c.c};
  return result;
}
bool is_known(const Text& text) {
  return std::none_of(text.begin(), text.end(), is_gap);
}
/// As a condition sees it: parameters that are not given are empty, and what is not known is something.
std::string tested_text(const Text& text) {
  std::string result;
  for (const Char& c : text) {
    if (c.c == kUnknown) return "?";
    if (c.c != kAbsent) result += c.c;
  }
  return result;
}
bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
Text text_of(std::string_view text, int line) {
  Text result;
  for (const char c : text) {
    result.push_back({c == kUnknown || c == kAbsent ? ' ' : c, line});
    if (c == '\n') ++line;
  }
  return result;
}
Text at_line(std::string_view text, int line) {
  Text result;
  for (const char c : text) result.push_back({c, line});
  return result;
}

/// Cuts a script into words and operators.
class Tokens {
 public:
  Tokens(Text source, const std::string& file) : source_{std::move(source)}, file_{file} {}

  Token next();
  /// The lines up to one that is `end`.
  Text lines_until(const std::string& end, bool without_tabs);
  [[nodiscard]] int line() const { return at_ < source_.size() ? source_[at_].line : last_line(); }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead].c : '\0';
  }
  [[nodiscard]] bool ended() const { return at_ >= source_.size(); }
  [[nodiscard]] int last_line() const { return source_.empty() ? 1 : source_.back().line; }
  void skip_blanks();
  void take(Text& into) { into.push_back(source_[at_++]); }
  void take_quoted(Text& into, char quote);
  void take_escaped(Text& into);
  void take_raw_quoted(Text& into);
  void take_nested(Text& into, char open, char close);
  void skip_comment_of_array(const Text& before);
  Token word();

  Text source_;
  const std::string& file_;
  std::size_t at_ = 0;
};

void Tokens::skip_blanks() {
  while (!ended()) {
    if (is_blank(peek())) {
      ++at_;
    } else if (peek() == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      at_ += peek(1) == '\n' ? 2 : 3;
    } else if (peek() == '#') {
      while (!ended() && peek() != '\n') ++at_;
    } else {
      return;
    }
  }
}

void Tokens::take_quoted(Text& into, char quote) {
  const int begin = line();
  take(into);
  while (!ended() && peek() != quote) {
    if (quote == '"' && peek() == '$' && (peek(1) == '(' || peek(1) == '{')) {
      take(into);
      take_nested(into, peek(), peek() == '(' ? ')' : '}');
      continue;
    }
    if (quote != '\'' && peek() == '\\' && at_ + 1 < source_.size()) take(into);
    take(into);
  }
  if (ended())
    throw InputError({.file = fmt::format("{}:{}", file_, begin),
                      .value = fmt::format("an opening {}", quote),
                      .expected = fmt::format("a closing {}", quote)});
  take(into);
}

/// A character, or a backslash with the character that it protects.
void Tokens::take_escaped(Text& into) {
  if (peek() == '\\' && at_ + 1 < source_.size()) take(into);
  take(into);
}

/// Double quotes inside brackets: what is nested in them is looked at when it is expanded.
void Tokens::take_raw_quoted(Text& into) {
  take(into);
  while (!ended() && peek() != '"') take_escaped(into);
  if (!ended()) take(into);
}

/// Comments between the elements of an array.
void Tokens::skip_comment_of_array(const Text& before) {
  const char last = before.back().c;
  if (last == '\n') {
    while (!ended() && is_blank(peek())) ++at_;
  }
  if (peek() != '#' || !(is_blank(last) || last == '\n' || last == '(')) return;
  while (!ended() && peek() != '\n') ++at_;
}

/// From an opening bracket to the one that closes it.
void Tokens::take_nested(Text& into, char open, char close) {
  const int begin = line();
  int depth = 0;
  do {
    if (ended())
      throw InputError({.file = fmt::format("{}:{}", file_, begin),
                        .value = fmt::format("an opening {}", open),
                        .expected = fmt::format("a closing {}", close)});
    const char c = peek();
    if (c == '\'' || c == '`') {
      take_quoted(into, c);
      continue;
    }
    if (c == '"') {
      take_raw_quoted(into);
      continue;
    }
    depth += c == open ? 1 : c == close ? -1 : 0;
    take_escaped(into);
    if (open == '(') skip_comment_of_array(into);
  } while (depth > 0);
}

Token Tokens::word() {
  Token token{.kind = Token::Kind::Word, .raw = {}, .symbol = {}};
  while (!ended()) {
    const char c = peek();
    if (is_blank(c) || c == '\n' || c == ';' || c == '&' || c == '|' || c == ')' || c == '<' || c == '>')
      break;
    if (c == '(') {
      if (token.raw.empty() || token.raw.back().c != '=') break;
      take_nested(token.raw, '(', ')');
    } else if (c == '\'' || c == '"' || c == '`') {
      take_quoted(token.raw, c);
    } else if (c == '$' && (peek(1) == '(' || peek(1) == '{')) {
      take(token.raw);
      take_nested(token.raw, peek(), peek() == '(' ? ')' : '}');
    } else if (c == '\\' && peek(1) == '\n') {
      at_ += 2;
    } else {
      take_escaped(token.raw);
    }
  }
  return token;
}

Token Tokens::next() {
  skip_blanks();
  if (ended()) return {};
  constexpr std::string_view kOperators[] = {"<<<", "<<-", "&>>", "&&", "||", ";;", ">>", "<<", ">&", "<&",
                                             "&>",  "\n",  ";",   "&",  "|",  "(",  ")",  "<",  ">"};
  for (const std::string_view symbol : kOperators) {
    bool here = true;
    for (std::size_t i = 0; i < symbol.size(); ++i) here = here && !ended() && peek(i) == symbol[i];
    if (!here) continue;
    at_ += symbol.size();
    return {.kind = Token::Kind::Operator, .raw = {}, .symbol = std::string{symbol}};
  }
  return word();
}

Text Tokens::lines_until(const std::string& end, bool without_tabs) {
  Text lines;
  while (!ended()) {
    Text line;
    while (!ended() && peek() != '\n') take(line);
    if (!ended()) take(line);
    std::string text = plain_text(line);
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    if (without_tabs)
      text.erase(0, text.find_first_not_of('\t') == std::string::npos ? 0 : text.find_first_not_of('\t'));
    if (text == end) break;
    lines.insert(lines.end(), line.begin(), line.end());
  }
  return lines;
}

struct Variable {
  std::vector<Text> elements;
};

/// Goes through a script as a shell would, and notes what it would start.
class Shell {
 public:
  Shell(const std::string& file, ShellScript& script) : file_{file}, script_{script} {}

  void preset(const std::string& name, const std::string& value) { variables_[name] = {{at_line(value, 0)}}; }
  void run(const Text& source);

 private:
  /// Of an if or case: whether its commands are run now, and whether any branch was.
  struct Branch {
    bool active = true, taken = false;
    bool is_case = false;
    std::string subject;
  };
  struct Pending {
    Text delimiter;
    bool without_tabs;
    std::string file;
  };

  [[nodiscard]] bool active() const {
    return std::all_of(branches_.begin(), branches_.end(), [](const Branch& b) { return b.active; });
  }
  void note(int line, const std::string& text) {
    const std::string whole = fmt::format("line {}: {}", line, text);
    if (std::find(script_.notes.begin(), script_.notes.end(), whole) == script_.notes.end())
      script_.notes.push_back(whole);
  }
  void count(std::size_t characters) {
    characters_ += characters;
    if (characters_ > kMostCharacters)
      throw InputError({.file = file_, .expected = "a script whose variables do not grow without end"});
  }

  void redirect(Tokens& tokens, const std::string& symbol, std::vector<Text>& words);
  void end_of_line(Tokens& tokens);
  void end_of_command(std::vector<Text>& words);
  bool keyword(std::vector<Text>& words);
  void read_case_label(Tokens& tokens);
  void execute(std::vector<Text> words);
  bool assign(const Text& raw);
  void record(const std::vector<Text>& fields, std::set<std::string> environment);
  bool test(const std::vector<Text>& fields);

  std::vector<Text> expand(const Text& raw, bool split = true);
  /// What stands for an expression: several fields of an array. Without quotes blanks split each of them.
  using Expansion = std::vector<Text>;
  Expansion dollar(const Text& raw, std::size_t& at);
  Expansion parameter(const Text& inside, int line);
  Text value_of(const std::string& name, int line);
  Text gap_of(const std::string& name, int line);
  [[nodiscard]] ShellWord word_of(const Text& text) const;
  static Text joined(const std::vector<Text>& fields);

  const std::string& file_;
  ShellScript& script_;
  std::map<std::string, Variable> variables_;
  std::set<std::string> exported_;
  std::vector<Branch> branches_;
  std::vector<Pending> pending_;
  Text written_;        // the file that the command's output goes to, before it is expanded
  bool status_ = true;  // of the last command
  bool skip_ = false;   // by && or ||
  int depth_ = 0, expansions_ = 0;
  std::vector<std::string> names_{""};  // of variables that are not set, as Char::variable counts them
  bool defines_ = false;                // a function's name stands before the next '{'
  std::vector<bool> braces_;            // open ones: whether a function's body is in them
  std::size_t characters_ = 0;
};

Text Shell::joined(const std::vector<Text>& fields) {
  Text all;
  for (const Text& field : fields) {
    if (!all.empty()) all.push_back({' ', field.empty() ? all.back().line : field.front().line});
    all.insert(all.end(), field.begin(), field.end());
  }
  return all;
}

// --- expansion ---

Text Shell::value_of(const std::string& name, int line) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return gap_of(name, line);
  Text all = found->second.elements.empty() ? Text{} : found->second.elements.front();
  count(all.size());
  return all;
}

/// A variable that is not set. A function's parameters are given where it is called.
Text Shell::gap_of(const std::string& name, int line) {
  const bool parameter = !name.empty() && name != "0" &&
                         std::isdigit(static_cast<unsigned char>(name.front())) != 0 &&
                         std::find(braces_.begin(), braces_.end(), true) == braces_.end();
  auto known = std::find(names_.begin(), names_.end(), name);
  if (known == names_.end()) known = names_.insert(names_.end(), name);
  return {{parameter ? kAbsent : kUnknown, line, static_cast<int>(known - names_.begin())}};
}

ShellWord Shell::word_of(const Text& text) const {
  ShellWord word{plain_text(text), text.empty() ? 0 : text.front().line, is_known(text)};
  const auto gap = std::find_if(text.begin(), text.end(), is_gap);
  if (gap != text.end()) word.variable = names_[static_cast<std::size_t>(gap->variable)];
  return word;
}

/// Inside ${ }.
Shell::Expansion Shell::parameter(const Text& inside, int line) {
  const std::string text = plain_text(inside);
  std::size_t end = 0;
  while (end < text.size() && is_name_character(text[end])) ++end;
  const std::string name = text.substr(0, end);
  const std::string rest = text.substr(end);
  const auto found = variables_.find(name);
  if (rest.starts_with("[@]") || rest.starts_with("[*]")) {
    if (found == variables_.end()) return {};
    for (const Text& element : found->second.elements) count(element.size());
    if (rest.starts_with("[*]")) return {joined(found->second.elements)};
    return found->second.elements;
  }
  if (rest.empty()) return {value_of(name, line)};
  const bool colon = rest.front() == ':';
  const std::size_t sign = colon ? 1 : 0;
  const char kind = rest.size() > sign ? rest[sign] : '\0';
  const bool given = found != variables_.end() && !found->second.elements.empty() &&
                     (!colon || !tested_text(found->second.elements.front()).empty());
  if (kind == '-' || kind == '=' || kind == '+') {
    const bool other = (kind == '+') == given;
    if (!other) return {kind == '+' ? Text{} : value_of(name, line)};
    const Text word(inside.begin() + static_cast<std::ptrdiff_t>(end + sign + 1), inside.end());
    return {joined(expand(word, false))};
  }
  if (kind == '?') return {value_of(name, line)};
  return {Text{{kUnknown, line}}};
}

/// What begins with the '$' at `at`, which is moved behind it.
// NOLINTNEXTLINE(readability-function-size): the cases of the shell's grammar, one after the other
Shell::Expansion Shell::dollar(const Text& raw, std::size_t& at) {
  const int line = raw[at].line;
  ++at;
  if (at >= raw.size()) return {Text{{'$', line}}};
  const char c = raw[at].c;
  if (c == '(' || c == '{') {
    const char close = c == '(' ? ')' : '}';
    int depth = 0;
    const std::size_t begin = at + 1;
    for (; at < raw.size(); ++at) {
      depth += raw[at].c == c ? 1 : raw[at].c == close ? -1 : 0;
      if (depth == 0) break;
    }
    const Text inside(raw.begin() + static_cast<std::ptrdiff_t>(std::min(begin, raw.size())),
                      raw.begin() + static_cast<std::ptrdiff_t>(std::max(begin, std::min(at, raw.size()))));
    if (at < raw.size()) ++at;
    if (c == '{') return parameter(inside, line);
    if (inside.size() < 2 || inside.front().c != '(' || inside.back().c != ')')
      return {Text{{kUnknown, line}}};
    Text expression(inside.begin() + 1, inside.end() - 1), numbers;
    // Names stand without '$' in arithmetic.
    for (std::size_t i = 0; i < expression.size();) {
      if (expression[i].c == '$') {
        const Text value = joined(dollar(expression, i));
        numbers.insert(numbers.end(), value.begin(), value.end());
      } else if (std::isalpha(static_cast<unsigned char>(expression[i].c)) != 0 || expression[i].c == '_') {
        std::string name;
        for (; i < expression.size() && is_name_character(expression[i].c); ++i) name += expression[i].c;
        const Text value = value_of(name, line);
        numbers.insert(numbers.end(), value.begin(), value.end());
      } else {
        numbers.push_back(expression[i++]);
      }
    }
    const auto value = is_known(numbers) ? shell_arithmetic(plain_text(numbers)) : std::nullopt;
    return {value ? at_line(std::to_string(*value), line) : Text{{kUnknown, line}}};
  }
  if (c == '@' || c == '*') {
    ++at;
    return {};
  }
  if (c == '#' || c == '?' || c == '!' || c == '$') {
    ++at;
    return {Text{{c == '#' || c == '?' ? '0' : kUnknown, line}}};
  }
  if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
    ++at;
    return {value_of(std::string{c}, line)};
  }
  std::string name;
  for (; at < raw.size() && is_name_character(raw[at].c); ++at) name += raw[at].c;
  if (name.empty()) return {Text{{'$', line}}};
  return {value_of(name, line)};
}

/// Fields of a raw word. Not split: one, for what stands behind '='.
// NOLINTNEXTLINE(readability-function-size): the cases of the shell's grammar, one after the other
std::vector<Text> Shell::expand(const Text& raw, bool split) {
  if (++expansions_ > kDeepestScript * 8)
    throw InputError({.file = file_, .expected = "expansions that are not nested this deep"});
  std::vector<Text> fields;
  Text field;
  bool open = false;  // a field was begun, perhaps an empty one in quotes
  const auto add = [&](const Expansion& expansion, bool quoted) {
    for (std::size_t i = 0; i < expansion.size(); ++i) {
      if (i > 0 && !split) {
        field.push_back({' ', 0});
      } else if (i > 0) {
        if (open) fields.push_back(std::exchange(field, {}));
        open = false;
      }
      open = open || quoted;
      for (const Char& c : expansion[i]) {
        if (split && !quoted && (is_blank(c.c) || c.c == '\n')) {
          if (open) fields.push_back(std::exchange(field, {}));
          open = false;
        } else {
          field.push_back(c);
          open = true;
        }
      }
    }
  };
  for (std::size_t at = 0; at < raw.size();) {
    const Char c = raw[at];
    if (c.c == '\\') {
      if (at + 1 < raw.size() && raw[at + 1].c != '\n') field.push_back(raw[at + 1]);
      open = true;
      at += 2;
    } else if (c.c == '\'') {
      for (++at; at < raw.size() && raw[at].c != '\''; ++at) field.push_back(raw[at]);
      open = true;
      ++at;
    } else if (c.c == '"') {
      const bool list_alone = at + 1 < raw.size() && raw[at + 1].c == '$';
      const std::size_t length = field.size();
      bool any = false;
      for (++at; at < raw.size() && raw[at].c != '"';) {
        if (raw[at].c == '\\' && at + 1 < raw.size() &&
            std::string_view{"\"\\$`\n"}.find(raw[at + 1].c) != std::string_view::npos) {
          if (raw[at + 1].c != '\n') field.push_back(raw[at + 1]);
          at += 2;
          any = true;
        } else if (raw[at].c == '$') {
          const Expansion expansion = dollar(raw, at);
          any = any || !expansion.empty();
          add(expansion, !expansion.empty());
        } else if (raw[at].c == '`') {
          field.push_back({kUnknown, raw[at].line});
          for (++at; at < raw.size() && raw[at].c != '`';) ++at;
          ++at;
          any = true;
        } else {
          field.push_back(raw[at++]);
          any = true;
        }
      }
      ++at;
      // "${none[@]}" and "$@" are no field at all, "" is an empty one.
      open = open || any || !list_alone || field.size() > length;
    } else if (c.c == '`') {
      field.push_back({kUnknown, c.line});
      open = true;
      for (++at; at < raw.size() && raw[at].c != '`';) ++at;
      ++at;
    } else if (c.c == '$') {
      add(dollar(raw, at), false);
    } else {
      field.push_back(c);
      open = true;
      ++at;
    }
  }
  if (open || (!split && fields.empty())) fields.push_back(std::move(field));
  --expansions_;
  for (const Text& each : fields) count(each.size());
  return fields;
}

// --- commands ---

/// The name at the beginning of "NAME=value".
std::string variable_name(const Text& raw) {
  const auto end = std::find_if_not(raw.begin(), raw.end(),
                                    [](const auto& letter) { return is_name_character(letter.c); });
  return plain_text({raw.begin(), end});
}

/// NAME=value, NAME+=value, NAME=(array). False when it is none.
bool Shell::assign(const Text& raw) {
  std::size_t end = 0;
  while (end < raw.size() && is_name_character(raw[end].c)) ++end;
  if (end == 0 || end >= raw.size() || std::isdigit(static_cast<unsigned char>(raw.front().c)) != 0)
    return false;
  const bool adds = raw[end].c == '+' && end + 1 < raw.size() && raw[end + 1].c == '=';
  if (!adds && raw[end].c != '=') return false;
  const std::string name = plain_text({raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(end)});
  const Text rest(raw.begin() + static_cast<std::ptrdiff_t>(end + (adds ? 2 : 1)), raw.end());
  Variable value;
  if (!rest.empty() && rest.front().c == '(') {
    Tokens elements{{rest.begin() + 1, rest.end() - 1}, file_};
    for (Token token = elements.next(); token.kind != Token::Kind::End; token = elements.next()) {
      if (token.kind != Token::Kind::Word) continue;
      for (Text& field : expand(token.raw)) value.elements.push_back(std::move(field));
    }
    if (adds) {
      std::vector<Text>& before = variables_[name].elements;
      before.insert(before.end(), value.elements.begin(), value.elements.end());
      return true;
    }
  } else {
    value.elements = expand(rest, false);
    if (adds && !variables_[name].elements.empty()) {
      Text whole = variables_[name].elements.front();
      const Text added = joined(value.elements);
      whole.insert(whole.end(), added.begin(), added.end());
      count(whole.size());
      value.elements = {std::move(whole)};
    }
  }
  variables_[name] = std::move(value);
  return true;
}

bool Shell::test(const std::vector<Text>& fields) {
  std::vector<std::string> words;
  words.reserve(fields.size());
  for (const Text& field : fields) words.push_back(tested_text(field));
  if (words.front() == "test") words.erase(words.begin());
  if (!words.empty() && (words.front() == "[" || words.front() == "[[")) words.erase(words.begin());
  if (!words.empty() && (words.back() == "]" || words.back() == "]]")) words.pop_back();
  return shell_condition(words);
}

/// `environment`: names of variables that the command sees beside the exported ones.
void Shell::record(const std::vector<Text>& fields, std::set<std::string> environment) {
  ShellCommand command;
  environment.insert(exported_.begin(), exported_.end());
  for (const std::string& name : environment) {
    const auto value = variables_.find(name);
    if (value == variables_.end() || value->second.elements.empty()) continue;
    ShellWord word = word_of(value->second.elements.front());
    word.text.insert(0, name + "=");
    command.environment.push_back(std::move(word));
  }
  for (const Text& field : fields) command.words.push_back(word_of(field));
  // bash -c "a script of its own"
  for (std::size_t i = 0; i + 2 < fields.size(); ++i) {
    const std::string& shell = command.words[i].text;
    const bool is_shell =
        shell == "bash" || shell == "sh" || shell.ends_with("/bash") || shell.ends_with("/sh");
    const std::string& flag = command.words[i + 1].text;
    if (!is_shell || (flag != "-c" && flag != "-lc" && flag != "-xc")) continue;
    command.words.resize(i);
    if (!command.words.empty()) script_.commands.push_back(std::move(command));
    run(fields[i + 2]);
    return;
  }
  script_.commands.push_back(std::move(command));
}

void Shell::execute(std::vector<Text> words) {
  std::size_t first = 0;
  std::set<std::string> environment;
  for (; first < words.size() && assign(words[first]); ++first)
    environment.insert(variable_name(words[first]));
  if (first == words.size()) {
    status_ = true;
    return;
  }
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(first));
  const std::string name = plain_text(words.front());
  if (name == "export" || name == "declare" || name == "local" || name == "readonly" || name == "typeset") {
    for (std::size_t i = 1; i < words.size(); ++i) {
      (void)assign(words[i]);
      if (name == "export") exported_.insert(variable_name(words[i]));
    }
    status_ = true;
    return;
  }
  std::vector<Text> fields;
  for (const Text& word : words) {
    for (Text& field : expand(word)) fields.push_back(std::move(field));
  }
  if (fields.empty()) return;
  if (name == "[" || name == "[[" || name == "test") {
    status_ = test(fields);
    return;
  }
  status_ = name != "false";
  if (name == "eval") {
    fields.erase(fields.begin());
    run(joined(fields));
  } else if (name == "source" || name == ".") {
    note(fields.front().front().line,
         "what " + (fields.size() > 1 ? plain_text(fields[1]) : "it") + " sets is not read");
  } else if (name != "echo" && name != "printf") {
    record(fields, std::move(environment));
  }
}

/// Words that steer what is run. True when the command is done with.
// NOLINTNEXTLINE(readability-function-size): the cases of the shell's grammar, one after the other
bool Shell::keyword(std::vector<Text>& words) {
  const auto drop = [&] { words.erase(words.begin()); };
  while (!words.empty()) {
    const std::string name = plain_text(words.front());
    if (name == "if" || name == "elif") {
      if (name == "if") {
        branches_.push_back({});
      } else if (!branches_.empty()) {
        branches_.back().active = !branches_.back().taken;
      }
      status_ = true;
    } else if (name == "then") {
      if (!branches_.empty()) {
        Branch& branch = branches_.back();
        branch.active = branch.active && status_ && !branch.taken;
        branch.taken = branch.taken || branch.active;
      }
    } else if (name == "else") {
      if (!branches_.empty()) branches_.back().active = !branches_.back().taken;
    } else if (name == "fi" || name == "esac") {
      if (!branches_.empty()) branches_.pop_back();
    } else if (name == "for") {
      if (words.size() > 3 && plain_text(words[2]) == "in" && active()) {
        std::vector<Text> values;
        for (std::size_t i = 3; i < words.size(); ++i) {
          for (Text& value : expand(words[i])) values.push_back(std::move(value));
        }
        if (!values.empty()) variables_[plain_text(words[1])] = {{values.front()}};
        if (values.size() > 1)
          note(words.front().front().line,
               fmt::format("of the loop, the first of {} rounds is read", values.size()));
      }
      return true;
    } else if (name == "!") {
      drop();
      if (!words.empty() && active()) execute(words);
      status_ = !status_;
      return true;
    } else if (name == "function") {
      defines_ = true;
      drop();  // its name follows
      if (words.empty()) return true;
    } else if (name == "{") {
      braces_.push_back(std::exchange(defines_, false));
    } else if (name == "}") {
      if (!braces_.empty()) braces_.pop_back();
    } else if (name != "do" && name != "done" && name != "while" && name != "until" && name != "time") {
      return false;
    }
    drop();
  }
  return true;
}

void Shell::end_of_command(std::vector<Text>& words) {
  const bool skipped = std::exchange(skip_, false);
  written_.clear();
  if (words.empty()) return;
  const std::string first = plain_text(words.front());
  const bool steers = first == "if" || first == "then" || first == "elif" || first == "else" ||
                      first == "fi" || first == "done" || first == "esac";
  if ((!skipped || steers) && !keyword(words) && active() && !skipped) execute(std::move(words));
  words.clear();
}

void Shell::redirect(Tokens& tokens, const std::string& symbol, std::vector<Text>& words) {
  // "2>" and the like: the number belongs to the sign.
  if (!words.empty() && words.back().size() == 1 &&
      std::isdigit(static_cast<unsigned char>(words.back()[0].c)) != 0 &&
      symbol.find('>') != std::string::npos && words.size() > 1)
    words.pop_back();
  const Token target = tokens.next();
  if (target.kind != Token::Kind::Word) return;
  if (symbol == "<<" || symbol == "<<-") {
    pending_.push_back({target.raw, symbol == "<<-", {}});
    if (!written_.empty()) pending_.back().file = plain_text(joined(expand(written_)));
  } else if (symbol == ">" || symbol == ">>") {
    written_ = target.raw;
    if (!pending_.empty()) pending_.back().file = plain_text(joined(expand(target.raw)));
  }
}

// NOLINTNEXTLINE(readability-function-size): the cases of the shell's grammar, one after the other
void Shell::end_of_line(Tokens& tokens) {
  for (Pending& pending : std::exchange(pending_, {})) {
    Text end;
    bool quoted = false;
    for (const Char& c : pending.delimiter) {
      if (c.c == '\'' || c.c == '"' || c.c == '\\') {
        quoted = true;
      } else {
        end.push_back(c);
      }
    }
    const int line = tokens.line();
    Text text = tokens.lines_until(plain_text(end), pending.without_tabs);
    if (!active()) continue;
    if (!quoted) {  // as in double quotes, where '"' is an ordinary character
      Text raw{{'"', line}};
      for (const Char& c : text) {
        if (c.c == '"') raw.push_back({'\\', c.line});
        raw.push_back(c);
      }
      raw.push_back({'"', line});
      text = joined(expand(raw, false));
    }
    script_.documents.push_back({pending.file, plain_text(text), line});
  }
}

/// "a|b)" of a case, up to the bracket.
void Shell::read_case_label(Tokens& tokens) {
  bool matches = false;
  for (Token token = tokens.next(); token.kind != Token::Kind::End; token = tokens.next()) {
    if (token.kind == Token::Kind::Operator) {
      if (token.symbol == ")") break;
      continue;
    }
    if (plain_text(token.raw) == "esac") {
      branches_.pop_back();
      return;
    }
    matches =
        matches || matches_pattern(branches_.back().subject, plain_text(joined(expand(token.raw, false))));
  }
  Branch& branch = branches_.back();
  branch.active = matches && !branch.taken;
  branch.taken = branch.taken || branch.active;
}

// NOLINTNEXTLINE(readability-function-size): the cases of the shell's grammar, one after the other
void Shell::run(const Text& source) {
  if (++depth_ > kDeepestScript)
    throw InputError({.file = file_, .expected = "scripts that are not nested this deep"});
  Tokens tokens{source, file_};
  std::vector<Text> words;
  const std::size_t outer = branches_.size();
  for (Token token = tokens.next();; token = tokens.next()) {
    if (token.kind == Token::Kind::Word) {
      words.push_back(std::move(token.raw));
      if (words.size() == 3 && plain_text(words[0]) == "case" && plain_text(words[2]) == "in") {
        Branch branch{.active = true, .taken = false, .is_case = true, .subject = {}};
        if (active()) branch.subject = tested_text(joined(expand(words[1], false)));
        branches_.push_back(std::move(branch));
        words.clear();
        read_case_label(tokens);
      }
      continue;
    }
    if (token.kind == Token::Kind::End) break;
    const std::string& symbol = token.symbol;
    const bool in_test =
        !words.empty() && plain_text(words.front()) == "[[" && plain_text(words.back()) != "]]";
    if (in_test && symbol != "\n" && symbol != ";") {
      words.push_back(at_line(symbol, tokens.line()));
    } else if (symbol.find('<') != std::string::npos || symbol.find('>') != std::string::npos) {
      redirect(tokens, symbol, words);
    } else if (symbol == "(" && words.size() == 1) {
      defines_ = true;  // "name() {"
      words.clear();
    } else if (symbol == "&&" || symbol == "||") {
      end_of_command(words);
      skip_ = (symbol == "&&") != status_;
    } else if (symbol == ";;") {
      end_of_command(words);
      if (!branches_.empty() && branches_.back().is_case) read_case_label(tokens);
    } else {
      end_of_command(words);
      if (symbol == "\n") end_of_line(tokens);
    }
  }
  end_of_command(words);
  while (branches_.size() > outer) branches_.pop_back();
  --depth_;
}

// --- sbatch ---

void read_directives(std::string_view text, ShellScript& script) {
  int line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view row = text.substr(begin, end - begin);
    begin = end + 1;
    if (!row.starts_with("#SBATCH")) continue;
    row.remove_prefix(7);
    while (!row.empty()) {
      row.remove_prefix(std::min(row.find_first_not_of(" \t\r"), row.size()));
      const std::size_t length = std::min(row.find_first_of(" \t\r"), row.size());
      if (length == 0 || row.front() == '#') break;
      script.directives.push_back({std::string{row.substr(0, length)}, line, true});
      row.remove_prefix(length);
    }
  }
}

/// What Slurm sets from its directives (sbatch's manual, OUTPUT ENVIRONMENT VARIABLES).
void preset_slurm(const ShellScript& script, Shell& shell) {
  struct Row {
    std::string_view directive, letter;
    std::vector<const char*> variables;
  };
  static const Row rows[] = {
      {"--nodes", "-N", {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}},
      {"--ntasks", "-n", {"SLURM_NTASKS", "SLURM_NPROCS"}},
      {"--ntasks-per-node", "", {"SLURM_NTASKS_PER_NODE"}},
      {"--gpus-per-node", "", {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}},
      {"--gres", "", {"SLURM_GPUS_ON_NODE"}},
      {"--cpus-per-task", "-c", {"SLURM_CPUS_PER_TASK"}},
  };
  for (std::size_t i = 0; i < script.directives.size(); ++i) {
    const std::string& word = script.directives[i].text;
    const std::size_t equals = word.find('=');
    std::string value = equals != std::string::npos        ? word.substr(equals + 1)
                        : i + 1 < script.directives.size() ? script.directives[i + 1].text
                                                           : "";
    value = value.substr(value.find_last_of(':') == std::string::npos ? 0 : value.find_last_of(':') + 1);
    for (const Row& row : rows) {
      const std::string name = word.substr(0, equals);
      if (name != row.directive && (row.letter.empty() || name != row.letter)) continue;
      for (const char* variable : row.variables) shell.preset(variable, value);
    }
  }
}

}  // namespace

ShellScript read_shell_script(std::string_view text, const std::string& file) {
  ShellScript script;
  read_directives(text, script);
  Shell shell{file, script};
  preset_slurm(script, shell);
  shell.run(text_of(text, 1));
  return script;
}

}  // namespace hexaplan::presets
