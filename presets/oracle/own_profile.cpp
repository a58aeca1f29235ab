#include "presets/oracle/own_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "costmodel/memory/saved_rule.h"
#include "presets/frameworks/profile_fields.h"

namespace hexaplan::presets {
namespace {

using costmodel::FrameworkProfile;
using costmodel::kSavedCases;
using costmodel::kSavedCount;
using costmodel::Saved;
using costmodel::SavedCases;
using costmodel::SavedRule;
using costmodel::Scenario;

using Rules = std::array<SavedRule, kSavedCount>;

constexpr double kFractions = 8;      // copies are multiples of an eighth
constexpr double kMostCopies = 1000;  // that a profile may say

/// Cases of the scenario, as bits: those whose rules would apply.
SavedCases cases_of(Scenario sc) {
  SavedCases cases = 0;
  const SavedRule mark{.compute = kMostCopies};
  const auto inherited = sc.framework.saved_when;
  for (int i = 0; i < kSavedCases; ++i) {
    const SavedCases bit = costmodel::bit_of(i);
    sc.framework.saved_when = inherited;
    sc.framework.saved_when.push_back({bit, Saved::NormInput, mark});
    if (costmodel::saved_rules(sc).front() == mark) cases |= bit;
  }
  return cases;
}

/// The profile whose rules for `cases` are `rules`, where they differ from `before`.
FrameworkProfile with_rules(FrameworkProfile profile, SavedCases cases, const Rules& before,
                            const Rules& rules) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i] != before[i]) profile.saved_when.push_back({cases, static_cast<Saved>(i), rules[i]});
  }
  return profile;
}

/// One number of one rule.
struct Lever {
  std::size_t rule;
  const RulePart<SavedRule>* part;
};

/// Finds, difference by difference, the lever that takes it away and makes no other one larger.
class Finder {
 public:
  Finder(const Scenario& scenario, const FrameworkStep& step)
      : scenario_{scenario},
        step_{step},
        cases_{cases_of(scenario)},
        before_{costmodel::saved_rules(scenario)},
        rules_{before_},
        rows_{compare(rules_)} {}

  void find(OwnProfile& out) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const bool of_layers = rows_[i].group == ComparedGroup::Kept && !rows_[i].what.empty();
      if (of_layers && !rows_[i].holds()) mend(i, out);
    }
  }
  [[nodiscard]] const ComparedNumbers& rows() const { return rows_; }
  [[nodiscard]] SavedCases cases() const { return cases_; }
  [[nodiscard]] const Rules& before() const { return before_; }
  [[nodiscard]] const Rules& rules() const { return rules_; }
  [[nodiscard]] FrameworkProfile profile() const {
    return with_rules(scenario_.framework, cases_, before_, rules_);
  }

 private:
  [[nodiscard]] ComparedNumbers compare(const Rules& rules) const {
    Scenario sc = scenario_;
    sc.framework = with_rules(sc.framework, cases_, before_, rules);
    return compare_step(sc, step_);
  }
  static double& at(Rules& rules, const Lever& lever) { return rules[lever.rule].*lever.part->member; }

  /// True when the row is right and nothing else that layers keep is further off than before.
  [[nodiscard]] bool is_better(const ComparedNumbers& now, std::size_t row) const {
    if (now.size() != rows_.size()) return false;
    const auto distance = [](const ComparedNumber& n) { return std::abs(n.predicted - n.measured); };
    for (std::size_t i = 0; i < now.size(); ++i) {
      const bool kept = now[i].group == ComparedGroup::Kept && !now[i].what.empty();
      if (kept && !now[i].holds() && distance(now[i]) > distance(rows_[i])) return false;
    }
    return now[row].holds();
  }
  /// The rules with the number of `lever` at which the row is right, if there is one.
  [[nodiscard]] std::optional<Rules> moved(const Lever& lever, std::size_t row) const {
    Rules one_more = rules_;
    at(one_more, lever) += 1;
    const ComparedNumbers probe = compare(one_more);
    if (probe.size() != rows_.size()) return std::nullopt;
    const double copy = probe[row].predicted - rows_[row].predicted;
    if (copy <= 0) return std::nullopt;
    Rules result = rules_;
    double& number = at(result, lever);
    const double wanted = number + (rows_[row].measured - rows_[row].predicted) / copy;
    number = std::round(wanted * kFractions) / kFractions;
    if (number < 0 || number > kMostCopies) return std::nullopt;
    return result;
  }
  void mend(std::size_t row, OwnProfile& out) {
    for (std::size_t rule = 0; rule < rules_.size(); ++rule) {
      for (const RulePart<SavedRule>& part : saved_parts()) {
        auto found = moved({rule, &part}, row);
        if (!found) continue;
        ComparedNumbers now = compare(*found);
        if (!is_better(now, row)) continue;
        out.said.push_back(fmt::format("{}: {} {:g} ({}), was {:g}", rows_[row].what,
                                       saved_names()[rule].name, (*found)[rule].*part.member, part.key,
                                       before_[rule].*part.member));
        rules_ = *found;
        rows_ = std::move(now);
        return;
      }
    }
  }

  const Scenario& scenario_;
  const FrameworkStep& step_;
  SavedCases cases_;
  Rules before_, rules_;
  ComparedNumbers rows_;
};

