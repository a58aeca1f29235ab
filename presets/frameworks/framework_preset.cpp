#include "presets/frameworks/framework_preset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <span>
#include <variant>

#include "costmodel/units/nearest_name.h"
#include "presets/catalog/catalog.h"
#include "presets/frameworks/abilities.h"
#include "presets/frameworks/profile_fields.h"
#include "presets/json/object_reader.h"
#include "presets/json/spec_names.h"

namespace hexaplan::presets {
namespace {

using costmodel::AttentionLibrary;
using costmodel::Bytes;
using costmodel::DType;
using costmodel::FrameworkProfile;
using costmodel::GradientOverlap;
using costmodel::Seconds;
using costmodel::StageSplit;

constexpr Named<GradientOverlap> kOverlapNames[] = {{"none", GradientOverlap::None},
                                                    {"backward", GradientOverlap::Backward},
                                                    {"while_whole", GradientOverlap::WhileWhole}};
constexpr Named<StageSplit> kProfileSplitNames[] = {{"even", StageSplit::Even},
                                                    {"ends_minus_one", StageSplit::EndsMinusOne},
                                                    {"embedding_counts", StageSplit::EmbeddingCounts},
                                                    {"listed_modules", StageSplit::ListedModules},
                                                    {"compute_cost", StageSplit::ComputeCost}};
constexpr Named<OracleSteps> kOracleNames[] = {{"none", OracleSteps::None},
                                               {"transformers", OracleSteps::Transformers},
                                               {"fully_shard", OracleSteps::FullyShard},
                                               {"ddp", OracleSteps::DataParallel}};

// --- reading ---

void read_value(const ValueReader& value, RealRange, bool& into) {
  into = value.boolean();
}
void read_value(const ValueReader& value, RealRange, std::string& into) {
  into = value.text();
}
void read_value(const ValueReader& value, RealRange range, double& into) {
  into = value.number(range);
}
void read_value(const ValueReader& value, RealRange range, std::int64_t& into) {
  into = value.integer({static_cast<std::int64_t>(range.low), static_cast<std::int64_t>(range.high)});
}
void read_value(const ValueReader& value, RealRange, DType& into) {
  into = value.choice(kDTypeNames);
}
void read_value(const ValueReader& value, RealRange, StageSplit& into) {
  into = value.choice(kProfileSplitNames);
}
void read_value(const ValueReader& value, RealRange, GradientOverlap& into) {
  into = value.choice(kOverlapNames);
}
void read_value(const ValueReader& value, RealRange, AttentionLibrary& into) {
  into = value.choice(kLibraryNames);
}
void read_value(const ValueReader& value, RealRange, Bytes& into) {
  into = value.bytes();
}
void read_value(const ValueReader& value, RealRange, Seconds& into) {
  into = value.seconds();
}

constexpr RealRange kCopies{0, 1000};

template <class Rule>
Rule read_rule(ObjectReader reader, std::span<const RulePart<Rule>> parts) {
  Rule rule;
  for (const RulePart<Rule>& part : parts) {
    if (const auto number = reader.optional(part.key)) {
      rule.*part.member = number->number(kCopies);
    }
  }
  reader.finish();
  return rule;
}

/// A rule per name; one that is given replaces the whole rule, and parts left out of it are zero.
template <class E, class Rule, std::size_t Rules>
void read_rules(std::optional<ValueReader> value, std::span<const Named<E>> names,
                std::span<const RulePart<Rule>> parts, std::array<Rule, Rules>& rules) {
  if (!value) {
    return;
  }
  ObjectReader map = value->object();
  for (const Named<E>& row : names) {
    if (const auto entry = map.optional(row.name)) {
      rules[static_cast<std::size_t>(row.value)] = read_rule(entry->object(), parts);
    }
  }
  map.finish();
}

costmodel::SavedCases read_cases(ObjectReader& reader) {
  costmodel::SavedCases cases = 0;
  for (const ValueReader& word : reader.required("when").elements())
    cases |= costmodel::bit_of(word.choice(saved_case_names()));
  return cases;
}

/// "saved_when", "elementwise_when": rules for cases, behind those that are inherited, which they overrule.
/// `take` gets the cases, the enumerator and the rule of each.
template <class E, class Rule, class Take>
void read_rules_by_case(std::optional<ValueReader> value, std::string_view key,
                        std::span<const Named<E>> names, std::span<const RulePart<Rule>> parts,
                        const Take& take) {
  if (!value) return;
  for (const ValueReader& entry : value->elements()) {
    ObjectReader reader = entry.object();
    const costmodel::SavedCases cases = read_cases(reader);
    ObjectReader rules = reader.required(key).object();
    for (const Named<E>& row : names) {
      if (const auto rule = rules.optional(row.name))
        take(cases, row.value, read_rule(rule->object(), parts));
    }
    rules.finish();
    reader.finish();
  }
}

/// A rule that a profile gives for every case ends what it inherits for some.
void end_inherited_cases(std::optional<ValueReader> given, FrameworkProfile& profile) {
  if (!given) return;
  ObjectReader map = given->object();
  for (const Named<costmodel::Elementwise>& row : elementwise_names()) {
    if (map.optional(row.name))
      std::erase_if(profile.elementwise_when, [&](const auto& rule) { return rule.step == row.value; });
  }
}

/// Sources name a field, a group ("saved") or one rule of it ("saved.scores").
void read_sources(ObjectReader& reader, const std::vector<std::string>& overridden, FrameworkPreset& preset) {
  std::erase_if(preset.sources, [&](const auto& source) {
    return std::find(overridden.begin(), overridden.end(), source.first) != overridden.end();
  });
  const auto value = reader.optional("sources");
  if (!value) {
    return;
  }
  std::vector<std::string_view> known = framework_fields();
  known.insert(known.end(),
               {"abilities", "oracle", "saved", "saved_when", "elementwise", "elementwise_when"});
  ObjectReader sources = value->object();
  for (const auto& [field, text] : sources.members()) {
    const std::string_view group = field.substr(0, field.find('.'));
    if (std::find(known.begin(), known.end(), group) == known.end()) {
      throw text.error("the source of a field of the profile",
                       did_you_mean(costmodel::nearest_name(group, known)));
    }
    std::erase_if(preset.sources, [&, name = field](const auto& source) { return source.first == name; });
    preset.sources.emplace_back(field, text.text());
  }
}

void read_field(const ProfileField& field, const ValueReader& value, FrameworkProfile& profile) {
  std::visit([&](auto member) { read_value(value, field.range, profile.*member); }, field.member);
}

/// Reads the fields that are given and returns their keys.
std::vector<std::string> read_fields(ObjectReader& reader, FrameworkProfile& profile) {
  std::vector<std::string> given;
  for (const ProfileField& field : profile_fields()) {
    if (const auto value = reader.optional(field.key)) {
      given.emplace_back(field.key);
      read_field(field, *value, profile);
    }
  }
  return given;
}

FrameworkPreset read_chain(const std::filesystem::path& path, std::vector<std::string> chain);

/// Most profiles inherit from the same few. Presets of one's own may change and are read each time.
FrameworkPreset read_once(const std::filesystem::path& path, const std::vector<std::string>& chain) {
  const char* own = std::getenv("HEXAPLAN_PRESETS");
  if (own != nullptr && *own != '\0') return read_chain(path, chain);
  static std::mutex mutex;
  static std::map<std::filesystem::path, FrameworkPreset> known;
  {
    const std::scoped_lock lock{mutex};
    if (const auto found = known.find(path); found != known.end()) return found->second;
  }
  FrameworkPreset preset = read_chain(path, chain);
  const std::scoped_lock lock{mutex};
  return known.emplace(path, std::move(preset)).first->second;
}

FrameworkPreset read_parent(ObjectReader& reader, const std::vector<std::string>& chain) {
  const auto parent = reader.optional("inherits");
  if (!parent) {
    return {};
  }
  const std::string& name = parent->text();
  std::filesystem::path path;
  try {
    path = find_preset(PresetKind::Framework, name);
  } catch (const InputError& unknown) {
    throw parent->error(unknown.problem.expected, unknown.problem.hint);
  }
  if (std::find(chain.begin(), chain.end(), path.stem().string()) != chain.end()) {
    throw parent->error(fmt::format("a profile that does not come back to {}", path.stem().string()),
                        fmt::format("{} -> {}", fmt::join(chain, " -> "), path.stem().string()));
  }
  FrameworkPreset preset = read_once(path, chain);
  preset.inherits = path.stem().string();
  return preset;
}

FrameworkPreset read_chain(const std::filesystem::path& path, std::vector<std::string> chain) {
  const JsonDocument document = read_json_file(path);
  ObjectReader reader{document};
  chain.push_back(path.stem().string());
  FrameworkPreset preset = read_parent(reader, chain);
  preset.profile.name = path.stem().string();
  if (const auto name = reader.optional("name"); name && name->text() != preset.profile.name) {
    throw name->error(in_quotes(preset.profile.name) + ", the name of the file");
  }
  preset.description = reader.required("description").text();
  if (const auto oracle = reader.optional("oracle")) preset.oracle = oracle->choice(kOracleNames);
  const std::vector<std::string> overridden = read_fields(reader, preset.profile);
  if (const auto abilities = reader.optional("abilities")) {
    read_abilities(*abilities, preset.profile.abilities);
  }
  read_rules(reader.optional("saved"), saved_names(), saved_parts(), preset.profile.saved);
  read_rules_by_case(
      reader.optional("saved_when"), "saved", saved_names(), saved_parts(),
      [&](costmodel::SavedCases cases, costmodel::Saved tensor, const costmodel::SavedRule& rule) {
        preset.profile.saved_when.push_back({cases, tensor, rule});
      });
  const auto elementwise = reader.optional("elementwise");
  read_rules(elementwise, elementwise_names(), elementwise_parts(), preset.profile.elementwise);
  end_inherited_cases(elementwise, preset.profile);
  read_rules_by_case(
      reader.optional("elementwise_when"), "elementwise", elementwise_names(), elementwise_parts(),
      [&](costmodel::SavedCases cases, costmodel::Elementwise step, const costmodel::ElementwiseRule& rule) {
        preset.profile.elementwise_when.push_back({cases, step, rule});
      });
  read_sources(reader, overridden, preset);
  reader.finish();
  return preset;
}

// --- writing ---

JsonValue json_of(bool value) {
  return value;
}
JsonValue json_of(const std::string& value) {
  return value;
}
JsonValue json_of(double value) {
  return value;
}
JsonValue json_of(std::int64_t value) {
  return value;
}
JsonValue json_of(DType value) {
  return name_in(kDTypeNames, value);
}
JsonValue json_of(StageSplit value) {
  return name_in(kProfileSplitNames, value);
}
JsonValue json_of(GradientOverlap value) {
  return name_in(kOverlapNames, value);
}
JsonValue json_of(AttentionLibrary value) {
  return name_in(kLibraryNames, value);
}
JsonValue json_of(Bytes value) {
  return fmt::format("{} B", value.value());
}
JsonValue json_of(Seconds value) {
  return fmt::format("{} s", value.value());
}

template <class Rule>
JsonValue json_of_rule(std::span<const RulePart<Rule>> parts, const Rule& rule) {
  JsonObject object;
  for (const RulePart<Rule>& part : parts) {
    if (const double number = rule.*part.member; number != 0) {
      object.emplace_back(part.key, number);
    }
  }
  return object;
}

template <class E, class Rule, std::size_t Rules>
JsonValue json_of_rules(std::span<const Named<E>> names, std::span<const RulePart<Rule>> parts,
                        const std::array<Rule, Rules>& rules) {
  JsonObject map;
  for (const Named<E>& row : names) {
    map.emplace_back(row.name, json_of_rule(parts, rules[static_cast<std::size_t>(row.value)]));
  }
  return map;
}

JsonArray words_of_cases(costmodel::SavedCases cases) {
  JsonArray words;
  for (const Named<costmodel::SavedCase>& word : saved_case_names()) {
    if (costmodel::has_bit(cases, word.value)) words.emplace_back(word.name);
  }
  return words;
}

template <class Rule>
JsonValue json_of_case(costmodel::SavedCases cases, std::string_view key, std::string_view name,
                       std::span<const RulePart<Rule>> parts, const Rule& rule) {
  return JsonObject{{"when", words_of_cases(cases)},
                    {std::string{key}, JsonObject{{std::string{name}, json_of_rule(parts, rule)}}}};
}

JsonValue json_of_cases(const std::vector<costmodel::SavedOverride>& rules) {
  JsonArray entries;
  for (const costmodel::SavedOverride& rule : rules)
    entries.push_back(json_of_case(rule.cases, "saved",
                                   saved_names()[static_cast<std::size_t>(rule.tensor)].name, saved_parts(),
                                   rule.rule));
  return entries;
}
JsonValue json_of_cases(const std::vector<costmodel::ElementwiseOverride>& rules) {
  JsonArray entries;
  for (const costmodel::ElementwiseOverride& rule : rules)
    entries.push_back(json_of_case(rule.cases, "elementwise",
                                   elementwise_names()[static_cast<std::size_t>(rule.step)].name,
                                   elementwise_parts(), rule.rule));
  return entries;
}

}  // namespace

FrameworkPreset read_framework_preset(const std::filesystem::path& path) {
  return read_chain(path, {});
}

FrameworkPreset find_framework_preset(std::string_view name) {
  return read_framework_preset(find_preset(PresetKind::Framework, name));
}

FrameworkProfile find_framework(std::string_view name) {
  return find_framework_preset(name).profile;
}

JsonValue to_json(const FrameworkProfile& profile) {
  JsonObject object = {{"name", profile.name}};
  for (const ProfileField& field : profile_fields()) {
    std::visit([&](auto member) { object.emplace_back(field.key, json_of(profile.*member)); }, field.member);
  }
  object.emplace_back("abilities", to_json(profile.abilities));
  object.emplace_back("saved", json_of_rules(saved_names(), saved_parts(), profile.saved));
  object.emplace_back("saved_when", json_of_cases(profile.saved_when));
  object.emplace_back("elementwise",
                      json_of_rules(elementwise_names(), elementwise_parts(), profile.elementwise));
  object.emplace_back("elementwise_when", json_of_cases(profile.elementwise_when));
  return object;
}

std::vector<std::string_view> framework_fields() {
  std::vector<std::string_view> keys;
  for (const ProfileField& field : profile_fields()) {
    keys.push_back(field.key);
  }
  return keys;
}

}  // namespace hexaplan::presets
