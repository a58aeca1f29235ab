#include <fmt/format.h>

#include "cli/command_tree.h"

namespace hexaplan::cli {
namespace {

/// Text of a man(7) page: hyphens and backslashes would be changed by the formatter, a leading dot would be a
/// request.
std::string roff(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '-' || c == '\\')
      result += c == '\\' ? "\\\\" : "\\-";
    else
      result += c;
  }
  return !result.empty() && (result[0] == '.' || result[0] == '\'') ? "\\&" + result : result;
}

std::string option_entry(const OptionInfo& option) {
  std::string names = option.flag.empty() ? roff(option.value) : "\\fB" + roff(option.flag) + "\\fR";
  if (!option.letter.empty()) names = "\\fB" + roff(option.letter) + "\\fR, " + names;
  if (!option.flag.empty() && !option.value.empty()) names += " \\fI" + roff(option.value) + "\\fR";
  return fmt::format(".TP\n{}\n{}\n", names, roff(option.help));
}

}  // namespace

std::string manual_page(const CommandInfo& root, std::string_view version) {
  std::string page = fmt::format(
      ".TH {0} 1 \"\" \"{0} {1}\"\n.SH NAME\n{0} \\- {2}\n.SH SYNOPSIS\n\\fB{0}\\fR \\fIcommand\\fR "
      "[options]\n",
      root.name, version, roff(root.help));
  page += ".SH COMMANDS\n";
  for (const CommandInfo& command : root.commands) {
    page += fmt::format(".SS {}\n{}\n", roff(command.name), roff(command.help));
    for (const OptionInfo& option : command.options) page += option_entry(option);
  }
  page +=
      ".SH EXIT STATUS\n"
      "0 done, or fits; 1 internal error; 2 usage; 3 does not fit (with \\-\\-require\\-fit); 4 input or "
      "environment cannot be used; "
      "130 interrupted.\n"
      ".SH ENVIRONMENT\n.TP\nNO_COLOR\nSwitches colour off when set to anything (https://no\\-color.org).\n";
  return page;
}

}  // namespace hexaplan::cli
