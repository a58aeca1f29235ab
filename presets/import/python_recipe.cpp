#include "presets/import/python_recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "presets/import/python_framework.h"
#include "presets/import/python_lines.h"
#include "presets/import/python_module.h"
#include "presets/json/input_error.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {
namespace {

/// perf_recipes/_common.py _perf_precision.
constexpr std::pair<std::string_view, std::string_view> kPerfPrecisions[] = {
    {"bf16", "bf16_mixed"},
    {"fp8_cs", "bf16_with_fp8_current_scaling_mixed"},
    {"fp8_ds", "bf16_with_fp8_delayed_scaling_mixed"},
    {"fp8_mx", "bf16_with_mxfp8_mixed"},
    {"nvfp4", "bf16_with_nvfp4_mixed"}};

std::string_view last_part(std::string_view dotted) {
  return dotted.substr(dotted.rfind('.') + 1);
}
std::string_view first_part(std::string_view dotted) {
  return dotted.substr(0, dotted.find('.'));
}

/// Of an object's name: "SelectiveAC" of "SelectiveAC.Config".
std::string_view class_of(std::string_view called) {
  constexpr std::string_view kConfig = ".Config";
  if (called.ends_with(kConfig)) called.remove_suffix(kConfig.size());
  return last_part(called);
}

/// Reads one recipe.
class RecipeReader {
 public:
  RecipeReader(const PythonFramework& framework, const std::vector<PythonFile>& files)
      : framework_{framework} {
    for (const PythonFile& file : files) modules_.push_back(python_module(file));
    for (const PythonModule& module : modules_) {
      for (const PythonLine& line : module.own.body) {
        const auto assigned = line.indent == 0 ? python_assignment(line.text) : std::nullopt;
        if (!assigned || assigned->targets.front().find('.') != std::string::npos) continue;
        PythonValue value = python_value(assigned->value);
        if (value.kind == PythonValue::Kind::Plain)
          constants_[{module.own.file->name, assigned->targets.front()}] = std::move(value);
      }
    }
  }

  [[nodiscard]] const PythonFunction& choose(std::string_view name) const {
    const PythonModule& main = modules_.front();
    std::vector<std::string_view> names;
    const PythonFunction* found = nullptr;
    for (const PythonFunction& function : main.functions) {
      if (!name.empty() ? function.name != name : !is_recipe(function)) continue;
      names.push_back(function.name);
      found = &function;
    }
    if (name.empty() && sets_anything(main.own)) return main.own;
    if (names.size() == 1) return *found;
    for (const PythonFunction& function : main.functions) {
      if (!name.empty() && is_recipe(function)) names.push_back(function.name);
    }
    const std::string& file = main.own.file->name;
    throw InputError(
        {.file = file,
         .value = name.empty() ? fmt::format("{} recipes", names.size()) : in_quotes(name),
         .expected = names.empty() ? "a function that returns a configuration" : "one of " + listed(names),
         .hint = names.empty() ? "" : fmt::format("write {}:{}", file, names.front())});
  }

  PythonRecipe read(const PythonFunction& function) {
    recipe_.launcher = framework_.launcher;
    recipe_.function = function.name;
    file_ = function.file->name;
    line_ = 1;
    if (const std::string folder = std::filesystem::path{file_}.parent_path().filename().string();
        !framework_.folder_key.empty() && !folder.empty())
      put(std::string{framework_.folder_key}, folder);
    run(function, {}, function.defaults);
    for (Setting& setting : recipe_.settings) rename(setting.key);
    for (UnreadSetting& unread : recipe_.unread) rename(unread.setting.key);
    return std::move(recipe_);
  }

 private:
  static constexpr int kDeepestCall = 8;

  [[nodiscard]] const PythonFunction* find(std::string_view called) const {
    std::string name{called};
    for (const PythonModule& module : modules_) {
      if (const auto alias = module.aliases.find(name); alias != module.aliases.end()) name = alias->second;
    }
    for (const PythonModule& module : modules_) {
      const auto found =
          std::find_if(module.functions.begin(), module.functions.end(), [&](const PythonFunction& f) {
            // A recipe may build on one of its own name in another file.
            return f.name == name && std::find(running_.begin(), running_.end(), &f) == running_.end();
          });
      if (found != module.functions.end()) return &*found;
    }
    return nullptr;
  }
  void rename(std::string& key) const {
    for (const KeyRename& row : framework_.renames) {
      if (key.starts_with(row.from)) key.replace(0, row.from.size(), row.to);
    }
  }

