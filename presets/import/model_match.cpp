#include "presets/import/model_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>

#include "presets/catalog/catalog.h"
#include "presets/json/input_error.h"
#include "presets/launch/launch_fields.h"
#include "presets/models/find_model.h"
#include "presets/models/hub_models.h"
#include "presets/models/model_dimensions.h"
#include "presets/models/model_text.h"
#include "presets/models/read_model_config.h"

namespace hexaplan::presets {

using costmodel::ModelSpec;

namespace {

/// Vocabularies of tokenizers that are one model's (core_v0.15.3 megatron/training/tokenizer).
struct Tokenizer {
  std::string_view name;
  std::int64_t vocab;
};
constexpr Tokenizer kTokenizers[] = {
    {"GPT2BPETokenizer", 50257}, {"Llama2Tokenizer", 32000}, {"TikTokenizer", 131072}};

/// `model` with everything of `like` that moves no byte and no second.
ModelSpec with_identity_of(ModelSpec model, const ModelSpec& like) {
  model.name = like.name;
  model.family = like.family;
  model.norm_epsilon = like.norm_epsilon;
  model.zero_centered_norm = like.zero_centered_norm;
  model.rotary = like.rotary;
  model.max_positions =
      like.positions == costmodel::PositionKind::Learned ? model.max_positions : like.max_positions;
  model.position_offset = like.position_offset;
  model.embedding_multiplier = like.embedding_multiplier;
  model.logit_softcap = like.logit_softcap;
  model.norms_after = like.norms_after;
  model.attention.score_width = like.attention.score_width;
  model.attention.softcap = like.attention.softcap;
  model.attention.value_clip = like.attention.value_clip;
  model.mlp.gelu = like.mlp.gelu;
  model.mlp.clamp = like.mlp.clamp;
  model.moe.score = like.moe.score;
  model.moe.renormalise = like.moe.renormalise;
  model.moe.weight_factor = like.moe.weight_factor;
  model.moe.groups = like.moe.groups;
  model.moe.top_groups = like.moe.top_groups;
  model.moe.balance_coefficient = like.moe.balance_coefficient;
  if (like.moe.first_k_dense == 0 && like.moe.period == 1 && like.is_moe()) model.mlp.ffn = like.mlp.ffn;
  return model;
}

/// Appends the preset, unless it is one of the user's own that cannot be used.
void append_preset(const std::string& name, std::vector<ModelSpec>& models) {
  try {
    models.push_back(find_model(name));
    models.back().name = name;
  } catch (const InputError&) {  // whoever asks for it by name is told
  }
}

/// Every model preset, read once.
const std::vector<ModelSpec>& preset_models() {
  static const std::vector<ModelSpec> models = [] {
    std::vector<ModelSpec> all;
    for (const std::string& name : list_presets(PresetKind::Model)) append_preset(name, all);
    return all;
  }();
  return models;
}

/// Settings of the model that the framework's file has and that differ, as "KEY VALUE (VALUE in the other)".
std::vector<std::string> differing_settings(const costmodel::Scenario& plan, const ModelSpec& other,
                                            Launcher launcher) {
  costmodel::Scenario candidate = plan;
  candidate.model = other;
  std::vector<std::string> different;
  for (const LaunchField& field : launch_model_fields()) {
    const std::string_view key = field.keys[static_cast<std::size_t>(launcher)];
    if (key.empty()) continue;
    const JsonValue mine = field.value(plan), theirs = field.value(candidate);
    if (mine == theirs) continue;
    const auto text = [](const JsonValue& value) {
      return value.is_null() ? std::string{"not set"} : to_text(value, JsonStyle::Compact);
    };
    different.push_back(fmt::format("{} is {} here and {} there", key, text(mine), text(theirs)));
  }
  return different;
}

/// Cheap: most presets are another size.
bool same_size(const ModelSpec& a, const ModelSpec& b) {
  return a.layers == b.layers && a.hidden == b.hidden && a.attention.heads == b.attention.heads &&
         a.attention.kv_heads == b.attention.kv_heads && a.moe.experts == b.moe.experts;
}

/// What config.json can say of what moves neither memory nor time, and a framework's file says, too.
struct IdentityKey {
  std::string_view key;
  JsonValue (*value)(const ModelSpec&);
};
constexpr IdentityKey kIdentityKeys[] = {
    {"rope_theta", [](const ModelSpec& m) -> JsonValue { return m.rotary.base; }},
    {"rms_norm_eps", [](const ModelSpec& m) -> JsonValue { return m.norm_epsilon; }},
    {"layer_norm_eps", [](const ModelSpec& m) -> JsonValue { return m.norm_epsilon; }},
    {"layer_norm_epsilon", [](const ModelSpec& m) -> JsonValue { return m.norm_epsilon; }},
};

/// The preset's config.json with what the files say instead, and what still differs from it.
struct ChangedPreset {
  JsonValue config;  // null: nothing could be changed
  std::vector<std::string> different;
};
ChangedPreset preset_with(const ModelSpec& preset, const costmodel::Scenario& own, Launcher launcher) {
  JsonValue config = model_config(JsonValue{preset.name});
  auto* object = config.get_if<JsonObject>();
  if (object == nullptr) return {};
  bool changed = false;
  for (const IdentityKey& row : kIdentityKeys) {
    const JsonValue value = row.value(own.model);
    if (value == row.value(preset)) continue;
    const auto member = std::find_if(object->begin(), object->end(),
                                     [&](const JsonMember& each) { return each.first == row.key; });
    if (member == object->end()) continue;
    member->second = value;
    changed = true;
  }
  if (!changed) return {};
  try {
    const ModelSpec read = model_from_config("the launch files", "/model", config);
    return {config, differing_settings(own, read, launcher)};
  } catch (const InputError&) {
    return {};
  }
}

JsonValue preset_like(const costmodel::Scenario& plan, Launcher launcher, std::vector<std::string>& notes) {
  const ModelSpec* nearest = nullptr;
  std::vector<std::string> fewest;
  // Of presets that differ in a vocabulary alone that nobody says: the one to which others add tokens.
  const auto order = [](const std::vector<std::string>& different, const ModelSpec& preset) {
    return std::pair{different.size(), preset.vocab};
  };
  costmodel::Scenario nearest_plan;
  for (const ModelSpec& preset : preset_models()) {
    if (!same_size(plan.model, preset)) continue;
    costmodel::Scenario own = plan;
    if (own.model.vocab == 0) own.model.vocab = preset.vocab;
    std::vector<std::string> different = differing_settings(own, preset, launcher);
    const bool usable = different.empty() || with_identity_of(own.model, preset) == preset;
    if (!usable || (nearest != nullptr && order(different, preset) >= order(fewest, *nearest))) continue;
    nearest = &preset;
    fewest = std::move(different);
    nearest_plan = std::move(own);
  }
  if (nearest == nullptr) return {};
  if (plan.model.vocab == 0)
    notes.push_back(fmt::format("the vocabulary is {}'s, {}", nearest->name, nearest->vocab));
  ChangedPreset changed;
  if (!fewest.empty()) changed = preset_with(*nearest, nearest_plan, launcher);
  const bool closer = !changed.config.is_null() && changed.different.size() < fewest.size();
  for (const std::string& difference : fewest) {
    const bool kept = closer && std::find(changed.different.begin(), changed.different.end(), difference) ==
                                    changed.different.end();
    if (kept) notes.push_back(fmt::format("the model is {}'s but for {}", nearest->name, difference));
  }
  if (closer) fewest = std::move(changed.different);
  for (const std::string& difference : fewest)
    notes.push_back(
        fmt::format("planned as {}, which has the same memory and time: {}", nearest->name, difference));
  return closer ? std::move(changed.config) : JsonValue{nearest->name};
}

}  // namespace

std::optional<std::string> preset_of_hub_name(std::string_view name) {
  if (name.empty()) return std::nullopt;
  while (!name.empty() && name.back() == '/') name.remove_suffix(1);
  if (const auto preset = preset_with_config_of(name)) return preset->stem().string();
  std::string text{
      name.substr(name.find_last_of('/') == std::string_view::npos ? 0 : name.find_last_of('/') + 1)};
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(c == '_' ? '-' : std::tolower(c)); });
  for (const std::string_view prefix : {"meta-"}) {
    if (text.starts_with(prefix)) text.erase(0, prefix.size());
  }
  constexpr std::string_view kEndings[] = {"-instruct", "-base", "-chat", "-hf",       "-it",     "-pt",
                                           "-v0.1",     "-v0.2", "-671b", "-bnb-4bit", "-unsloth"};
  for (bool again = true; again;) {
    try {
      return find_preset(PresetKind::Model, text).stem().string();
    } catch (const InputError&) {
    }
    again = false;
    for (const std::string_view ending : kEndings) {
      if (!text.ends_with(ending)) continue;
      text.resize(text.size() - ending.size());
      again = true;
      break;
    }
  }
  return std::nullopt;
}