JsonArray words_of(SavedCases cases) {
  JsonArray words;
  for (const auto& row : saved_case_names()) {
    if ((cases & (1U << static_cast<unsigned>(row.value))) != 0) words.emplace_back(row.name);
  }
  return words;
}

JsonObject json_of(const SavedRule& rule) {
  JsonObject object;
  for (const RulePart<SavedRule>& part : saved_parts()) {
    if (rule.*part.member != 0) object.emplace_back(part.key, rule.*part.member);
  }
  return object;
}

/// A file is named so that the profile is found from any folder.
std::string inherited_name(const std::string& framework) {
  return framework.ends_with(".json") ? std::filesystem::absolute(framework).lexically_normal().string()
                                      : framework;
}

std::string source_of(const Scenario& sc, const FrameworkStep& step) {
  std::string text = fmt::format("hexaplan oracle: {}, sequence {}", sc.model.name, sc.recipe.sequence);
  for (const auto& [package, version] : step.versions) text += fmt::format(", {} {}", package, version);
  return text;
}

JsonValue file_of(const Scenario& sc, const FrameworkStep& step, const std::string& framework,
                  const Finder& finder) {
  JsonObject saved;
  for (std::size_t i = 0; i < kSavedCount; ++i) {
    if (finder.rules()[i] != finder.before()[i])
      saved.emplace_back(saved_names()[i].name, json_of(finder.rules()[i]));
  }
  const JsonObject rule{{"when", words_of(finder.cases())}, {"saved", std::move(saved)}};
  return JsonObject{{"description", fmt::format("{}, corrected by hexaplan oracle", sc.framework.name)},
                    {"inherits", inherited_name(framework)},
                    {"saved_when", JsonArray{rule}},
                    {"sources", JsonObject{{"saved_when", source_of(sc, step)}}}};
}

}  // namespace

bool would_inherit_itself(const std::string& framework, const std::filesystem::path& file) {
  std::error_code ignored;
  return framework.ends_with(".json") && std::filesystem::equivalent(framework, file, ignored);
}

OwnProfile own_profile(const Scenario& sc, const FrameworkStep& step, const std::string& framework) {
  OwnProfile out;
  Finder finder{sc, step};
  finder.find(out);
  out.profile = finder.profile();
  for (const ComparedNumber& row : finder.rows()) {
    if (row.holds()) continue;
    const std::string name{name_of(row.group)};
    std::string what = row.what.empty() ? name : fmt::format("{}: {}", name, row.what);
    // Classes of layers often differ in the same.
    if (std::ranges::find(out.not_said, what) == out.not_said.end()) out.not_said.push_back(std::move(what));
  }
  if (!out.said.empty()) out.file = file_of(sc, step, framework, finder);
  return out;
}

}  // namespace hexaplan::presets
