#pragma once
#include <exception>
#include <string>
#include <string_view>

namespace hexaplan::presets {

/// What is wrong with an input, in parts; parts that do not apply stay empty.
struct InputProblem {
  std::string file = {};      // "run.json", "run.json:3:14"
  std::string field = {};     // JSON pointer "/layout/tp", flag "--seq", column "tp"
  std::string value = {};     // as the user wrote it, strings with quotes: see in_quotes()
  std::string expected = {};  // "a whole number >= 1"
  std::string hint = {};      // what to do: "write 8", "did you mean \"tp\"?"
};

/// Bad input, for a person to read in one line:
///   run.json: /layout/tp: got "eight", expected a whole number >= 1; write 8
struct InputError : std::exception {
  explicit InputError(InputProblem what_is_wrong);
  [[nodiscard]] const char* what() const noexcept override { return line_.c_str(); }

  InputProblem problem;

 private:
  std::string line_;
};

/// `text` in double quotes, control characters and broken UTF-8 escaped, shortened to 60 characters.
[[nodiscard]] std::string in_quotes(std::string_view text);
/// "did you mean \"tp\"?", or nothing when `nearest` is empty.
[[nodiscard]] std::string did_you_mean(std::string_view nearest);

}  // namespace hexaplan::presets
