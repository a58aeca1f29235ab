#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hexaplan::cli {

/// One option of a command as help, completion and the manual page describe it.
struct OptionInfo {
  std::string flag;    // "--model"; empty: a positional argument
  std::string letter;  // "-o" or empty
  std::string value;   // placeholder of its value, "FILE"; empty: takes none
  std::string help;
  std::vector<std::string> choices;  // words that may follow, where there are few
};
struct CommandInfo {
  std::string name;
  std::string help;
  std::vector<OptionInfo> options;
  std::vector<CommandInfo> commands;

  /// nullptr when there is none.
  [[nodiscard]] const CommandInfo* find_command(std::string_view word) const;
  [[nodiscard]] const OptionInfo* find_option(std::string_view word) const;
};

/// Why the words of a command line name no known command or option, or an empty string: the parser's own
/// messages do not say what was probably meant.
[[nodiscard]] std::string find_unknown_word(const CommandInfo& root, const std::vector<std::string>& words);

/// Completion script for "bash", "zsh" or "fish". Precondition: one of these.
[[nodiscard]] std::string completion_script(const CommandInfo& root, std::string_view shell);
/// Manual page in man(7) format.
[[nodiscard]] std::string manual_page(const CommandInfo& root, std::string_view version);

}  // namespace hexaplan::cli