  /// Assigns to an attribute of something that it has not been given.
  [[nodiscard]] static bool sets_anything(const PythonFunction& function) {
    return std::any_of(function.body.begin(), function.body.end(), [&](const PythonLine& line) {
      const auto assigned = python_assignment(line.text);
      if (!assigned || assigned->targets.front().find('.') == std::string::npos) return false;
      const std::string root{first_part(assigned->targets.front())};
      return root != "self" && std::find(function.parameters.begin(), function.parameters.end(), root) ==
                                   function.parameters.end();
    });
  }
  /// By what it returns, by what it does, or by its name.
  [[nodiscard]] bool is_recipe(const PythonFunction& function) const {
    constexpr std::string_view kReturn = "return ";
    // A helper that is handed a configuration returns one, too.
    const bool makes =
        is_container(framework_, function.returns) && function.parameters.size() == function.defaults.size();
    return makes || sets_anything(function) || is_called_a_recipe(framework_, function.name) ||
           std::any_of(function.body.begin(), function.body.end(), [&](const PythonLine& line) {
             if (!line.text.starts_with(kReturn)) return false;
             const std::string_view called = std::string_view{line.text}.substr(kReturn.size());
             return is_container(framework_, called.substr(0, called.find('(')));
           });
  }

  /// `config`: the parameter that is the configuration, or its part `below` ("model."); empty: the function
  /// makes it.
  void run(const PythonFunction& function, std::string config, std::map<std::string, PythonValue> arguments,
           const std::string& below = {}) {
    if (depth_ >= kDeepestCall) return;
    ++depth_;
    const std::string file = std::exchange(file_, function.file->name);
    const int line = line_;
    std::map<std::string, PythonValue> outer = std::exchange(locals_, std::move(arguments));
    const std::string above = std::exchange(below_, below_ + below);
    std::map<std::string, std::string> outer_placed = std::exchange(placed_, {});
    running_.push_back(&function);
    walk(function.body, config);
    running_.pop_back();
    below_ = above;
    placed_ = std::move(outer_placed);
    locals_ = std::move(outer);
    file_ = file;
    line_ = line;
    --depth_;
  }

  /// Statements of one block, and of blocks in it that always run.
  void walk(std::span<const PythonLine> body, std::string& config) {
    if (body.empty()) return;
    const std::size_t indent = body.front().indent;
    for (std::size_t i = 0; i < body.size();) {
      std::size_t next = i + 1;
      while (next < body.size() && body[next].indent > indent) ++next;
      const std::span<const PythonLine> block = body.subspan(i + 1, next - i - 1);
      if (block.empty()) {
        statement(body[i], config);
      } else if (always_runs(body[i].text)) {
        walk(block, config);
      } else if (!body[i].text.starts_with("def ") && !body[i].text.starts_with("class ")) {
        note_conditional(block, config);
      }
      i = next;
    }
  }
  static bool always_runs(std::string_view head) {
    return head.starts_with("with ") || head == "try:" || head.starts_with("if __name__");
  }

  void note_conditional(std::span<const PythonLine> block, const std::string& config) {
    for (const PythonLine& line : block) {
      const auto assigned = python_assignment(line.text);
      if (!assigned) continue;
      for (const std::string& target : assigned->targets) {
        if (PythonValue* local = unplaced(target))
          local->members.push_back({target.substr(first_part(target).size() + 1), {}, line.line});
        if (auto path = path_of(target, config))
          recipe_.unread.push_back({{std::move(*path), {}, file_, line.line}, "set under a condition"});
      }
    }
  }

  /// The object that an attribute belongs to, when it is no part of the configuration yet.
  [[nodiscard]] PythonValue* unplaced(const std::string& target) {
    const auto local = locals_.find(std::string{first_part(target)});
    const bool object = local != locals_.end() && local->second.kind == PythonValue::Kind::Call;
    return object && local->first.size() < target.size() && !placed_.contains(local->first) ? &local->second
                                                                                            : nullptr;
  }
  /// Of the configuration, what an attribute is: its own, or that of an object which it was given.
  [[nodiscard]] std::optional<std::string> path_of(const std::string& target,
                                                   const std::string& config) const {
    const std::string root{first_part(target)};
    if (root.size() == target.size()) return std::nullopt;
    const std::string attribute = target.substr(root.size() + 1);
    if (root == config) return below_ + attribute;
    const auto placed = placed_.find(root);
    return placed == placed_.end() ? std::nullopt : std::optional{placed->second + "." + attribute};
  }

