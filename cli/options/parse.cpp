#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cli/examples.h"
#include "cli/options/command_row.h"
#include "cli/version.h"

namespace hexaplan::cli {
namespace {

/// Every command that runs something, in the order in which help lists them.
std::vector<CommandRow> all_commands() {
  return {estimate_row(), simulate_row(), search_row(),  finetune_row(), posttrain_row(), compare_row(),
          import_row(),   diff_row(),     export_row(),  report_row(),   run_row(),       verify_row(),
          validate_row(), oracle_row(),   measure_row(), runs_row(),     accuracy_row(),  calibrate_row(),
          cluster_row(),  presets_row(),  backends_row()};
}

/// Words that completion offers, by flag or by placeholder of a positional argument.
using Choices = std::map<std::string, std::vector<std::string>>;

OptionInfo describe(const CLI::Option& option, const Choices& choices) {
  OptionInfo info;
  if (!option.get_lnames().empty()) info.flag = "--" + option.get_lnames().front();
  if (!option.get_snames().empty()) info.letter = "-" + option.get_snames().front();
  if (option.get_items_expected_max() > 0) info.value = option.get_type_name();
  info.help = option.get_description();
  const auto found = choices.find(info.flag.empty() ? info.value : info.flag);
  if (found != choices.end()) info.choices = found->second;
  return info;
}

CommandInfo describe(const CLI::App& app, const Choices& choices) {
  CommandInfo info{.name = app.get_name(), .help = app.get_description()};
  for (const CLI::Option* option : app.get_options()) info.options.push_back(describe(*option, choices));
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    info.commands.push_back(describe(*command, choices));
  }
  return info;
}

/// Everything the parser writes into. Lives as long as the parser.
struct Parsed {
  Invocation invocation;
  std::vector<CommandRow> commands = all_commands();
  std::string shell, colour = "auto";
  Choices choices = {{"SHELL", {"bash", "zsh", "fish"}}, {"--colour", {"auto", "always", "never"}}};
};

/// Adds one option of a command to the parser, by what it writes into.
struct OptionAdder {
  CLI::App& app;
  const OptionRow& row;
  void operator()(bool* target) const { place(app.add_flag(row.flags, *target, row.help)); }
  void operator()(std::string* target) const {
    place(app.add_option(row.flags, *target, row.help)->type_name(row.value));
  }
  void operator()(std::vector<std::string>* target) const {
    place(app.add_option(row.flags, *target, row.help)
              ->type_name(row.value)
              ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
  }
  void place(CLI::Option* option) const {
    if (!row.group.empty()) option->group(std::string{row.group});
  }
};

void add_common_options(CLI::App& app, Parsed& parsed) {
  CommonOptions& common = parsed.invocation.common;
  const OptionRow rows[] = {
      {"--json", "", "Result as JSON (docs/json.md)", &common.json},
      {"-o,--output", "FILE", "Write the result to FILE instead of stdout", &common.output},
      {"--quiet", "", "No notes on stderr", &common.quiet},
      {"--colour,--color", "WHEN", "auto, always or never", &parsed.colour},
  };
  for (const OptionRow& row : rows) std::visit(OptionAdder{app, row}, row.target);
}

/// Below the options: lines to type. `command` empty: those of the program.
std::string examples_text(std::string_view command) {
  std::string text;
  for (const Example& example : examples()) {
    if (command.empty() ? example.in_short : example.command == command)
      text += fmt::format("\n  hexaplan {}\n      {}", example.line, example.answers);
  }
  return text.empty() ? text : "Examples:" + text;
}

void add_command(CLI::App& root, const CommandRow& command, Parsed& parsed) {
  CLI::App& app = *root.add_subcommand(command.name, command.help);
  for (const OptionRow& row : command.options) {
    std::visit(OptionAdder{app, row}, row.target);
    const bool positional = row.flags.front() != '-';
    if (!row.choices.empty()) parsed.choices[positional ? row.value : row.flags] = row.choices;
  }
  add_common_options(app, parsed);
  app.footer(examples_text(command.name));
  app.callback([&command, &parsed] { parsed.invocation.command = command.finish(); });
}

void add_help_commands(CLI::App& root, Parsed& parsed) {
  CLI::App& completion = *root.add_subcommand("completion", "Completion script for a shell");
  completion.add_option("shell", parsed.shell, "bash, zsh or fish")->type_name("SHELL");
  completion.callback([&root, &parsed] {
    if (parsed.shell != "bash" && parsed.shell != "zsh" && parsed.shell != "fish") {
      throw UsageError{fmt::format("completion: got \"{}\", expected bash, zsh or fish", parsed.shell)};
    }
    parsed.invocation.command = PrintText{completion_script(describe(root, parsed.choices), parsed.shell)};
  });
  root.add_subcommand("man", "Manual page, for man -l -")->callback([&root, &parsed] {
    parsed.invocation.command = PrintText{manual_page(describe(root, parsed.choices), version_text())};
  });
}

void set_colour(Parsed& parsed) {
  static const std::map<std::string, Colour> values = {
      {"auto", Colour::Auto}, {"always", Colour::Always}, {"never", Colour::Never}};
  const auto found = values.find(parsed.colour);
  if (found == values.end())
    throw UsageError{fmt::format("--colour: got \"{}\", expected auto, always or never", parsed.colour)};
  parsed.invocation.common.colour = found->second;
}

/// What people type first at a program that they do not know: nothing, "help", "help COMMAND", "version",
/// "-V".
std::vector<std::string> plain_words(std::vector<std::string> words) {
  if (words.empty()) return {"--help"};
  if (words.front() == "version" || words.front() == "-V") words.front() = "--version";
  if (words.front() != "help") return words;
  words.erase(words.begin());
  words.resize(std::min<std::size_t>(words.size(), 1));
  words.emplace_back("--help");
  return words;
}

/// The parser sets two empty lines between groups of options.
std::string help_text(const CLI::App& root) {
  std::string text = root.help();
  for (std::size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at))
    text.erase(at, 1);
  return text;
}

/// What -h shows of a command: how it is called, its own options, the question, examples; and where the rest
/// is. Help comes in groups with a heading each, between empty lines.
std::string short_help(const std::string& whole) {
  std::string text;
  std::vector<std::string> others;
  for (std::size_t begin = 0; begin < whole.size();) {
    const std::size_t end = std::min(whole.find("\n\n", begin), whole.size());
    const std::string group = whole.substr(begin, end - begin);
    const std::string heading = group.substr(0, group.find(":\n"));
    const bool kept = begin == 0 || heading == "Options" || heading == "The question" || heading == "Batch" ||
                      heading == "Subcommands" || heading == "Examples";
    if (kept) {
      text += group + "\n\n";
    } else if (heading != group) {
      others.push_back(heading);
    }
    begin = end + 2;
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return others.empty() ? text : text + fmt::format("\n--help has more: {}\n", fmt::join(others, "; "));
}

bool asks_in_short(const std::vector<std::string>& words) {
  const auto has = [&](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  return has("-h") && !has("--help");
}

}  // namespace

Invocation parse_command_line(int argc, const char* const* argv) {
  std::vector<std::string> words = plain_words({argv + 1, argv + argc});
  Parsed parsed;
  CLI::App root{"Memory and step time of training large transformers", "hexaplan"};
  root.set_version_flag("--version", "hexaplan " + version_text());
  root.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // scripts append overrides
  root.footer(examples_text({}));
  for (const CommandRow& command : parsed.commands) add_command(root, command, parsed);
  add_help_commands(root, parsed);
  root.require_subcommand(1);
  const std::string problem = find_unknown_word(describe(root, parsed.choices), words);
  if (!problem.empty()) throw UsageError{problem};
  const bool in_short = asks_in_short(words);
  try {
    std::reverse(words.begin(), words.end());  // as the parser takes them
    root.parse(words);
    set_colour(parsed);
  } catch (const CLI::CallForHelp&) {
    const std::string text = help_text(root);
    parsed.invocation.command = PrintText{in_short ? short_help(text) : text};
  } catch (const CLI::CallForVersion& version) {
    parsed.invocation.command = PrintText{std::string{version.what()} + "\n"};
  } catch (const CLI::ParseError& error) {
    throw UsageError{error.what()};
  }
  return parsed.invocation;
}

}  // namespace hexaplan::cli
