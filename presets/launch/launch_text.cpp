// The dialects in which frameworks read their settings.
#include <fmt/format.h>

#include <algorithm>

#include "costmodel/program/not_modelled.h"
#include "presets/launch/launch_fields.h"
#include "presets/launch/launch_wrapper.h"
#include "presets/launch/trainer_plan.h"
#include "presets/models/hub_models.h"
#include "presets/scenario/layout_text.h"

namespace hexaplan::presets {

using costmodel::Scenario;

namespace {

struct WrittenSetting {
  std::string key;
  JsonValue value;
};

/// What the model's config.json says beside the plan, and by which name a trainer loads it.
void append_config_settings(const Scenario& scenario, Launcher launcher, const ModelOrigin& origin,
                            std::vector<WrittenSetting>& settings) {
  const auto index = static_cast<std::size_t>(launcher);
  for (const ConfigSetting& row : config_settings()) {
    if (row.keys[index].empty()) continue;
    JsonValue value = config_value(origin, row.config_key);
    if (value.get_if<double>() != nullptr || value.get_if<std::int64_t>() != nullptr)
      settings.push_back({std::string{row.keys[index]}, std::move(value)});
  }
  if (is_trainer(launcher) && !origin.load_by.empty() && hub_name_of_model(scenario.model).empty())
    settings.push_back({launcher == Launcher::Axolotl ? "base_model" : "model_name_or_path", origin.load_by});
}

std::vector<WrittenSetting> settings_of(const Scenario& scenario, Launcher launcher) {
  std::vector<WrittenSetting> settings;
  for (const LaunchField& field : launch_fields()) {
    const std::string_view key = field.keys[static_cast<std::size_t>(launcher)];
    if (key.empty()) continue;
    JsonValue value = field.value(scenario);
    if (!value.is_null()) settings.push_back({std::string{key}, std::move(value)});
  }
  if (!is_trainer(launcher) || !by_deepspeed(scenario)) return settings;
  for (WrittenSetting& inner : settings_of(scenario, Launcher::DeepSpeed)) {
    if (is_inside_trainers(inner.key)) settings.push_back({"deepspeed." + inner.key, std::move(inner.value)});
  }
  // TrainingArguments fills in what its own settings say (transformers integrations/deepspeed.py).
  if (leaves_optimizer_to_deepspeed(scenario)) {
    settings.push_back({"deepspeed.optimizer.type", "AdamW"});
    for (const char* parameter : {"lr", "betas", "eps", "weight_decay"})
      settings.push_back({std::string{"deepspeed.optimizer.params."} + parameter, "auto"});
  }
  return settings;
}

/// One line, whatever a model's name holds.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

std::string comment(const Scenario& s, const LaunchFormat& format, const std::vector<std::string>& gaps,
                    const std::string& remark) {
  std::string text = fmt::format(
      "# {} on {} × {}: {}\n{}# Written by hexaplan for {}: {}.\n# Settings as in {}.\n",
      one_line(s.model.name), s.cluster.gpus, s.cluster.gpu.name,
      to_layout_text({.layout = s.layout, .dp_given = true}),
      remark.empty() ? "" : "# " + one_line(remark) + "\n", format.title, format.what, format.source);
  if (!gaps.empty()) text += "# Not said here:\n";
  for (const std::string& gap : gaps) text += "#   " + gap + "\n";
  const auto left_out = costmodel::not_modelled(s);
  if (!left_out.empty()) text += "# Not modelled by hexaplan's prediction of this plan:\n";
  for (const auto& [knob, effect] : left_out)
    text += one_line(fmt::format("#   {}: {}", knob, effect)) + "\n";
  return text;
}

/// Puts `value` at a path of keys ("a.b.c").
void put(JsonObject& into, std::string_view path, JsonValue value) {
  const std::string_view key = path.substr(0, path.find('.'));
  auto found = std::find_if(into.begin(), into.end(), [&](const JsonMember& m) { return m.first == key; });
  if (key.size() == path.size()) {
    into.emplace_back(std::string{key}, std::move(value));
    return;
  }
  if (found == into.end()) found = into.insert(into.end(), {std::string{key}, JsonObject{}});
  put(*found->second.get_if<JsonObject>(), path.substr(key.size() + 1), std::move(value));
}

JsonObject tree_of(const std::vector<WrittenSetting>& settings) {
  JsonObject tree;
  for (const WrittenSetting& setting : settings) put(tree, setting.key, setting.value);
  return tree;
}

std::string plain(const JsonValue& value) {
  return to_text(value, JsonStyle::Compact);
}

/// As JSON, whose strings YAML reads the same, but with a dot in every number that has an exponent: PyYAML,
/// which reads YAML 1.1, takes 1e-05 for a text (yaml.org/type/float.html).
std::string yaml_value(const JsonValue& value) {
  if (const auto* elements = value.get_if<JsonArray>()) {
    std::string text = "[";
    for (const JsonValue& element : *elements) text += (text.size() > 1 ? "," : "") + yaml_value(element);
    return text + "]";
  }
  std::string text = plain(value);
  if (value.get_if<double>() == nullptr) return text;
  const std::size_t exponent = text.find('e');
  if (exponent != std::string::npos && text.find('.') == std::string::npos) text.insert(exponent, ".0");
  return text;
}

void append_yaml(const JsonObject& object, int depth, std::string& text) {
  for (const auto& [key, value] : object) {
    text.append(static_cast<std::size_t>(depth) * 2, ' ').append(key).append(":");
    if (const auto* inner = value.get_if<JsonObject>()) {
      text += '\n';
      append_yaml(*inner, depth + 1, text);
    } else {
      text += " " + yaml_value(value) + "\n";
    }
  }
}

/// A table per object; plain values of a table before its inner tables.
void append_toml(const JsonObject& object, const std::string& path, std::string& text) {
  for (const auto& [key, value] : object) {
    if (value.get_if<JsonObject>() == nullptr) text += key + " = " + plain(value) + "\n";
  }
  for (const auto& [key, value] : object) {
    const auto* inner = value.get_if<JsonObject>();
    if (inner == nullptr) continue;
    const std::string name = path.empty() ? key : fmt::format("{}.{}", path, key);
    text += fmt::format("\n[{}]\n", name);
    append_toml(*inner, name, text);
  }
}

/// A word that a shell reads back as it is.
std::string shell_word(const JsonValue& value) {
  const auto* text = value.get_if<std::string>();
  std::string word = text != nullptr ? *text : plain(value);
  if (word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.,/:") ==
      std::string::npos)
    return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return quoted + "'";
}

/// Arguments in an array: nothing in them is run.
std::string script(const Scenario& s, const std::vector<WrittenSetting>& settings) {
  std::string text = "set -euo pipefail\n";
  for (const EnvironmentVariable& variable : launch_environment(s, Launcher::Megatron))
    text += fmt::format("export {}={}\n", variable.name, variable.value);
  text += "\narguments=(\n";
  for (const WrittenSetting& setting : settings) {
    text += fmt::format("  {}", setting.key);
    const auto* flag = setting.value.get_if<bool>();
    if (const auto* list = setting.value.get_if<JsonArray>()) {
      for (const JsonValue& element : *list) text += " " + shell_word(element);
    } else if (flag == nullptr) {
      text += " " + shell_word(setting.value);
    }
    text += '\n';
  }
  const std::int64_t per_node = std::min<std::int64_t>(s.cluster.gpus_per_node, s.cluster.gpus);
  text += fmt::format(
      ")\n\n# Once per node; further arguments (data, tokenizer, learning rate) behind the script's name.\n"
      "exec torchrun --nnodes {} --nproc-per-node {} \\\n"
      "  --rdzv-backend c10d --rdzv-endpoint \"${{MASTER_ADDR:-localhost}}:${{MASTER_PORT:-29500}}\" \\\n"
      "  pretrain_gpt.py \"${{arguments[@]}}\" \"$@\"\n",
      (s.cluster.gpus + per_node - 1) / per_node, per_node);
  return text;
}

}  // namespace

std::string launch_text(const Scenario& scenario, const LaunchFormat& format,
                        const std::vector<std::string>& gaps, const std::string& remark,
                        const ModelOrigin& origin) {
  std::vector<WrittenSetting> settings = settings_of(scenario, format.launcher);
  append_config_settings(scenario, format.launcher, origin, settings);
  std::string text;
  switch (format.launcher) {
    case Launcher::Megatron:
      return "#!/usr/bin/env bash\n" + comment(scenario, format, gaps, remark) + script(scenario, settings);
    case Launcher::Nanotron:
    case Launcher::Bridge:
    case Launcher::MaxText:
    case Launcher::Trl:
    case Launcher::Axolotl:
    case Launcher::LlamaFactory:
      text = comment(scenario, format, gaps, remark);
      append_yaml(tree_of(settings), 0, text);
      return text;
    case Launcher::Torchtitan:
      text = comment(scenario, format, gaps, remark);
      append_toml(tree_of(settings), {}, text);
      return text;
    case Launcher::DeepSpeed:
      return to_text(JsonValue{tree_of(settings)}) + "\n";  // JSON has no comments
  }
  return text;
}

}  // namespace hexaplan::presets
