#include "presets/catalog/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <system_error>
#include <utility>

#include "costmodel/units/nearest_name.h"
#include "presets/catalog/built_in_folders.h"
#include "presets/json/input_error.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {
namespace {

namespace fs = std::filesystem;

struct KindRow {
  std::string_view name;
  std::string_view folder;
  std::string_view own;  // what to give in place of a preset
};
constexpr KindRow kKinds[kPresetKinds] = {
    {"model", "models", "any other model by its config.json, or its name on the hub: org/name"},
    {"gpu", "gpus", "any other GPU by a file: ./mine.json (docs/model_presets.md)"},
    {"cluster", "clusters", "any other cluster in words, 16x8xH100+ib400, or by a file"},
    {"framework", "frameworks", ""},
    {"calibration", "calibration", ""}};
const KindRow& row_of(PresetKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

constexpr std::string_view kAliasFile = "aliases.json";
/// Files of a kind's folder that are no presets themselves.
constexpr std::string_view kIndexFiles[] = {kAliasFile, "siblings.json"};

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// "H100 80GB" and "h100_80gb" → "h100-80gb".
std::string folded(std::string_view name) {
  std::string result;
  for (const char c : name) {
    result += c == '_' || c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

fs::path built_in_root() {
  const std::vector<fs::path> candidates = built_in_folders();
  const auto found = std::find_if(candidates.begin(), candidates.end(),
                                  [](const fs::path& folder) { return is_folder(folder / "gpus"); });
  return found == candidates.end() ? fs::path{} : *found;
}

/// Names in one folder, sorted.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (fs::directory_iterator file{folder, ignored}, end; file != end; file.increment(ignored)) {
    const fs::path name = file->path().filename();
    if (name.extension() == ".json" &&
        std::find(std::begin(kIndexFiles), std::end(kIndexFiles), name) == std::end(kIndexFiles)) {
      names.push_back(name.stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

struct Alias {
  std::string alias, name;
  std::string note;  // what the preset lacks of it; empty: it is another name of the same
  std::vector<std::pair<std::string, std::string>> sharded;  // what shards its states → preset
};

/// "preset", or {"preset", "note"}, with presets for states that are sharded: {"zero": …, "fsdp": …}.
Alias read_alias(std::string_view name, const ValueReader& value) {
  std::string alias{name};
  if (value.json().get_if<std::string>() != nullptr) return {std::move(alias), value.text(), {}, {}};
  ObjectReader reader = value.object();
  Alias read{std::move(alias), reader.required("preset").text(), reader.required("note").text(), {}};
  if (const auto sharded = reader.optional("sharded")) {
    ObjectReader by = sharded->object();
    for (const auto& [word, preset] : by.members()) read.sharded.emplace_back(word, preset.text());
  }
  reader.finish();
  return read;
}

/// Those of one folder; none without an aliases.json.
std::vector<Alias> aliases_in(const fs::path& folder) {
  std::vector<Alias> aliases;
  const fs::path file = folder / kAliasFile;
  std::error_code ignored;
  if (fs::exists(file, ignored)) {
    const JsonDocument document = read_json_file(file);
    ObjectReader reader{document};
    for (const auto& [alias, value] : reader.members()) aliases.push_back(read_alias(alias, value));
  }
  return aliases;
}

/// What `wanted` (folded) stands for in `folder`; without a name where there is nothing.
Alias resolve(const fs::path& folder, const std::string& wanted) {
  // A name as its file has it needs no look at the others.
  const std::string own = wanted + ".json";
  const bool is_index = std::ranges::find(kIndexFiles, own) != std::end(kIndexFiles);
  std::error_code ignored;
  if (!is_index && wanted.find('/') == std::string::npos && fs::exists(folder / own, ignored))
    return {.alias = {}, .name = wanted, .note = {}, .sharded = {}};
  const std::vector<std::string> names = names_in(folder);
  const auto same = [&](const std::string& name) { return folded(name) == wanted; };
  if (const auto found = std::find_if(names.begin(), names.end(), same); found != names.end()) {
    return {.alias = {}, .name = *found, .note = {}, .sharded = {}};
  }
  const std::vector<Alias> aliases = aliases_in(folder);
  const auto alias = std::ranges::find_if(aliases, [&](const Alias& a) { return same(a.alias); });
  return alias == aliases.end() ? Alias{} : *alias;
}

/// How many letters two names begin with in common.
std::size_t common_start(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

InputError unknown_preset(PresetKind kind, std::string_view name) {
  std::vector<std::string> names = list_presets(kind);
  // Of one family with what was asked for first: of many names only some are shown.
  const std::string wanted = folded(name);
  constexpr std::size_t kFamily = 3;
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    const std::size_t of_a = common_start(wanted, a), of_b = common_start(wanted, b);
    return (of_a < kFamily ? 0 : of_a) > (of_b < kFamily ? 0 : of_b);
  });
  std::vector<std::string> candidates = names;
  std::map<std::string, std::string> meaning;
  for (const fs::path& root : preset_roots()) {
    for (const Alias& alias : aliases_in(root / row_of(kind).folder)) {
      candidates.push_back(alias.alias);
      meaning[alias.alias] = alias.name;
    }
  }
  const std::string near{costmodel::nearest_name(name, candidates)};
  const bool alias = meaning.contains(near);
  const std::vector<std::string_view> views{names.begin(), names.end()};
  const std::string own{row_of(kind).own};
  return InputError(
      {.field = std::string{row_of(kind).name},
       .value = in_quotes(name),
       .expected = names.empty() ? "a preset, but none are installed" : "one of " + listed(views),
       .hint = near.empty() ? own
               : alias      ? fmt::format("did you mean {} ({})?", in_quotes(near), meaning[near])
                            : did_you_mean(near)});
}

}  // namespace

std::string_view name_of(PresetKind kind) {
  return row_of(kind).name;
}

std::vector<fs::path> preset_roots() {
  std::vector<fs::path> roots;
  const char* own = std::getenv("HEXAPLAN_PRESETS");
  if (own != nullptr && *own != '\0') {
    if (!is_folder(own)) {
      throw InputError({.field = "HEXAPLAN_PRESETS",
                        .value = in_quotes(own),
                        .expected = "a folder",
                        .hint = "unset it to use the built-in presets only"});
    }
    roots.emplace_back(own);
  }
  if (fs::path built_in = built_in_root(); !built_in.empty()) {
    roots.push_back(std::move(built_in));
  }
  return roots;
}

std::vector<std::string> list_presets(PresetKind kind) {
  std::vector<std::string> names;
  for (const fs::path& root : preset_roots()) {
    const std::vector<std::string> some = names_in(root / row_of(kind).folder);
    names.insert(names.end(), some.begin(), some.end());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

fs::path find_preset(PresetKind kind, std::string_view name) {
  if (name.ends_with(".json")) return fs::path{name};
  const std::string wanted = folded(name);
  for (const fs::path& root : preset_roots()) {
    const fs::path folder = root / row_of(kind).folder;
    if (const Alias found = resolve(folder, wanted); !found.name.empty()) {
      return folder / (found.name + ".json");
    }
  }
  throw unknown_preset(kind, name);
}

std::vector<std::string> aliases_of(PresetKind kind, std::string_view name) {
  std::vector<std::string> result;
  for (const fs::path& root : preset_roots()) {
    for (const Alias& alias : aliases_in(root / row_of(kind).folder)) {
      if (alias.name == name) result.push_back(alias.alias);
    }
  }
  return result;
}

std::string preset_where_sharded(PresetKind kind, std::string_view name, std::string_view by) {
  const std::string wanted = folded(name);
  for (const fs::path& root : preset_roots()) {
    const Alias found = resolve(root / row_of(kind).folder, wanted);
    if (found.name.empty()) continue;
    const auto row = std::ranges::find_if(found.sharded, [&](const auto& each) { return each.first == by; });
    return row == found.sharded.end() ? std::string{} : row->second;
  }
  return {};
}

std::string note_of_alias(PresetKind kind, std::string_view name) {
  const std::string wanted = folded(name);
  for (const fs::path& root : preset_roots()) {
    if (const Alias found = resolve(root / row_of(kind).folder, wanted); !found.name.empty())
      return found.note;
  }
  return {};
}

}  // namespace hexaplan::presets
