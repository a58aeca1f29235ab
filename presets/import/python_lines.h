#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "presets/json/json_value.h"

namespace hexaplan::presets {

/// What a character outside of strings adds to the number of open brackets: 1, -1 or 0.
[[nodiscard]] constexpr int bracket_step(char c) {
  if (c == '(' || c == '[' || c == '{') return 1;
  return c == ')' || c == ']' || c == '}' ? -1 : 0;
}

/// One statement of Python: a line, with those that its brackets or a backslash continue, without comments.
struct PythonLine {
  std::size_t indent = 0;
  int line = 0;
  std::string text;  // strings and ends of lines are kept as they stand
};

/// All statements of a file. Texts in triple quotes that stand alone (doc strings) are left out.
[[nodiscard]] std::vector<PythonLine> python_lines(std::string_view text);

struct PythonMember;

/// An expression, as far as a recipe needs it.
struct PythonValue {
  enum class Kind {
    Plain,    // a number, a text, True, False, None or a list of such
    Name,     // torch.bfloat16
    Call,     // TrainingConfig(train_iters=50)
    Dict,     // {"a": 1}
    List,     // [f(1), b]: not of plain values alone
    Unknown,  // anything else
  } kind = Kind::Unknown;
  JsonValue plain;                        // of Plain
  std::string name;                       // of Name, and what is called
  std::vector<PythonValue> positional;    // of Call; elements of List
  std::vector<PythonMember> members;      // keywords of a Call, entries of a Dict
  std::shared_ptr<const PythonValue> of;  // of a call on the result of another: f(…).g()
};

struct PythonMember {
  std::string name;
  PythonValue value;
  int line = 0;  // of the name; 0: not known
};

/// `left = right`: what is assigned to, without annotations ("cfg.model.seq_length", "N"). Several targets
/// (a = b = 1) are all told.
struct PythonAssignment {
  std::vector<std::string> targets;
  std::string value;
};
[[nodiscard]] std::optional<PythonAssignment> python_assignment(std::string_view statement);

/// Never fails: what it does not know is Unknown. `line`: on which the expression begins.
[[nodiscard]] PythonValue python_value(std::string_view expression, int line = 0);

}  // namespace hexaplan::presets
