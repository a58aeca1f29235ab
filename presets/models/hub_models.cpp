#include "presets/models/hub_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>

#include "costmodel/units/nearest_name.h"
#include "costmodel/units/trimmed.h"
#include "presets/catalog/catalog.h"
#include "presets/json/input_error.h"
#include "presets/json/read_json.h"
#include "presets/json/utf8.h"
#include "presets/models/find_model.h"
#include "presets/models/model_preset.h"

// Names, folders and variables of the cache: huggingface/huggingface_hub, src/huggingface_hub/constants.py
// and file_download.py (repo_folder_name).
namespace hexaplan::presets {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHub = "https://huggingface.co/";

fs::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? fs::path{} : fs::path{value};
}

fs::path cache_folder() {
  if (fs::path own = from_environment("HF_HUB_CACHE"); !own.empty()) return own;
  if (const fs::path home = from_environment("HF_HOME"); !home.empty()) return home / "hub";
  if (const fs::path cache = from_environment("XDG_CACHE_HOME"); !cache.empty())
    return cache / "huggingface/hub";
  const fs::path home = from_environment("HOME");
  return home.empty() ? fs::path{} : home / ".cache/huggingface/hub";
}

std::string hub_name_of_file(const fs::path& file) {
  const JsonDocument document = read_json_file(file, JsonDialect::Python);
  return is_model_preset(document) ? hub_name_of_source(names_of_model_preset(document).source)
                                   : std::string{};
}

struct HubPresets {
  std::map<std::string, fs::path> files;  // by the models' names in lower case
  std::vector<std::string> unreadable;    // presets of which nobody knows what they are called there
};

/// Appends a preset by the names of the models whose config.json it has.
void append_hub_names(const std::string& name, HubPresets& into) {
  try {
    const fs::path file = find_preset(PresetKind::Model, name);
    const JsonDocument document = read_json_file(file);
    if (!is_model_preset(document)) return;
    const ModelNames names = names_of_model_preset(document);
    if (const std::string hub = hub_name_of_source(names.source); !hub.empty())
      into.files.emplace(lower(hub), file);
    for (const std::string& hub : names.same_config) into.files.emplace(lower(hub), file);
  } catch (const InputError&) {  // one of the user's own hides no other
    into.unreadable.push_back(name);
  }
}

HubPresets presets_by_hub_name() {
  HubPresets presets;
  for (const std::string& name : list_presets(PresetKind::Model)) append_hub_names(name, presets);
  return presets;
}

}  // namespace

std::string hub_name_of_model(const costmodel::ModelSpec& model) {
  const std::vector<std::string> names = list_presets(PresetKind::Model);
  if (std::find(names.begin(), names.end(), model.name) == names.end()) return {};
  costmodel::ModelSpec preset = find_model(model.name);
  preset.mtp_layers = model.mtp_layers;  // frameworks without them train the rest
  return preset == model ? hub_name_of_file(find_preset(PresetKind::Model, model.name)) : std::string{};
}

bool is_hub_name(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto is_name = [](std::string_view part) {
    return !part.empty() && part.front() != '.' && part.front() != '~' &&
           std::all_of(part.begin(), part.end(), [](char c) {
             return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
           });
  };
  std::error_code ignored;
  return slash != std::string_view::npos && is_name(text.substr(0, slash)) &&
         is_name(text.substr(slash + 1)) && !text.ends_with(".json") && !fs::exists(fs::path{text}, ignored);
}

std::string hub_name_of_source(std::string_view source) {
  if (!source.starts_with(kHub)) return {};
  const std::string_view path = source.substr(kHub.size());
  const std::size_t first = path.find('/');
  const std::size_t second = first == std::string_view::npos ? first : path.find('/', first + 1);
  return second == std::string_view::npos ? std::string{} : std::string{path.substr(0, second)};
}

std::optional<fs::path> cached_config(std::string_view hub_name) {
  const std::size_t slash = hub_name.find('/');
  const fs::path root = cache_folder();
  if (slash == std::string_view::npos || root.empty()) return std::nullopt;
  const fs::path folder =
      root / fmt::format("models--{}--{}", hub_name.substr(0, slash), hub_name.substr(slash + 1));
  std::error_code ignored;
  std::string revision;
  std::ifstream{folder / "refs/main"} >> revision;
  if (const fs::path main = folder / "snapshots" / revision / "config.json";
      !revision.empty() && fs::exists(main, ignored))
    return main;
  std::vector<fs::path> others;
  for (fs::directory_iterator entry{folder / "snapshots", ignored}, end; entry != end;
       entry.increment(ignored)) {
    if (fs::exists(entry->path() / "config.json", ignored)) others.push_back(entry->path() / "config.json");
  }
  std::sort(others.begin(), others.end());
  return others.empty() ? std::nullopt : std::optional{others.back()};
}

std::optional<fs::path> preset_with_config_of(std::string_view hub_name) {
  if (hub_name.find('/') == std::string_view::npos) return std::nullopt;
  const std::map<std::string, fs::path> presets = presets_by_hub_name().files;
  const auto found = presets.find(lower(hub_name));
  return found == presets.end() ? std::nullopt : std::optional{found->second};
}

fs::path find_hub_model(std::string_view hub_name) {
  if (const auto preset = preset_with_config_of(hub_name)) return *preset;
  if (const std::optional<fs::path> cached = cached_config(hub_name)) return *cached;
  const auto [presets, unreadable] = presets_by_hub_name();
  // By the whole name, or by the model's alone: somebody else's copy of it.
  const auto last = [](std::string_view name) { return std::string{name.substr(name.find('/') + 1)}; };
  std::vector<std::string> names, models;
  for (const auto& [name, file] : presets) {
    names.push_back(name);
    models.push_back(last(name));
  }
  std::string near{costmodel::nearest_name(lower(hub_name), names)};
  if (const std::string_view model = costmodel::nearest_name(last(lower(hub_name)), models);
      near.empty() && !model.empty())
    near = *std::find_if(names.begin(), names.end(), [&](const std::string& n) { return last(n) == model; });
  const fs::path root = cache_folder();
  const std::string offered = near.empty() ? ""
                                           : fmt::format("did you mean {} (the preset {})? ", in_quotes(near),
                                                         presets.at(near).stem().string());
  const std::string broken = unreadable.empty()
                                 ? ""
                                 : fmt::format(
                                       "{} cannot be read and may be it ('hexaplan presets list models' says "
                                       "why); ",
                                       fmt::join(unreadable, ", "));
  throw InputError(
      {.field = "model",
       .value = in_quotes(hub_name),
       .expected = fmt::format("a file, a preset's name on the hub, or a model in the local cache {}",
                               root.empty() ? "of Hugging Face" : root.string()),
       .hint = fmt::format("{}{}nothing is downloaded: `hf download {} config.json` puts it there", broken,
                           offered, hub_name)});
}

}  // namespace hexaplan::presets
