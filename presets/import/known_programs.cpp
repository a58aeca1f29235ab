#include "presets/import/known_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "presets/import/shell_expression.h"

namespace hexaplan::presets {
namespace {

/// What TRL trains with: its commands (huggingface/trl@1383220 trl/cli/commands/__init__.py), and trainers
/// that have scripts of their own in releases before.
struct Method {
  std::string_view name;
  const char* does;       // nullptr: supervised fine-tuning, which is planned
  std::string_view plan;  // what `hexaplan posttrain` calls it; empty: it has none
};
constexpr Method kMethods[] = {
    {"sft", nullptr, {}},
    {"dpo", "compares pairs of answers", "dpo"},
    {"kto", "weighs single answers against a reference model", {}},
    {"orpo", "compares pairs of answers", {}},
    {"cpo", "compares pairs of answers", {}},
    {"grpo", "generates the answers that it trains on", "grpo"},
    {"rloo", "generates the answers that it trains on", "grpo"},
    {"ppo", "generates the answers that it trains on", "ppo"},
    {"reward", "trains a reward model on pairs of answers", {}},
    {"distillation", "runs a teacher beside the model", {}},
    {"gkd", "runs a teacher beside the model", {}},
};

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') == std::string_view::npos ? 0 : path.find_last_of('/') + 1);
}
bool ends_at(std::string_view text, std::string_view start) {
  return text.starts_with(start) && (text.size() == start.size() || text[start.size()] == '_');
}
/// "dpo_vlm" is a kind of "dpo".
const Method* method_called(std::string_view name) {
  const auto found = std::find_if(std::begin(kMethods), std::end(kMethods),
                                  [&](const Method& method) { return ends_at(name, method.name); });
  return found == std::end(kMethods) ? nullptr : found;
}

/// "trl dpo", "-m trl.scripts.dpo", "trl/scripts/dpo.py", and "dpo.py" of anybody's.
std::optional<KnownProgram> trl_program(const LaunchCommand& command) {
  const std::string_view path = command.program.text, name = base_name(path);
  constexpr std::string_view kModule = "trl.scripts.", kEnding = ".py";
  std::string_view called;
  bool certain = true;
  if (name == "trl") {
    if (!command.words.empty()) called = command.words.front().text;
  } else if (path.starts_with(kModule)) {
    called = path.substr(kModule.size());
  } else if (name.ends_with(kEnding)) {
    called = name.substr(0, name.size() - kEnding.size());
    certain = path.find("trl/") != std::string_view::npos;
    if (!certain && (method_called(called) == nullptr || called != method_called(called)->name))
      return std::nullopt;
  }
  const Method* method = method_called(called);
  if (method == nullptr) return std::nullopt;
  return KnownProgram{.launcher = Launcher::Trl, .certain = certain, .method = method->name};
}

struct ProgramName {
  std::string_view pattern;  // of the path, or of its last part
  Launcher launcher;
};
constexpr ProgramName kKnownPrograms[] = {
    {"axolotl", Launcher::Axolotl},
    {"axolotl.cli.*", Launcher::Axolotl},
    {"llamafactory-cli", Launcher::LlamaFactory},
    {"llamafactory.launcher", Launcher::LlamaFactory},
    {"*maxtext*.train", Launcher::MaxText},
    {"MaxText*.train", Launcher::MaxText},
    {"torchtitan.train", Launcher::Torchtitan},
    {"run_recipe.py", Launcher::Bridge},
};

}  // namespace

std::optional<KnownProgram> known_program(const LaunchCommand& command) {
  const std::string_view path = command.program.text;
  for (const ProgramName& row : kKnownPrograms) {
    if (matches_pattern(path, row.pattern) || matches_pattern(base_name(path), row.pattern))
      return KnownProgram{.launcher = row.launcher};
  }
  return trl_program(command);
}

void read_program(const KnownProgram& program, LaunchReading& into) {
  if (program.method.empty()) return;
  into.trainer.trl = true;
  const Method* method = method_called(program.method);
  if (!program.certain)
    into.notes.push_back(
        fmt::format("{0}.py is read as TRL's {0}: a script of one's own may compute in another "
                    "type and keep its activations",
                    method->name));
  if (method->does == nullptr) return;
  into.trainer.other_loss = true;
  into.notes.push_back(
      fmt::format("{} {}: a step of supervised fine-tuning is planned{}", method->name, method->does,
                  method->plan.empty()
                      ? std::string{}
                      : fmt::format("; hexaplan posttrain --algorithm {} plans all of it", method->plan)));
}

}  // namespace hexaplan::presets
