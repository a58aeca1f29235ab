#include <fmt/format.h>

#include <algorithm>

#include "cli/command_tree.h"

namespace hexaplan::cli {
namespace {

std::string words_of_command(const CommandInfo& command) {
  std::vector<std::string> words;
  for (const OptionInfo& option : command.options) {
    if (!option.flag.empty()) words.push_back(option.flag);
    if (option.flag.empty()) words.insert(words.end(), option.choices.begin(), option.choices.end());
  }
  for (const CommandInfo& child : command.commands) words.push_back(child.name);
  return fmt::format("{}", fmt::join(words, " "));
}

/// Options that take the name of a preset or a file: a shell asks for the names when it needs them, since
/// there may be presets of one's own.
struct PresetOption {
  std::string_view flag, kind;
};
constexpr PresetOption kPresetOptions[] = {{"--model", "models"},
                                           {"--framework", "frameworks"},
                                           {"--cluster", "clusters"},
                                           {"--gpu", "gpus"},
                                           {"--calibration", "calibrations"}};
/// The command that lists them; empty: the option takes something else.
std::string names_command(const OptionInfo& option) {
  for (const PresetOption& row : kPresetOptions) {
    if (row.flag == option.flag) return fmt::format("hexaplan presets list {} --names 2>/dev/null", row.kind);
  }
  return {};
}

/// One branch per option with a closed set of values.
std::string bash_choices(const CommandInfo& command) {
  std::string cases;
  for (const OptionInfo& option : command.options) {
    const std::string names = names_command(option);
    if (!names.empty() && option.choices.empty())
      cases += fmt::format(
          "    {}) COMPREPLY=($(compgen -W \"$({})\" -- \"$word\") $(compgen -f -- \"$word\")); return;;\n",
          option.flag, names);
    if (option.flag.empty() || option.choices.empty()) continue;
    cases += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return;;\n", option.flag,
                         fmt::join(option.choices, " "));
  }
  return cases;
}

std::string bash(const CommandInfo& root) {
  std::string choices, commands;
  for (const CommandInfo& command : root.commands) {
    choices += bash_choices(command);
    commands += fmt::format("    {}) words='{}';;\n", command.name, words_of_command(command));
  }
  return fmt::format(
      "# bash completion for {0}; load with: source <({0} completion bash)\n"
      "_{0}() {{\n"
      "  local word=\"${{COMP_WORDS[COMP_CWORD]}}\" previous=\"${{COMP_WORDS[COMP_CWORD-1]}}\" words='{1}'\n"
      "  case \"$previous\" in\n{2}  esac\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n{3}  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\") $(compgen -f -- \"$word\"))\n"
      "}}\n"
      "complete -o filenames -F _{0} {0}\n",
      root.name, words_of_command(root), choices, commands);
}

/// Single-quoted for a shell, with the quotes inside doubled up the way that shell wants them.
std::string escaped(std::string text, std::string_view quote) {
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += quote.size()) {
    text.replace(at, 1, quote);
  }
  return text;
}

std::string zsh_option(const OptionInfo& option) {
  std::string help = escaped(option.help, "'\\''");
  for (const char bracket : {'[', ']', ':'})
    help.erase(std::remove(help.begin(), help.end(), bracket), help.end());
  std::string value;
  if (!option.choices.empty()) {
    value = fmt::format(":{}:({})", option.value, fmt::join(option.choices, " "));
  } else if (const std::string names = names_command(option); !names.empty()) {
    value = fmt::format(":{}:{{compadd -- $({}); _files}}", option.value, names);
  } else if (!option.value.empty()) {
    value = fmt::format(":{}:_files", option.value);
  }
  return option.flag.empty() ? fmt::format("'*{}'", value.empty() ? "::" : value)
                             : fmt::format("'{}[{}]{}'", option.flag, help, value);
}

std::string zsh(const CommandInfo& root) {
  std::string commands, cases;
  for (const CommandInfo& command : root.commands) {
    commands += fmt::format("    '{}:{}'\n", command.name, escaped(command.help, "'\\''"));
    cases += fmt::format("    {}) _arguments", command.name);
    for (const OptionInfo& option : command.options) cases += " \\\n      " + zsh_option(option);
    cases += ";;\n";
  }
  return fmt::format(
      "#compdef {0}\n"
      "# zsh completion for {0}; save as _{0} in a folder of $fpath\n"
      "_{0}() {{\n"
      "  local -a commands=(\n{1}  )\n"
      "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
      "  case \"$words[2]\" in\n{2}  esac\n"
      "}}\n"
      "compdef _{0} {0}\n",
      root.name, commands, cases);
}

std::string fish_option(const std::string& condition, const OptionInfo& option) {
  const std::string names = names_command(option);
  const std::string choices = !option.choices.empty()
                                  ? fmt::format(" -f -a '{}'", fmt::join(option.choices, " "))
                              : names.empty() ? ""
                                              : fmt::format(" -a '({})'", names);
  if (option.flag.empty()) return choices.empty() ? "" : condition + choices + "\n";
  return fmt::format("{} -l {}{}{} -d '{}'\n", condition, option.flag.substr(2),
                     option.value.empty() ? "" : " -r", choices, escaped(option.help, "\\'"));
}

std::string fish(const CommandInfo& root) {
  std::string lines =
      fmt::format("# fish completion for {0}; load with: {0} completion fish | source\n", root.name);
  for (const CommandInfo& command : root.commands) {
    lines += fmt::format("complete -c {} -n __fish_use_subcommand -f -a {} -d '{}'\n", root.name,
                         command.name, escaped(command.help, "\\'"));
    const std::string condition =
        fmt::format("complete -c {} -n '__fish_seen_subcommand_from {}'", root.name, command.name);
    for (const OptionInfo& option : command.options) lines += fish_option(condition, option);
  }
  return lines;
}

}  // namespace

std::string completion_script(const CommandInfo& root, std::string_view shell) {
  if (shell == "bash") return bash(root);
  return shell == "zsh" ? zsh(root) : fish(root);
}

}  // namespace hexaplan::cli