namespace {

/// The folder of the hub's files says which release a flavor of that size is; where it is another size, it is
/// there for its tokenizer.
std::optional<std::string> named_preset(const LaunchReading& reading) {
  const auto folder = preset_of_hub_name(reading.assets), name = preset_of_hub_name(reading.model_name);
  if (!folder || !name) return folder && reading.model_name.empty() ? folder : name;
  return same_size(find_model(*folder), find_model(*name)) ? folder : name;
}

}  // namespace

std::optional<costmodel::ModelSpec> named_model(const LaunchReading& reading) {
  const auto preset = named_preset(reading);
  return preset ? std::optional{find_model(*preset)} : std::nullopt;
}

JsonValue model_of_reading(const LaunchReading& reading, Launcher launcher, std::vector<std::string>& notes) {
  if (!reading.says_model) {
    if (const auto preset = named_preset(reading)) return *preset;
    if (reading.model_name.empty()) {
      notes.emplace_back("the files do not say the model: add --model");
      return {};
    }
    if (is_hub_name(reading.model_name) && cached_config(reading.model_name)) return reading.model_name;
    notes.push_back(fmt::format("no preset is called {}: add --model", in_quotes(reading.model_name)));
    return {};
  }
  costmodel::Scenario plan = reading.plan;
  ModelSpec& model = plan.model;
  if (model.layers == 0 || model.hidden == 0 || model.attention.heads == 0 || model.mlp.ffn == 0) {
    notes.emplace_back("layers, hidden size or heads of the model are not in the file: add --model");
    return {};
  }
  if (JsonValue preset = preset_like(plan, launcher, notes); !preset.is_null()) return preset;
  if (model.vocab == 0) {
    for (const Tokenizer& tokenizer : kTokenizers) {
      if (tokenizer.name == reading.tokenizer) model.vocab = tokenizer.vocab;
    }
    if (model.vocab == 0) {
      notes.push_back(
          fmt::format("the vocabulary is the tokenizer's, which is not read: add --model \"{} vocab=…\"",
                      to_model_text(model)));
      return {};
    }
    notes.push_back(fmt::format("the vocabulary is the tokenizer's, {}", model.vocab));
  }
  const std::string text = to_model_text(model);
  try {
    for (const std::string& difference :
         differing_settings(plan, parse_model_text(text, "--model"), launcher))
      notes.push_back("no dimension says it: " + difference);
  } catch (const InputError& error) {
    notes.push_back(fmt::format("{}: add --model", error.what()));
    return {};
  }
  return text;
}

}  // namespace hexaplan::presets