  void statement(const PythonLine& line, std::string& config) {
    line_ = line.line;
    constexpr std::string_view kReturn = "return ";
    if (line.text.starts_with(kReturn)) {
      const PythonValue value = python_value(std::string_view{line.text}.substr(kReturn.size()), line_);
      if (value.kind != PythonValue::Kind::Call) return;
      if (is_given_configuration(value, config)) {
        take_wrapped(value, config);
      } else {
        take_base(value);
      }
      return;
    }
    if (const auto assigned = python_assignment(line.text)) {
      assign(*assigned, config);
    } else if (const PythonValue call = python_value(line.text, line_);
               call.kind == PythonValue::Kind::Call) {
      take_helper(call, config);
    }
  }

  void assign(const PythonAssignment& assigned, std::string& config) {
    const PythonValue value = python_value(assigned.value, line_);
    for (const std::string& target : assigned.targets) {
      if (target.find('.') == std::string::npos) {
        assign_name(target, value, config);
      } else if (PythonValue* local = unplaced(target)) {
        local->members.push_back({target.substr(first_part(target).size() + 1), value, line_});
      } else {
        if (config.empty()) config = first_part(target);
        if (const auto path = path_of(target, config)) emit(*path, value);
      }
    }
  }
  void assign_name(const std::string& target, const PythonValue& value, std::string& config) {
    const bool called = value.kind == PythonValue::Kind::Call;
    if (called && makes_configuration(value)) {
      take_base(value);
      config = target;
    } else if (called && is_given_configuration(value, config)) {
      take_wrapped(value, config);
      config = target;
    } else {
      locals_[target] = value;
    }
  }

  /// A recipe, a base that is known, or what is called like one.
  [[nodiscard]] bool makes_configuration(const PythonValue& call) const {
    const std::string_view name = last_part(call.name);
    const KnownFunction* known = find_function(framework_, name);
    if (const PythonFunction* function = find(name)) return is_recipe(*function);
    return (known != nullptr && known->role == KnownRole::Base) || is_container(framework_, call.name) ||
           is_called_a_recipe(framework_, name) || name.find("_common") != std::string_view::npos;
  }

  /// The configuration that the recipe starts from.
  void take_base(const PythonValue& call) {
    const std::string name{last_part(call.name)};
    if (const PythonFunction* function = find(name)) {
      run(*function, {}, arguments_of(call, *function));
      return;
    }
    if (const KnownFunction* known = find_function(framework_, name)) {
      take_known(known->settings, {});
    } else if (!is_container(framework_, call.name)) {
      take_unknown_base(name);
    }
    for (const PythonMember& member : call.members) emit(member.name, member);
  }

  /// What a recipe that is in no file begins with, by its name.
  void take_unknown_base(const std::string& name) {
    const KnownFunction* like = find_base_of_recipe(framework_, name);
    if (like != nullptr) take_known(like->settings, {});
    if (is_called_a_recipe(framework_, name)) put("recipe", name);
    recipe_.notes.push_back(fmt::format(
        "{}:{} starts from {}, which is not in the files: give its file, too{}", file_, line_, name,
        like != nullptr ? "; until then it is taken for what such recipes begin with (recipes/common.py)"
                        : ""));
  }

  /// "helper(cfg, 1024)", or "helper(base(), 1024)".
  [[nodiscard]] bool is_given_configuration(const PythonValue& call, const std::string& config) const {
    return std::any_of(call.positional.begin(), call.positional.end(), [&](const PythonValue& value) {
      return (value.kind == PythonValue::Kind::Name && !config.empty() && value.name == config) ||
             (value.kind == PythonValue::Kind::Call && makes_configuration(value));
    });
  }
  /// What a helper returns is what it was given, with its settings.
  void take_wrapped(PythonValue call, const std::string& config) {
    const std::string given = config.empty() ? "configuration" : config;
    for (PythonValue& value : call.positional) {
      if (value.kind != PythonValue::Kind::Call || !makes_configuration(value)) continue;
      take_base(value);
      value = {};
      value.kind = PythonValue::Kind::Name;
      value.name = given;
    }
    take_helper(call, given);
  }

