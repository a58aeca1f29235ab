#include "presets/import/command_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>

#include "costmodel/units/parse_number.h"

namespace hexaplan::presets {
namespace {

using ShellWords = std::vector<ShellWord>;

/// Of a launcher's options and of sbatch's: what they count.
enum class World { Nodes, PerNode, Processes, Tasks, TasksPerNode, Gres, None };
struct WorldOption {
  std::string_view name;  // with '_' for '-'
  World counts;
};
constexpr WorldOption kWorldOptions[] = {
    {"--nnodes", World::Nodes},
    {"--nproc_per_node", World::PerNode},
    {"--num_processes", World::Processes},
    {"--num_machines", World::Nodes},
    {"--num_nodes", World::Nodes},
    {"--num_gpus", World::PerNode},
    {"--nodes", World::Nodes},
    {"-N", World::Nodes},
    {"--gpus_per_node", World::PerNode},
    {"--gres", World::Gres},
    {"--ntasks_per_node", World::TasksPerNode},
    {"--ntasks", World::Tasks},
    {"-n", World::Tasks},
    {"--gpus", World::Processes},
    {"--gpus_per_task", World::None},
};

/// "--nproc-per-node" and "--nproc_per_node" are one.
std::string with_underscores(std::string_view flag) {
  std::string name{flag};
  if (name.starts_with("--")) std::replace(name.begin() + 2, name.end(), '-', '_');
  return name;
}
bool is_flag(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return false;
  return word[1] == '-' ? word.size() > 2
                        : std::string_view{"0123456789."}.find(word[1]) == std::string_view::npos;
}
bool is_configuration(std::string_view word) {
  for (const std::string_view ending : {".json", ".yaml", ".yml", ".toml"}) {
    if (word.ends_with(ending)) return true;
  }
  return false;
}
/// Where a word that is not known comes from.
std::string origin_of(const ShellWord& word) {
  if (word.known) return {};
  return word.variable.empty() ? "a command" : "$" + word.variable;
}
/// What a shell drops when it is not set: "$EXTRA_ARGS" as a word of its own.
bool is_left_out(const ShellWord& word) {
  return !word.known && word.text == "…";
}

/// The key of "model.seq_length=4096", as Hydra and MaxText take overrides ("+key=…" and "++key=…" too);
/// empty when the word is something else.
std::string_view overridden_key(std::string_view word) {
  const std::size_t equals = word.find('=');
  const std::size_t begin = std::min(word.find_first_not_of('+'), word.size());
  if (equals == std::string_view::npos || equals <= begin) return {};
  const std::string_view key = word.substr(begin, equals - begin);
  const bool plain = std::all_of(
      key.begin(), key.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
  return plain ? key : std::string_view{};
}

/// Torchtitan's own launcher, which takes its module, configuration and GPUs per node from the environment.
constexpr std::string_view kTorchtitanScript = "run_train.sh";

/// Where the program stands: a Python file, -m and a module, or a program that trains.
std::optional<std::size_t> program_of(const ShellWords& words) {
  constexpr std::array kPrograms = {std::string_view{"llamafactory-cli"}, std::string_view{"axolotl"},
                                    std::string_view{"trl"}, kTorchtitanScript};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (word.ends_with(".py") && !is_flag(word)) return i;
    if (word == "-m" && i + 1 < words.size()) {
      const std::string& module = words[i + 1].text;
      const bool launches = module == "torch.distributed.run" || module == "torch.distributed.launch" ||
                            module == "accelerate.commands.launch" || module == "deepspeed.launcher.runner";
      if (!launches) return i + 1;
    }
    const std::string_view name = std::string_view{word}.substr(
        word.find_last_of('/') == std::string::npos ? 0 : word.find_last_of('/') + 1);
    if (std::find(kPrograms.begin(), kPrograms.end(), name) != kPrograms.end()) return i;
  }
  return std::nullopt;
}

/// The values behind a flag, from `next` on, which moves behind them. A left-out word behind a value, or as
/// the last, is more likely a list of further options.
Setting values_behind(const ShellWords& words, const ShellWord& flag, std::size_t& next, std::size_t end,
                      const std::string& file) {
  const std::size_t first = next;
  JsonArray values;
  bool known = true;
  std::string unread;
  for (; next < end && !is_flag(words[next].text); ++next) {
    if (is_left_out(words[next]) && (next > first || next + 1 == end)) {
      if (next == first) unread = origin_of(words[next]);
      continue;
    }
    // A dotted key is nobody's value; a plain one may be: "--model-args dtype=bf16".
    const std::string_view key = overridden_key(words[next].text);
    if (!key.empty() && (!values.empty() || key.find('.') != std::string_view::npos)) break;
    values.push_back(value_of_word(words[next].text));
    known = known && words[next].known;
    if (unread.empty()) unread = origin_of(words[next]);
  }
  JsonValue value = values.empty()       ? JsonValue{true}
                    : values.size() == 1 ? values.front()
                                         : JsonValue{values};
  return {flag.text, known ? std::move(value) : JsonValue{}, file, flag.line, std::move(unread)};
}

/// Flags with their values, from `begin` on; words that are no flag's are listed in `others`.
std::vector<Setting> flags_of(const ShellWords& words, std::size_t begin, std::size_t end,
                              const std::string& file, std::vector<ShellWord>& others) {
  std::vector<Setting> settings;
  for (std::size_t i = begin; i < end;) {
    const ShellWord& word = words[i];
    if (!is_flag(word.text)) {
      if (!is_left_out(word)) others.push_back(word);
      ++i;
      continue;
    }
    const std::size_t equals = word.text.find('=');
    if (equals != std::string::npos) {
      const JsonValue value =
          word.known ? value_of_word(std::string_view{word.text}.substr(equals + 1)) : JsonValue{};
      settings.push_back({word.text.substr(0, equals), value, file, word.line, origin_of(word)});
      ++i;
      continue;
    }
    std::size_t next = i + 1;
    settings.push_back(values_behind(words, word, next, end, file));
    i = next;
  }
  return settings;
}

/// The overrides among words that are no flag's.
void append_overrides(const std::vector<ShellWord>& words, const std::string& file,
                      std::vector<Setting>& settings) {
  for (const ShellWord& word : words) {
    const std::string_view key = overridden_key(word.text);
    if (key.empty()) continue;
    const std::string_view value = std::string_view{word.text}.substr(word.text.find('=') + 1);
    settings.push_back({std::string{key}, word.known ? value_of_word(value) : JsonValue{}, file, word.line,
                        origin_of(word)});
  }
}

struct Counts {
  std::int64_t nodes = 0, per_node = 0, processes = 0, tasks = 0, tasks_per_node = 0, card_per_node = 0;
};

/// Takes "8", "1:8", "h100:8" or "gpu:h100:8".
void count_world(const Setting& setting, World counts, Counts& into, std::string& gpu) {
  const auto* text = setting.value.get_if<std::string>();
  std::optional<std::int64_t> number;
  if (const auto* whole = setting.value.get_if<std::int64_t>()) {
    number = *whole;
  } else if (text != nullptr) {
    const std::size_t colon = text->find_last_of(':');
    number = costmodel::parse_number<std::int64_t>(
        std::string_view{*text}.substr(colon == std::string::npos ? 0 : colon + 1));
    std::string type = colon == std::string::npos ? "" : text->substr(0, colon);
    if (type.starts_with("gpu:")) type.erase(0, 4);
    if (!type.empty() && type != "gpu" && !costmodel::parse_number<std::int64_t>(type)) gpu = type;
  }
  if (!number || *number < 1 || *number > 10'000'000) return;
  switch (counts) {
    case World::Nodes:
      into.nodes = *number;
      break;
    case World::PerNode:
      into.per_node = *number;
      break;
    case World::Processes:
      into.processes = *number;
      break;
    case World::Tasks:
      into.tasks = *number;
      break;
    case World::TasksPerNode:
      into.tasks_per_node = *number;
      break;
    case World::Gres:
      into.card_per_node = *number;
      break;
    case World::None:
      break;
  }
}

void take_world(const std::vector<Setting>& options, Counts& counts, LaunchCommand& command) {
  for (const Setting& option : options) {
    const std::string name = with_underscores(option.key);
    const auto row = std::find_if(std::begin(kWorldOptions), std::end(kWorldOptions),
                                  [&](const WorldOption& each) { return each.name == name; });
    if (row == std::end(kWorldOptions)) {
      command.launcher.push_back(option);
    } else if (row->counts != World::None) {
      count_world(option, row->counts, counts, command.gpu);
      command.world.push_back(option);
    }
  }
}

/// The launcher's own options come first, then sbatch's.
void size_world(const Counts& launcher, const Counts& batch, LaunchCommand& command) {
  const auto first = [](std::initializer_list<std::int64_t> values) {
    for (const std::int64_t value : values) {
      if (value > 0) return value;
    }
    return std::int64_t{0};
  };
  const std::int64_t nodes = first({launcher.nodes, batch.nodes, 1});
  command.gpus_per_node = first({launcher.per_node, batch.per_node, batch.card_per_node,
                                 launcher.card_per_node, launcher.tasks_per_node, batch.tasks_per_node});
  const bool one_task_per_gpu = launcher.per_node == 0;
  const std::int64_t tasks = first({launcher.tasks, batch.tasks});
  if (launcher.processes > 0) {
    command.gpus = launcher.processes;
    if (command.gpus_per_node == 0 && command.gpus % nodes == 0) command.gpus_per_node = command.gpus / nodes;
  } else if (one_task_per_gpu && command.gpus_per_node == 0 && tasks > 0) {
    command.gpus = tasks;
    if (tasks % nodes == 0) command.gpus_per_node = tasks / nodes;
  } else if (command.gpus_per_node <= 10'000'000 / nodes) {
    command.gpus = nodes * command.gpus_per_node;
  }
}

/// Of torchtitan's command, the function that its configuration comes from: "--module llama3 --config
/// llama3_8b", or MODULE=llama3 CONFIG=llama3_8b before run_train.sh (torchtitan@b5bcd76 run_train.sh; v0.2.2
/// takes CONFIG_FILE).
void take_torchtitan_function(const ShellCommand& shell, const std::string& file, LaunchCommand& command,
                              Counts& counts) {
  constexpr std::string_view kModule = "MODULE=", kConfig = "CONFIG=", kGpus = "NGPU=",
                             kFile = "CONFIG_FILE=";
  const bool script = command.program.text.ends_with(kTorchtitanScript);
  if (!script && !command.program.text.starts_with("torchtitan")) return;
  std::string module = "llama3", config;
  int line = command.program.line;
  const auto take = [&](std::string_view value, int at) {
    config = value;
    line = at;
  };
  for (const ShellWord& word : shell.environment) {
    if (word.text.starts_with(kModule)) module = word.text.substr(kModule.size());
    if (word.text.starts_with(kFile) && script)
      command.files.push_back({word.text.substr(kFile.size()), {}, file, word.line});
    if (word.text.starts_with(kConfig)) take(std::string_view{word.text}.substr(kConfig.size()), word.line);
    if (word.text.starts_with(kGpus) && script)
      counts.per_node =
          costmodel::parse_number<std::int64_t>(std::string_view{word.text}.substr(kGpus.size()))
              .value_or(counts.per_node);
  }
  for (const Setting& argument : command.arguments) {
    const auto* value = argument.value.get_if<std::string>();
    if (value == nullptr) continue;
    if (argument.key == "--module") module = *value;
    if (argument.key == "--config") take(*value, argument.line);
  }
  std::erase_if(command.arguments,
                [](const Setting& each) { return each.key == "--module" || each.key == "--config"; });
  if (!config.empty())
    command.files.push_back(
        {fmt::format("torchtitan/models/{}/config_registry.py:{}", module, config), {}, file, line});
}

}  // namespace

std::vector<LaunchCommand> launch_commands(const ShellScript& script, const std::string& file) {
  Counts batch;
  LaunchCommand job;
  std::vector<ShellWord> ignored;
  take_world(flags_of(script.directives, 0, script.directives.size(), file, ignored), batch, job);
  std::vector<LaunchCommand> commands;
  std::vector<Setting> before;  // options of "srun … bash -c", whose script is a command of its own
  for (const ShellCommand& each : script.commands) {
    const auto program = program_of(each.words);
    std::vector<ShellWord> others;
    if (!program) {
      before = flags_of(each.words, 0, each.words.size(), file, others);
      continue;
    }
    LaunchCommand command = job;
    command.program = each.words[*program];
    Counts launcher;
    take_world(before, batch, command);
    take_world(flags_of(each.words, 0, *program, file, others), launcher, command);
    others.clear();
    command.arguments = flags_of(each.words, *program + 1, each.words.size(), file, others);
    take_torchtitan_function(each, file, command, launcher);
    size_world(launcher, batch, command);
    append_overrides(others, file, command.arguments);
    command.words = std::move(others);
    for (const ShellWord& word : each.words) {
      const std::size_t equals = word.text.find('=');
      const std::string name = equals == std::string::npos ? word.text : word.text.substr(equals + 1);
      if (is_configuration(name)) command.files.push_back({name, {}, file, word.line});
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

}  // namespace hexaplan::presets
