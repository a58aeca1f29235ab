#include "presets/import/import_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <utility>

#include "costmodel/units/parse_number.h"
#include "presets/catalog/catalog.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/import/command_settings.h"
#include "presets/import/dialect.h"
#include "presets/import/known_programs.h"
#include "presets/import/model_match.h"
#include "presets/import/python_recipe.h"
#include "presets/import/refusals.h"
#include "presets/import/shell_script.h"
#include "presets/json/input_error.h"
#include "presets/json/read_text_file.h"
#include "presets/launch/trainer_plan.h"

namespace hexaplan::presets {
namespace {

constexpr std::int64_t kLargestLaunchFile = 4'000'000;

/// Settings of one dialect that stand together.
struct SettingGroup {
  const Dialect* dialect = nullptr;
  std::vector<Setting> settings;
};

/// What was gathered from all files.
struct Gathered {
  std::vector<SettingGroup> groups;
  std::vector<Setting> world;
  std::int64_t gpus = 0, gpus_per_node = 0;
  std::string gpu;
  std::vector<std::string> notes;
  std::vector<std::string> seen;  // names of files
  std::optional<KnownProgram> program;
};

/// Between a file of Python and the function in it that is meant: "llama3.py:pretrain_config".
constexpr std::string_view kOfPython = ".py:";

enum class Format { Json, Yaml, Toml, Python, Shell };
Format format_of(const ImportFile& file) {
  const std::string& name = file.name;
  if (name.ends_with(".json")) return Format::Json;
  if (name.ends_with(".yaml") || name.ends_with(".yml")) return Format::Yaml;
  if (name.ends_with(".toml")) return Format::Toml;
  if (name.ends_with(".py") || name.find(kOfPython) != std::string::npos || is_python_recipe(file.text))
    return Format::Python;
  const std::size_t first = file.text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && file.text[first] == '{' ? Format::Json : Format::Shell;
}

const LaunchFormat& format_of(Launcher launcher) {
  const auto formats = launch_formats();
  return *std::find_if(formats.begin(), formats.end(),
                       [&](const LaunchFormat& f) { return f.launcher == launcher; });
}

/// A file of Python and the function in it that is meant; no function where none is named.
struct NamedFunction {
  std::string file, function;
};
NamedFunction split_name(const std::string& name) {
  const std::size_t colon = name.find(kOfPython);
  if (colon == std::string::npos) return {name, {}};
  return {name.substr(0, colon + kOfPython.size() - 1), name.substr(colon + kOfPython.size())};
}

std::vector<Setting> settings_in(const ImportFile& file, Format format) {
  if (format == Format::Json) return settings_of_json(file.text, file.name);
  return format == Format::Yaml ? settings_of_yaml(file.text, file.name)
                                : settings_of_toml(file.text, file.name);
}

/// A command's flags as a dialect's tables have them.
std::vector<Setting> in_dialect(std::vector<Setting> arguments, const Dialect& dialect) {
  if (dialect.flags || dialect.overrides) return arguments;
  for (Setting& setting : arguments) {
    setting.key.erase(0, std::min(setting.key.find_first_not_of('-'), setting.key.size()));
    std::replace(setting.key.begin(), setting.key.end(), '-', '_');
  }
  return arguments;
}

std::size_t understood_by(const Dialect& dialect, const std::vector<Setting>& settings) {
  return static_cast<std::size_t>(
      std::count_if(settings.begin(), settings.end(), [&](const Setting& setting) {
        return meaning_of_key(dialect, setting.key).kind == KeyMeaning::Kind::Read;
      }));
}

/// The command's flags in the dialect of its program, or in the one that understands most of them; no dialect
/// when none understands any.
SettingGroup group_of(const LaunchCommand& command) {
  SettingGroup best;
  std::size_t most = 0;
  const auto program = known_program(command);
  for (const Dialect& dialect : dialects()) {
    if (program && program->certain && dialect.launcher != program->launcher) continue;
    std::vector<Setting> settings = in_dialect(command.arguments, dialect);
    const std::size_t known = understood_by(dialect, settings);
    if (known <= most) continue;
    most = known;
    best = {&dialect, std::move(settings)};
  }
  return best;
}

const Dialect& dialect_of(Launcher launcher) {
  const auto all = dialects();
  return *std::find_if(all.begin(), all.end(),
                       [&](const Dialect& each) { return each.launcher == launcher; });
}

/// The dialect of what a trainer stands on: DeepSpeed's configuration, or accelerate's, which is TRL's kin.
const Dialect& dialect_below(Launcher launcher) {
  const auto all = dialects();
  return *std::find_if(all.begin(), all.end(),
                       [&](const Dialect& each) { return each.below && each.launcher == launcher; });
}

/// What a trainer's file carries of DeepSpeed's configuration ("deepspeed.zero_optimization.stage").
std::vector<Setting> take_inner_settings(std::vector<Setting>& settings) {
  constexpr std::string_view kInside = "deepspeed.";
  std::vector<Setting> inner, own;
  for (Setting& setting : settings) {
    const bool inside = setting.key.starts_with(kInside);
    if (inside) setting.key.erase(0, kInside.size());
    (inside ? inner : own).push_back(std::move(setting));
  }
  settings = std::move(own);
  return inner;
}

void gather_configuration(const ImportFile& file, Format format, bool asked_for, const FindFile& find_file,
                          Gathered& into);
void gather_recipe(const std::vector<PythonFile>& files, std::string_view function, Gathered& into);

/// The file that a trainer's configuration names under `deepspeed`.
void gather_engine(const std::vector<Setting>& settings, const FindFile& find_file, Gathered& into) {
  for (const Setting& setting : settings) {
    const auto* name = setting.value.get_if<std::string>();
    if (setting.key != "deepspeed" || name == nullptr || !name->ends_with(".json")) continue;
    if (std::find(into.seen.begin(), into.seen.end(), *name) != into.seen.end()) continue;
    into.seen.push_back(*name);
    if (std::optional<std::string> text = find_file ? find_file(*name) : std::nullopt) {
      gather_configuration({*name, std::move(*text)}, Format::Json, false, find_file, into);
    } else {
      into.notes.push_back(
          fmt::format("{}:{} names {}, which is not here: give it, too", setting.file, setting.line, *name));
    }
  }
}

void gather_configuration(const ImportFile& file, Format format, bool asked_for, const FindFile& find_file,
                          Gathered& into) {
  std::vector<Setting> settings = settings_in(file, format);
  if (asked_for && format == Format::Json) refuse_model_config(file.name, settings);
  refuse_other_configurations(file.name, settings);
  const Dialect* dialect = dialect_of(settings);
  if (dialect == nullptr) {
    if (asked_for)
      into.notes.push_back(fmt::format("{} has no setting that a framework known here reads", file.name));
    return;
  }
  if (is_trainer(dialect->launcher)) {
    if (std::vector<Setting> inner = take_inner_settings(settings); !inner.empty())
      into.groups.push_back({&dialect_below(Launcher::DeepSpeed), std::move(inner)});
    gather_engine(settings, find_file, into);
  }
  into.groups.push_back({dialect, std::move(settings)});
}

/// accelerate's own flags as its configuration has them; other launchers' say nothing of a plan.
void gather_launcher(const std::vector<Setting>& options, Gathered& into) {
  const Dialect& accelerate = dialect_below(Launcher::Trl);
  SettingGroup group{&accelerate, {}};
  for (Setting& option : in_dialect(options, accelerate)) {
    for (const char* section : {"", "fsdp_config.", "deepspeed_config."}) {
      if (meaning_of_key(accelerate, section + option.key).kind != KeyMeaning::Kind::Read) continue;
      option.key = section + option.key;
      group.settings.push_back(std::move(option));
      break;
    }
  }
  if (!group.settings.empty()) into.groups.push_back(std::move(group));
}

/// What a command names: from the script itself, or from beside it.
void gather_named(const std::vector<Setting>& names, const ShellScript& script, const FindFile& find_file,
                  Gathered& into) {
  for (const Setting& name : names) {
    if (std::find(into.seen.begin(), into.seen.end(), name.key) != into.seen.end()) continue;
    into.seen.push_back(name.key);
    const auto [path, function] = split_name(name.key);
    ImportFile file{path, {}};
    const auto document = std::find_if(script.documents.begin(), script.documents.end(),
                                       [&](const HereDocument& each) { return each.file == name.key; });
    if (document != script.documents.end()) {
      file.text = document->text;
      file.name = fmt::format("{} (line {} of {})", name.key, document->line, name.file);
    } else if (std::optional<std::string> text = find_file ? find_file(path) : std::nullopt) {
      file.text = std::move(*text);
    } else {
      into.notes.push_back(
          fmt::format("{}:{} names {}, which is not here: give it, too", name.file, name.line, name.key));
      continue;
    }
    const Format format = format_of(ImportFile{path, {}});
    if (format == Format::Python) {
      gather_recipe({{file.name, std::move(file.text)}}, function, into);
    } else {
      gather_configuration(file, format, false, find_file, into);
    }
  }
}

/// Machines as Megatron-Bridge's recipes have them in their names:
/// "llama3_70b_pretrain_64gpu_h100_bf16_config".
void read_machines_of_name(const std::string& recipe, Gathered& into) {
  constexpr std::string_view kGpus = "gpu_";
  const std::size_t at = recipe.find(kGpus);
  if (at == std::string::npos) return;
  const std::size_t digits = recipe.find_last_not_of("0123456789", at - 1) + 1;
  const auto gpus =
      costmodel::parse_number<std::int64_t>(std::string_view{recipe}.substr(digits, at - digits));
  if (!gpus || *gpus < 1) return;
  into.gpus = *gpus;
  const std::size_t type = at + kGpus.size();
  into.gpu = recipe.substr(type, recipe.find('_', type) - type);
}

/// The recipe that a command of Megatron-Bridge names, before what the command says itself.
void take_named_recipe(SettingGroup& group, Gathered& into) {
  if (group.dialect == nullptr || group.dialect->launcher != Launcher::Bridge) return;
  const auto named = std::find_if(group.settings.begin(), group.settings.end(), [](const Setting& setting) {
    return setting.key == "recipe" && setting.value.get_if<std::string>() != nullptr;
  });
  if (named == group.settings.end()) return;
  const auto name = *named->value.get_if<std::string>();
  if (into.gpus == 0) read_machines_of_name(name, into);
  std::vector<Setting> base = base_of_bridge_recipe(name, named->file, named->line);
  group.settings.insert(group.settings.begin(), base.begin(), base.end());
}

void gather_script(const ImportFile& file, const FindFile& find_file, Gathered& into) {
  const ShellScript script = read_shell_script(file.text, file.name);
  for (const std::string& note : script.notes) into.notes.push_back(fmt::format("{}: {}", file.name, note));
  const std::vector<LaunchCommand> commands = launch_commands(script, file.name);
  const LaunchCommand* chosen = nullptr;
  SettingGroup group;
  std::size_t most = 0;
  for (const LaunchCommand& command : commands) {
    SettingGroup candidate = group_of(command);
    const std::size_t known =
        candidate.dialect == nullptr ? 0 : understood_by(*candidate.dialect, candidate.settings);
    if (chosen != nullptr && known + command.files.size() <= most) continue;
    most = known + command.files.size();
    chosen = &command;
    group = std::move(candidate);
  }
  if (chosen == nullptr) {
    into.notes.push_back(fmt::format("{} starts no training program that is known here", file.name));
    return;
  }
  refuse_other_programs(*chosen, file.name);
  gather_named(chosen->files, script, find_file, into);
  gather_launcher(chosen->launcher, into);
  into.world.insert(into.world.end(), chosen->world.begin(), chosen->world.end());
  into.gpus = std::max(into.gpus, chosen->gpus);
  into.gpus_per_node = std::max(into.gpus_per_node, chosen->gpus_per_node);
  if (!chosen->gpu.empty()) into.gpu = chosen->gpu;
  into.program = known_program(*chosen);
  take_named_recipe(group, into);
  if (group.dialect != nullptr) into.groups.push_back(std::move(group));
}

/// The recipe of the first file; functions of the others are what it builds on.
void gather_recipe(const std::vector<PythonFile>& files, std::string_view function, Gathered& into) {
  PythonRecipe recipe = read_python_recipe(files, function);
  const Dialect& dialect = dialect_of(recipe.launcher);
  if (understood_by(dialect, recipe.settings) == 0) {
    into.notes.push_back(fmt::format("{} assigns nothing that {} reads", files.front().name,
                                     format_of(recipe.launcher).title));
    return;
  }
  read_machines_of_name(recipe.function, into);
  into.notes.insert(into.notes.end(), recipe.notes.begin(), recipe.notes.end());
  for (const UnreadSetting& row : recipe.unread) {
    if (meaning_of_key(dialect, row.setting.key).kind == KeyMeaning::Kind::Ignored) continue;
    into.notes.push_back(
        fmt::format("{}:{} {}: {}", row.setting.file, row.setting.line, row.setting.key, row.why));
  }
  into.groups.push_back({&dialect, std::move(recipe.settings)});
}

// --- from settings to a reading ---

std::string value_text(const Setting& setting) {
  if (setting.value.is_null()) return setting.unread.empty() ? "…" : setting.unread;
  const auto* text = setting.value.get_if<std::string>();
  return text != nullptr ? *text : to_text(setting.value, JsonStyle::Compact);
}
std::string why_unread(const Setting& setting) {
  return setting.unread.empty()
             ? "its value is known only when the script runs"
             : fmt::format("its value, {}, is known only when the script runs", setting.unread);
}

/// Takes one setting, and says what became of it.
ImportedSetting take(const Setting& setting, const Dialect& dialect, LaunchReading& reading) {
  ImportedSetting result{
      .file = setting.file, .line = setting.line, .key = setting.key, .value = value_text(setting)};
  if (dialect.flags && setting.value == JsonValue{true}) result.value.clear();
  const KeyMeaning meaning = meaning_of_key(dialect, setting.key);
  const bool not_set = !dialect.flags && setting.value.is_null() && setting.unread.empty();
  switch (meaning.kind) {
    case KeyMeaning::Kind::Ignored:
      result.fate = SettingFate::Ignored;
      return result;
    case KeyMeaning::Kind::Wordless:
      // A configuration written out in full has every switch that is off.
      if (not_set || (!dialect.flags && setting.value == JsonValue{meaning.usual})) {
        result.fate = SettingFate::Ignored;
      } else {
        result.why = meaning.why;
      }
      return result;
    case KeyMeaning::Kind::Unknown:
      if (not_set) result.fate = SettingFate::Ignored;
      if (!setting.unread.empty()) result.why = why_unread(setting);
      return result;
    case KeyMeaning::Kind::Read:
      break;
  }
  result.fate = SettingFate::Understood;
  if (meaning.read == nullptr) return result;
  if (setting.value == JsonValue{"auto"}) {
    if (dialect.launcher == Launcher::DeepSpeed) reading.left_to_trainer.push_back(setting.key);
    return result;
  }
  if (setting.value.is_null() && (!meaning.reads_null || !setting.unread.empty())) {
    if (not_set) return result;
    result.fate = SettingFate::Unknown;
    result.why = why_unread(setting);
    return result;
  }
  const std::string place = fmt::format("{}:{}", setting.file, setting.line);
  try {
    meaning.read(ValueReader{place, setting.key, setting.value, Reading::Lenient}, reading);
  } catch (const InputError& error) {
    result.fate = SettingFate::Unknown;
    result.why =
        setting.unread.empty() ? fmt::format("expected {}", error.problem.expected) : why_unread(setting);
    if (!setting.unread.empty()) result.value = setting.unread;
  }
  return result;
}

/// A GPU type alone, in a cluster of as many as the files say.
JsonValue cluster_of(const std::string& gpu, std::int64_t gpus, std::int64_t per_node) {
  if (gpus == 0) return {};
  const costmodel::ClusterSpec usual = make_cluster(gpu, gpus);
  if (per_node > 0 && per_node < usual.gpus_per_node && gpus > per_node && gpus % per_node == 0)
    return fmt::format("{}x{}x{}", gpus / per_node, per_node, gpu);
  return fmt::format("{}x{}", gpus, gpu);
}

/// By name, or as a file ("./my-gpu.json"), which "8x./my-gpu.json" is not.
bool is_gpu_type(const std::string& name) {
  try {
    std::error_code ignored;
    return !name.empty() && std::filesystem::is_regular_file(find_preset(PresetKind::Gpu, name), ignored);
  } catch (const InputError&) {
    return false;
  }
}

/// What the user and the files say about the machines; `reading.gpus` afterwards is the number planned for.
JsonValue settle_cluster(std::string_view asked, LaunchReading& reading) {
  const std::string type = is_gpu_type(std::string{asked}) ? std::string{asked} : reading.gpu;
  if (!asked.empty() && type != asked) {
    const std::int64_t gpus = parse_cluster(asked).gpus;
    if (reading.gpus > 0 && reading.gpus != gpus)
      reading.notes.push_back(
          fmt::format("the files start {} processes; planned for {} GPUs, as asked", reading.gpus, gpus));
    reading.gpus = gpus;
    if (reading.gpus_per_node == 0) reading.gpus_per_node = parse_cluster(asked).gpus_per_node;
    return std::string{asked};
  }
  return is_gpu_type(type) ? cluster_of(type, reading.gpus, reading.gpus_per_node) : JsonValue{};
}

/// Puts the settings together. Of a type of GPU, and files that say no number, the fewest are planned that
/// hold the model's stages and shards once.
LaunchReading settled(const LaunchReading& said, Launcher launcher, std::string_view cluster) {
  LaunchReading reading = said;
  settle_reading(reading, launcher);
  if (reading.gpus > 0 || !is_gpu_type(std::string{cluster})) return reading;
  const costmodel::Layout& layout = reading.plan.layout;
  const std::int64_t gpus = layout.ranks_per_dp();
  reading = said;
  reading.gpus = gpus;
  reading.notes.push_back(
      fmt::format("the files do not say how many GPUs: {} planned, --cluster {}x{} plans another number",
                  gpus == 1 ? "one is" : fmt::format("{} are", gpus), gpus * 8, cluster));
  settle_reading(reading, launcher);
  return reading;
}

void say_missing_cluster(const ImportedPlan& plan, std::vector<std::string>& notes) {
  if (!plan.request.cluster.is_null()) return;
  notes.push_back(plan.gpus > 0 ? fmt::format("the files do not say the type of the {} GPUs: add --cluster "
                                              "{}xH100, or --cluster H100 for that many",
                                              plan.gpus, plan.gpus)
                                : "the files do not say the GPUs: add --cluster 64xH100");
}

/// What settings follow from of a model that is not in the files: the user's, or one that they name.
void take_named_model(const JsonValue& asked, LaunchReading& reading) {
  const auto model = !asked.is_null()     ? std::optional{look_up_model(asked)}
                     : reading.says_model ? std::nullopt
                                          : named_model(reading);
  if (!model) return;
  reading.named_layers = model->layers, reading.named_hidden = model->hidden;
  if (!model->tied_embeddings) return;
  std::vector<std::string> shared;
  std::erase_if(reading.trainer.saved, [&](const std::string& name) {
    const bool shares = saved_module_named(name) != costmodel::SavedModules::None;
    if (shares) shared.push_back(name);
    return shares;
  });
  if (!shared.empty())
    reading.notes.push_back(
        fmt::format("a copy of {} that trains beside the adapters, apart from what it shares a matrix with, "
                    "is not planned",
                    fmt::join(shared, ", ")));
}

/// Everything that the files say, and those that they name. InputError where that is nothing.
Gathered gather(const std::vector<ImportFile>& files, const FindFile& find_file) {
  Gathered gathered;
  for (const ImportFile& file : files) gathered.seen.push_back(file.name);
  std::vector<PythonFile> recipes;
  std::string function;
  for (const ImportFile& file : files) {
    const Format format = format_of(file);
    if (format == Format::Python) {
      NamedFunction name = split_name(file.name);
      if (recipes.empty()) function = std::move(name.function);
      recipes.push_back({std::move(name.file), file.text});
    } else if (format == Format::Shell) {
      gather_script(file, find_file, gathered);
    } else {
      gather_configuration(file, format, true, find_file, gathered);
    }
  }
  if (!recipes.empty()) gather_recipe(recipes, function, gathered);
  if (gathered.groups.empty())
    refuse_all(files.empty() ? "" : files.front().name, gathered.notes.empty() ? "" : gathered.notes.front());
  for (const SettingGroup& group : gathered.groups) {
    if (group.dialect->launcher == Launcher::Bridge) refuse_nemo(group.settings);
  }
  return gathered;
}

/// What became of the machines' settings, which are read where they stand.
ImportedSetting fate_of_world(const Setting& setting) {
  const bool read = setting.unread.empty();
  return {setting.file,
          setting.line,
          setting.key,
          read ? value_text(setting) : setting.unread,
          read ? SettingFate::Understood : SettingFate::Unknown,
          read ? std::string{} : why_unread(setting)};
}

}  // namespace

ImportedPlan import_plan(const std::vector<ImportFile>& files, std::string_view cluster,
                         const FindFile& find_file, const JsonValue& model) {
  Gathered gathered = gather(files, find_file);
  const auto main = std::max_element(
      gathered.groups.begin(), gathered.groups.end(), [](const SettingGroup& a, const SettingGroup& b) {
        return std::pair{!a.dialect->below, understood_by(*a.dialect, a.settings)} <
               std::pair{!b.dialect->below, understood_by(*b.dialect, b.settings)};
      });
  const Launcher launcher = main->dialect->launcher;
  LaunchReading reading = begin_reading(launcher);
  reading.gpus = gathered.gpus;
  reading.gpus_per_node = gathered.gpus_per_node;
  reading.gpu = gathered.gpu;

  ImportedPlan plan{.format = format_of(launcher), .request = {}, .settings = {}, .notes = {}};
  for (const SettingGroup& group : gathered.groups) {
    for (const Setting& setting : group.settings)
      plan.settings.push_back(take(setting, *group.dialect, reading));
  }
  if (!gathered.program || !gathered.program->certain)
    refuse_strangers(files.front().name, plan.settings, plan.format.title);
  if (gathered.program && gathered.program->launcher == launcher) read_program(*gathered.program, reading);
  for (const Setting& setting : gathered.world) plan.settings.push_back(fate_of_world(setting));
  std::stable_sort(plan.settings.begin(), plan.settings.end(),
                   [](const ImportedSetting& a, const ImportedSetting& b) {
                     return std::pair{a.file, a.line} < std::pair{b.file, b.line};
                   });

  if (reading.gpus_per_node == 0 && reading.nodes > 0 && reading.gpus % reading.nodes == 0)
    reading.gpus_per_node = reading.gpus / reading.nodes;
  plan.request.cluster = settle_cluster(cluster, reading);
  take_named_model(model, reading);
  reading = settled(reading, launcher, cluster);
  plan.gpus = reading.gpus;
  if (plan.request.cluster.is_null()) plan.request.cluster = settle_cluster(cluster, reading);
  plan.notes = std::move(gathered.notes);
  plan.notes.insert(plan.notes.end(), reading.notes.begin(), reading.notes.end());
  plan.request.model = model.is_null() ? model_of_reading(reading, launcher, plan.notes) : model;
  plan.request.framework = reading.plan.framework.name;
  plan.request.layout = {reading.plan.layout, reading.dp_said};
  if (!reading.dp_said) plan.request.layout.layout.dp = 1;
  plan.request.recipe = reading.plan.recipe;
  say_missing_cluster(plan, plan.notes);
  return plan;
}

ImportedPlan import_files(const std::vector<std::string>& paths, std::string_view cluster,
                          const JsonValue& model) {
  std::vector<ImportFile> files;
  std::vector<std::filesystem::path> folders{std::filesystem::path{}};
  for (const std::string& path : paths) {
    files.push_back({path, read_text_file(split_name(path).file, kLargestLaunchFile)});
    folders.push_back(std::filesystem::path{path}.parent_path());
  }
  const auto beside = [&](const std::string& name) -> std::optional<std::string> {
    for (const std::filesystem::path& folder : folders) {
      const std::filesystem::path path = folder / name;
      std::error_code ignored;
      if (std::filesystem::is_regular_file(path, ignored)) return read_text_file(path, kLargestLaunchFile);
    }
    return std::nullopt;
  };
  return import_plan(files, cluster, beside, model);
}

}  // namespace hexaplan::presets