  void take_helper(const PythonValue& call, const std::string& config) {
    const auto given =
        std::find_if(call.positional.begin(), call.positional.end(), [&](const PythonValue& value) {
          return value.kind == PythonValue::Kind::Name && !config.empty() && first_part(value.name) == config;
        });
    if (given == call.positional.end()) return;
    const std::string name{last_part(call.name)};
    const auto place = static_cast<std::size_t>(given - call.positional.begin());
    if (const PythonFunction* function = find(name);
        function != nullptr && place < function->parameters.size()) {
      const std::string part =
          given->name.size() > config.size() ? given->name.substr(config.size() + 1) + "." : "";
      run(*function, function->parameters[place], arguments_of(call, *function), part);
    } else if (const KnownFunction* known = find_function(framework_, name)) {
      take_known(known->settings, {});
    } else {
      recipe_.notes.push_back(fmt::format(
          "{}:{} calls {}, which is not in the files: what it sets is not read", file_, line_, name));
    }
  }
  static std::map<std::string, PythonValue> arguments_of(const PythonValue& call,
                                                         const PythonFunction& function) {
    std::map<std::string, PythonValue> arguments = function.defaults;
    for (std::size_t i = 0; i < std::min(call.positional.size(), function.parameters.size()); ++i)
      arguments[function.parameters[i]] = call.positional[i];
    for (const PythonMember& member : call.members) arguments[member.name] = member.value;
    return arguments;
  }
  void take_known(std::span<const KnownSetting> settings, const std::string& below) {
    for (const KnownSetting& row : settings)
      put(below.empty() ? row.key : below + "." + row.key, python_value(row.value).plain);
  }
  void take_call(const std::string& path, const KnownCall& known, const PythonValue& call) {
    forget(path);
    take_known(known.settings, path);
    if (!known.first_argument.empty() && !call.positional.empty())
      emit(fmt::format("{}.{}", path, known.first_argument), call.positional.front());
    emit_members(path, call.members);
  }

  /// What was assigned to it, or to parts of it, before is gone.
  void forget(const std::string& path) {
    const auto gone = [&](const Setting& setting) {
      return setting.key == path || setting.key.starts_with(path + ".");
    };
    std::erase_if(recipe_.settings, gone);
    std::erase_if(recipe_.unread, [&](const UnreadSetting& row) { return gone(row.setting); });
  }
  void put(const std::string& path, JsonValue value) {
    forget(path);
    recipe_.settings.push_back({path, std::move(value), file_, line_});
  }

  void emit_members(const std::string& path, const std::vector<PythonMember>& members) {
    for (const PythonMember& member : members) emit(fmt::format("{}.{}", path, member.name), member);
  }
  void emit(const std::string& path, const PythonMember& member) {
    const int line = line_;
    if (member.line > 0) line_ = member.line;
    emit(path, member.value);
    line_ = line;
  }
  void emit(const std::string& path, const PythonValue& value) {
    switch (value.kind) {
      case PythonValue::Kind::Plain:
        return emit_plain(path, value.plain);
      case PythonValue::Kind::List:
        return emit_list(path, value.positional);
      case PythonValue::Kind::Dict:
        return emit_members(path, value.members);
      case PythonValue::Kind::Name:
        return emit_name(path, value);
      case PythonValue::Kind::Call:
        return emit_call(path, value);
      case PythonValue::Kind::Unknown:
        break;
    }
    unread(path);
  }
  void emit_plain(const std::string& path, const JsonValue& value) {
    const auto none = std::find_if(framework_.nones.begin(), framework_.nones.end(),
                                   [&](const KnownNone& row) { return row.key == path; });
    put(path, value);
    if (value.is_null() && none != framework_.nones.end()) take_known({&none->setting, 1}, path);
  }
  /// Objects in a list are told apart by their class: "converters.Float8LinearConverter".
  void emit_list(const std::string& path, const std::vector<PythonValue>& elements) {
    const bool objects = std::all_of(elements.begin(), elements.end(), [](const PythonValue& value) {
      return value.kind == PythonValue::Kind::Call;
    });
    if (!objects) return unread(path);
    forget(path);
    for (const PythonValue& element : elements) {
      const std::string own = fmt::format("{}.{}", path, class_of(element.name));
      put(own, true);
      emit_members(own, element.members);
    }
  }
  void unread(const std::string& path) {
    forget(path);
    recipe_.unread.push_back({{path, {}, file_, line_}, "known only when the recipe runs"});
  }

  /// What a name stands for here, a constant of its file included; null: not known.
  [[nodiscard]] const PythonValue* meaning_of(const std::string& name) const {
    if (const auto local = locals_.find(name); local != locals_.end()) return &local->second;
    const auto constant = constants_.find({file_, name});
    return constant == constants_.end() ? nullptr : &constant->second;
  }

