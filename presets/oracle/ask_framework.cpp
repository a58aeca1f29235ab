#include "presets/oracle/ask_framework.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <system_error>

#include "costmodel/units/format_units.h"
#include "presets/catalog/built_in_folders.h"
#include "presets/json/input_error.h"
#include "presets/oracle/run_program.h"

namespace hexaplan::presets {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStage = "stage: ";
constexpr std::string_view kAnotherPython = "name another Python: --python PATH";

/// Reads stderr of the script: its stages, and the last line that is none.
class Lines {
 public:
  explicit Lines(const FrameworkAsking& asking) : asking_{asking} {}
  void take(std::string_view line) {
    if (line.starts_with(kStage)) {
      if (asking_.stage) asking_.stage(line.substr(kStage.size()));
    } else if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      last_ = line;
    }
  }
  [[nodiscard]] const std::string& last() const { return last_; }

 private:
  const FrameworkAsking& asking_;
  std::string last_;
};

InputError not_started(const std::string& python, const FrameworkAsking& asking, int problem) {
  return InputError(
      {.field = asking.python.empty() ? "Python" : "--python",
       .value = fmt::format("{} ({})", in_quotes(python), std::strerror(problem)),
       .expected = "a Python that has torch",
       .hint = asking.python.empty() ? "install Python 3, or name one: --python PATH" : std::string{}});
}

/// A run that gave no answer.
InputError failure(const std::string& python, const FrameworkAsking& asking, const ProgramRun& run,
                   const std::string& last_line) {
  InputProblem problem{.file = python, .expected = "a step of the model"};
  if (run.end == ProgramEnd::TimedOut) {
    problem.value = fmt::format("no answer in {:.0f} s", asking.limit.value());
    problem.hint = "give it more time: --timeout SECONDS";
  } else if (run.end == ProgramEnd::Flooded) {
    problem.value = fmt::format("more than {}", costmodel::format_decimal(costmodel::Bytes{kMostOutput}));
    problem.hint = kAnotherPython;
  } else if (run.end == ProgramEnd::Killed) {
    problem.value = fmt::format("killed by signal {} ({})", run.code, strsignal(run.code));
    problem.hint = "this host may have run out of memory: a smaller model, fewer layers";
  } else {
    problem.value = last_line.empty() ? fmt::format("exit code {} and not a word", run.code) : last_line;
    problem.hint = fmt::format("the framework cannot run it as asked, or {}", kAnotherPython);
  }
  return InputError{std::move(problem)};
}

JsonDocument parse_answer(const std::string& text, const std::string& python) {
  try {
    return parse_json(text, python);
  } catch (const InputError& error) {
    throw InputError({.file = python,
                      .value = "an answer that cannot be read (" + error.problem.value + ")",
                      .expected = "the JSON of " + oracle_script().filename().string(),
                      .hint = std::string{kAnotherPython}});
  }
}

}  // namespace

std::string python_for(const std::string& asked) {
  if (!asked.empty()) return asked;
  const char* environment = std::getenv("VIRTUAL_ENV");
  return environment == nullptr || *environment == '\0' ? "python3"
                                                        : (fs::path{environment} / "bin/python").string();
}

fs::path oracle_script() {
  std::error_code ignored;
  for (const fs::path& presets : built_in_folders()) {
    for (const char* folder : {"oracle", "scripts/oracle"}) {  // installed, and in the source tree
      fs::path script = presets.parent_path() / folder / "answer.py";
      if (fs::is_regular_file(script, ignored)) return script;
    }
  }
  throw InputError({.file = "oracle/answer.py",
                    .value = "no such file",
                    .expected = "the scripts that come with Hexaplan, in share/hexaplan",
                    .hint = "install it again (cmake --install)"});
}

FrameworkStep ask_framework(const JsonValue& question, const FrameworkAsking& asking) {
  const std::string python = python_for(asking.python);
  Lines lines{asking};
  const ProgramRun run = run_program({.words = {python, "-B", oracle_script().string()},
                                      .input = to_text(question, JsonStyle::Compact),
                                      .limit = asking.limit,
                                      .stop = asking.stop,
                                      .on_error_line = [&](std::string_view line) { lines.take(line); }});
  if (run.end == ProgramEnd::Stopped) throw AskingStopped{};
  if (run.end == ProgramEnd::NotStarted) throw not_started(python, asking, run.code);
  if (run.end != ProgramEnd::Exited || run.code != 0) throw failure(python, asking, run, lines.last());
  return read_framework_step(parse_answer(run.out, python));
}

}  // namespace hexaplan::presets
