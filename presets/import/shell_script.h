#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hexaplan::presets {

/// A word of a command, and the line on which its text stands: a variable's where it was assigned.
struct ShellWord {
  std::string text;
  int line = 0;
  /// False: part of it is known only when the script runs (an unset variable, a command's output).
  bool known = true;
  std::string variable = {};  // of a word that is not known: the first that is not set; empty: a command's
};
struct ShellCommand {
  std::vector<ShellWord> words;
  std::vector<ShellWord> environment;  // NAME=value, exported or written before the command
};
/// "cat <<EOF > ds_config.json": a file that the script writes.
struct HereDocument {
  std::string file, text;
  int line = 0;  // of the text's first line
};

/// What a shell script would start. Nothing is run: variables, arrays, ${NAME:-default}, $((arithmetic)),
/// parameters that are not given, quotes, continued lines, if, case and here-documents are followed; of a
/// loop the first round, of a condition that depends on files or commands the branch where it holds.
struct ShellScript {
  std::vector<ShellCommand> commands;  // in order; branches that are not taken are left out
  std::vector<ShellWord> directives;   // words behind #SBATCH
  std::vector<HereDocument> documents;
  std::vector<std::string> notes;  // "line 12: …": what could not be followed
};
/// InputError for a quote or bracket that never ends, and for a script that grows without end.
[[nodiscard]] ShellScript read_shell_script(std::string_view text, const std::string& file);

}  // namespace hexaplan::presets