  void emit_name(const std::string& path, const PythonValue& value) {
    if (value.of != nullptr) return unread(path);
    if (const PythonValue* found = meaning_of(value.name)) {
      const PythonValue meant = *found;
      if (meant.kind == PythonValue::Kind::Name && meant.name == value.name) return unread(path);
      if (locals_.contains(value.name)) placed_[value.name] = path;
      return emit(path, meant);
    }
    // "torch.bfloat16": as the configuration that a run writes has it.
    if (value.name.find('.') == std::string::npos) return unread(path);
    forget(path);
    put(path + "._target_", value.name);
  }

  /// The first argument, as far as it is a text that is known.
  [[nodiscard]] const std::string* text_in(const std::vector<PythonValue>& arguments) const {
    if (arguments.empty()) return nullptr;
    const PythonValue* value = &arguments.front();
    if (value->kind == PythonValue::Kind::Name) value = meaning_of(value->name);
    return value != nullptr && value->kind == PythonValue::Kind::Plain ? value->plain.get_if<std::string>()
                                                                       : nullptr;
  }

  void emit_call(const std::string& path, const PythonValue& call) {
    for (const PythonValue* part = &call; part != nullptr; part = part->of.get()) {
      const std::string* name = text_in(part->positional);
      if (last_part(part->name) != "from_hf_pretrained" || name == nullptr) continue;
      forget(path);
      put(path + ".hf_model_id", *name);
      return;
    }
    const std::string_view name = class_of(call.name);
    const std::string* text = text_in(call.positional);
    const bool lora = name == "default_peft_config" && text != nullptr && *text == "lora";
    if (const KnownCall* known = find_call(framework_, lora ? "LoRA" : name)) {
      take_call(path, *known, call);
    } else if (name == "_perf_precision" && text != nullptr) {
      const auto row = std::find_if(std::begin(kPerfPrecisions), std::end(kPerfPrecisions),
                                    [&](const auto& each) { return each.first == *text; });
      if (row == std::end(kPerfPrecisions)) return unread(path);
      put(path, std::string{row->second});
      put("ddp.grad_reduce_in_fp32", false);
    } else if (name == "get_mixed_precision_config" && text != nullptr) {
      put(path, *text);
    } else if (name.ends_with("_mixed")) {
      put(path, std::string{name});
    } else if (!name.empty() && std::isupper(static_cast<unsigned char>(name.front())) != 0) {
      forget(path);
      emit_members(path, call.members);
    } else {
      unread(path);
    }
  }

  const PythonFramework& framework_;
  std::vector<PythonModule> modules_;
  std::map<std::pair<std::string, std::string>, PythonValue> constants_;  // by file and name
  std::map<std::string, PythonValue> locals_;
  std::map<std::string, std::string> placed_;  // locals that are parts of the configuration, and which
  PythonRecipe recipe_;
  std::vector<const PythonFunction*> running_;
  std::string file_, below_;
  int line_ = 0, depth_ = 0;
};

}  // namespace

bool is_python_recipe(std::string_view text) {
  const std::string_view first = text.substr(0, text.find('\n'));
  if (first.starts_with("#!") && first.find("python") == std::string_view::npos) return false;  // a shell's
  return text.find("def ") != std::string_view::npos && python_framework_of(text) != nullptr;
}

std::vector<Setting> base_of_bridge_recipe(std::string_view name, const std::string& file, int line) {
  const PythonFramework* bridge = python_framework_of(Launcher::Bridge);
  const KnownFunction* base = bridge == nullptr ? nullptr : find_base_of_recipe(*bridge, name);
  std::vector<Setting> settings;
  if (base == nullptr) return settings;
  for (const KnownSetting& row : base->settings)
    settings.push_back({row.key, python_value(row.value).plain, file, line});
  return settings;
}

PythonRecipe read_python_recipe(const std::vector<PythonFile>& files, std::string_view function) {
  const PythonFramework* framework = python_framework_of(files.front().text);
  if (framework == nullptr)
    throw InputError({.file = files.front().name,
                      .value = "no word of a framework known here",
                      .expected = "a recipe of Megatron-Bridge or a configuration of torchtitan"});
  RecipeReader reader{*framework, files};
  return reader.read(reader.choose(function));
}

}  // namespace hexaplan::presets
