#include <fmt/format.h>

#include <span>
#include <utility>

#include "cli/command_tree.h"
#include "cli/examples.h"
#include "cli/exit_code.h"

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

struct Entry {
  std::string_view term, text;
};
std::string entries(std::span<const Entry> list) {
  std::string page;
  for (const Entry& entry : list) page += fmt::format(".TP\n{}\n{}\n", roff(entry.term), roff(entry.text));
  return page;
}
constexpr std::pair<ExitCode, std::string_view> kExitCodes[] = {
    {ExitCode::Ok, "done, or fits"},
    {ExitCode::Internal, "internal error, or a number that verify finds to differ"},
    {ExitCode::Usage,
     "the command line cannot be understood, or a value of an option is wrong or names nothing"},
    {ExitCode::DoesNotFit, "does not fit (with --require-fit), or search found nothing"},
    {ExitCode::UnusableInput, "a file, what it names, or the environment cannot be used"},
    {ExitCode::RankFailed, "a rank failed or hung; what was measured before is kept"},
    {ExitCode::Interrupted, "Ctrl-C"},
    {ExitCode::Terminated, "SIGTERM"}};
constexpr Entry kEnvironment[] = {
    {"HEXAPLAN_PRESETS",
     "Folder with presets of one's own (models, gpus, clusters, frameworks, calibration), "
     "which come before the built-in ones."},
    {"NO_COLOR", "Switches colour off when set to anything (https://no-color.org)."},
    {"XDG_DATA_HOME", "Where the history of runs is kept: hexaplan/measurements.sqlite."}};
constexpr Entry kFiles[] = {
    {"$XDG_DATA_HOME/hexaplan/measurements.sqlite",
     "History of runs, validations and measurements; ~/.local/share/hexaplan without the variable. Another "
     "file: --store."},
    {"PREFIX/share/hexaplan/presets",
     "Models, GPUs, clusters, frameworks and calibrations that come with the program."},
    {"calibration-GPU.json, fabric-GPU.json, runs-GPU-FRAMEWORK.json",
     "What calibrate writes into the current folder, for --calibration and --fabric."},
    {"plan.json", "A scenario, as --save-scenario writes and --scenario reads it (docs/json.md)."}};

std::string example_entries() {
  std::string page;
  for (const Example& example : examples()) {
    if (example.in_short)
      page +=
          fmt::format(".TP\n{}\n{}\n", roff(fmt::format("hexaplan {}", example.line)), roff(example.answers));
  }
  return page;
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
  page += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kExitCodes)
    page += fmt::format(".TP\n{}\n{}\n", static_cast<int>(code), roff(meaning));
  page += ".SH ENVIRONMENT\n" + entries(kEnvironment) + ".SH FILES\n" + entries(kFiles) + ".SH EXAMPLES\n" +
          example_entries() +
          ".SH SEE ALSO\nThe folder docs of the source: json.md for results as JSON, search.md, accuracy.md, "
          "formulas.md\n";
  return page;
}

}  // namespace hexaplan::cli
