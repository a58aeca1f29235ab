#include "cli/command_tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "costmodel/units/nearest_name.h"

namespace hexaplan::cli {
namespace {

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  const std::string_view nearest = costmodel::nearest_name(word, known);
  return nearest.empty() ? std::string{} : fmt::format("; did you mean '{}'?", nearest);
}

std::string unknown_option(const CommandInfo& command, std::string_view word) {
  std::vector<std::string> flags;
  for (const OptionInfo& option : command.options) flags.push_back(option.flag);
  return fmt::format("unknown option {}{}", word, suggestion(word, flags));
}

/// An option in front of the command, where only --help and --version may stand.
std::string misplaced_option(const CommandInfo& root, std::string_view word) {
  for (const CommandInfo& command : root.commands) {
    if (command.find_option(word) != nullptr)
      return fmt::format("option {} belongs behind the command", word);
  }
  return unknown_option(root, word);
}

std::string needs_value(const OptionInfo& option) {
  return fmt::format("option {} needs a value: {}", option.flag, option.value);
}

bool takes_words(const CommandInfo& command) {
  return std::any_of(command.options.begin(), command.options.end(),
                     [](const OptionInfo& o) { return o.flag.empty() && o.letter.empty(); });
}

std::string unknown_command(const CommandInfo& root, std::string_view word) {
  std::vector<std::string> names;
  for (const CommandInfo& command : root.commands) names.push_back(command.name);
  const std::string hint = suggestion(word, names);
  return fmt::format("unknown command '{}'{}", word,
                     hint.empty() ? fmt::format("; there are {}", fmt::join(names, ", ")) : hint);
}

}  // namespace

const CommandInfo* CommandInfo::find_command(std::string_view word) const {
  const auto it =
      std::find_if(commands.begin(), commands.end(), [&](const auto& c) { return c.name == word; });
  return it == commands.end() ? nullptr : &*it;
}

const OptionInfo* CommandInfo::find_option(std::string_view word) const {
  const auto matches = [&](const OptionInfo& o) {
    return (!o.flag.empty() && o.flag == word) || (!o.letter.empty() && o.letter == word);
  };
  const auto it = std::find_if(options.begin(), options.end(), matches);
  return it == options.end() ? nullptr : &*it;
}

std::string find_unknown_word(const CommandInfo& root, const std::vector<std::string>& words) {
  const CommandInfo* command = &root;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") return {};
    if (word.size() > 1 && word[0] == '-') {
      const std::string_view flag = std::string_view{word}.substr(0, word.find('='));
      const OptionInfo* option = command->find_option(flag);
      if (option == nullptr)
        return command == &root ? misplaced_option(root, flag) : unknown_option(*command, flag);
      if (option->value.empty() || flag.size() != word.size()) continue;
      if (++i == words.size()) return needs_value(*option);
    } else if (command == &root) {
      command = root.find_command(word);
      if (command == nullptr) return unknown_command(root, word);
    } else if (!takes_words(*command)) {
      return fmt::format("{} takes no argument '{}'", command->name, word);
    }
  }
  return {};
}

}  // namespace hexaplan::cli
