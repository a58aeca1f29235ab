#include "presets/scenario/silent_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <string_view>

#include "costmodel/program/not_modelled.h"
#include "costmodel/step/time_causes.h"
#include "presets/json/field_text.h"
#include "presets/json/input_error.h"
#include "presets/json/vocabulary.h"
#include "presets/scenario/layout_text.h"
#include "presets/scenario/recipe_fields.h"

namespace hexaplan::presets {
namespace {

using costmodel::Estimate;
using costmodel::Layout;
using costmodel::Recipe;
using costmodel::Scenario;

// --- numbers ---

bool same_memory(const costmodel::StageMemory& a, const costmodel::StageMemory& b) {
  return a.on_device() == b.on_device() && a.allocated == b.allocated && a.reserved == b.reserved &&
         a.needed == b.needed && a.idle == b.idle && a.host == b.host && a.disk == b.disk;
}

/// False where a rule refuses `b`.
bool same_numbers(const Estimate& a, const Estimate& b) {
  return std::equal(a.stages.begin(), a.stages.end(), b.stages.begin(), b.stages.end(), same_memory) &&
         std::ranges::all_of(costmodel::kTimeCauses, [&](const costmodel::TimeCause& cause) {
           return a.time.*cause.member == b.time.*cause.member;
         });
}

/// The question, whose words are left out one after the other.
struct Asked {
  const ScenarioRequest& request;
  const Scenario& scenario;
  const costmodel::Calibration& calibration;
  const Estimate& estimate;

  [[nodiscard]] bool same_with(const Recipe& recipe) const {
    Scenario other = scenario;
    other.recipe = recipe;
    return same_numbers(estimate, costmodel::estimate_step(other, calibration));
  }
  [[nodiscard]] bool same_with(const Layout& layout) const {
    Scenario other = scenario;
    other.layout = layout;
    return same_numbers(estimate, costmodel::estimate_step(other, calibration));
  }
};

/// A word that changes nothing: as it is said, and what the answer is the same as.
struct SilentWord {
  std::string kind;  // what tables of reasons call it: "schedule" of zb-h1
  std::string word;
  std::string same_as;
};

// --- recipe ---

std::string said_text(const JsonValue& value) {
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (const auto* list = value.get_if<JsonArray>()) {
    std::string words;
    for (const JsonValue& one : *list) words += (words.empty() ? "" : ",") + said_text(one);
    return words;
  }
  return to_text(value);
}

std::string flag_word(const RecipeField& field) {
  return std::string{field.flag.empty() ? field.key : field.flag.substr(2)};
}

void set_field(Recipe& recipe, const RecipeField& field, const JsonValue& value) {
  static const std::string no_file;
  field.read(ValueReader{no_file, std::string{field.key}, value, Reading::Strict}, recipe);
}

/// `recipe` with nothing said of `field`.
Recipe without(const Recipe& recipe, const RecipeField& field) {
  Recipe other;
  for (const RecipeField& row : recipe_fields()) {
    if (row.key == field.key) continue;
    if (const JsonValue value = row.write(recipe); !value.is_null()) set_field(other, row, value);
  }
  return other;
}

/// Sizes of the batch are in every number; what belongs to the whole run has a note of its own.
bool is_of_the_step(const Recipe& recipe, const Recipe& without) {
  return recipe.sequence == without.sequence && recipe.micro_batch == without.micro_batch &&
         recipe.global_batch == without.global_batch && recipe.tokens == without.tokens &&
         recipe.checkpoints == without.checkpoints && recipe.reliability == without.reliability;
}

/// Of what the framework decides where nothing is said: the word says what it does, and another would change
/// something.
bool says_what_the_framework_does(const Asked& asked, const RecipeField& field) {
  if (field.text.usual != kAutoWord) return false;
  const JsonValue said = field.write(asked.scenario.recipe);
  return std::ranges::any_of(offered(field.text), [&](const std::string& word) {
    Recipe other = asked.scenario.recipe;
    set_field(other, field, JsonValue{word});
    return field.write(other) != said && !asked.same_with(other);
  });
}

std::string same_as_what(const RecipeField& field) {
  if (field.text.usual == "default") return "of the framework's default";
  const bool word =
      field.text.usual != kAutoWord && field.text.usual != "false" && field.text.words != nullptr;
  return word ? fmt::format("of {}", field.text.usual) : "without it";
}

/// One of several recomputed modules or offloaded tensors.
template <class Bits, std::size_t N>
void append_parts(const Asked& asked, std::string_view name, const Named<Bits> (&table)[N],
                  Bits (*get)(const Recipe&), void (*set)(Recipe&, Bits), std::vector<SilentWord>& words) {
  const Bits all = get(asked.scenario.recipe);
  Bits seen = 0;
  for (const Named<Bits>& row : table) {
    if ((all & row.value) == 0 || (seen & row.value) != 0 || all == row.value) continue;
    seen = static_cast<Bits>(seen | row.value);
    Recipe other = asked.scenario.recipe;
    set(other, static_cast<Bits>(all & ~row.value));
    if (asked.same_with(other)) words.push_back({{}, fmt::format("{}{}", name, row.name), "without it"});
  }
}

void append_words_of_recipe(const Asked& asked, std::vector<SilentWord>& words) {
  const Recipe usual;
  for (const RecipeField& field : recipe_fields()) {
    const JsonValue said = field.write(asked.request.recipe);
    if (said.is_null() || said == field.write(usual)) continue;
    const Recipe other = without(asked.scenario.recipe, field);
    if (!is_of_the_step(asked.scenario.recipe, other) || !asked.same_with(other) ||
        says_what_the_framework_does(asked, field))
      continue;
    words.push_back({{}, fmt::format("{} {}", flag_word(field), said_text(said)), same_as_what(field)});
  }
  append_parts<std::uint16_t>(
      asked, "recompute modules=", kRecomputeModuleNames, [](const Recipe& r) { return r.recompute.modules; },
      [](Recipe& r, std::uint16_t bits) { r.recompute.modules = bits; }, words);
  append_parts<std::uint8_t>(
      asked, "offload ", kOffloadNames, [](const Recipe& r) { return r.offload; },
      [](Recipe& r, std::uint8_t bits) { r.offload = bits; }, words);
}

// --- layout ---

template <class E, std::size_t N>
bool names_word(const Named<E> (&table)[N], std::string_view word) {
  return std::ranges::find(table, word, &Named<E>::name) != std::end(table);
}

std::string kind_of_word(std::string_view word) {
  if (names_word(kScheduleNames, word)) return "schedule";
  if (names_word(kContextNames, word)) return "context";
  if (names_word(kSplitNames, word) || word.starts_with("stages=")) return "split";
  if (names_word(kVocabNames, word)) return "vocab";
  return std::string{word};
}

/// Degrees are what the cluster is divided into.
bool is_degree(std::string_view word) {
  constexpr std::string_view kDegrees[] = {"diloco", "dp", "tp", "cp", "pp"};
  return std::ranges::any_of(kDegrees, [&](std::string_view axis) {
    return word.starts_with(axis) && word.size() > axis.size() &&
           std::isdigit(static_cast<unsigned char>(word[axis.size()])) != 0;
  });
}

/// The layout of the other words; none where they are no layout without it.
std::optional<Layout> without(const std::vector<std::string>& words, std::size_t one, const Layout& whole) {
  std::string rest;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != one) rest += fmt::format("{} ", words[i]);
  }
  try {
    Layout layout = parse_layout(rest, "layout").layout;
    layout.dp = whole.dp;
    return layout;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

void append_words_of_layout(const Asked& asked, std::vector<SilentWord>& words) {
  const std::string text = to_layout_text(asked.request.layout);
  const std::vector<std::string> said = words_in(text);
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (is_degree(said[i])) continue;
    const auto other = without(said, i, asked.scenario.layout);
    if (other && asked.same_with(*other)) words.push_back({kind_of_word(said[i]), said[i], "without it"});
  }
}

// --- reasons ---

std::string with_hyphens(std::string_view word) {
  std::string out{word};
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

/// "overlap, graphs, compile" by its words.
std::vector<std::string> pieces_of(std::string_view knob) {
  std::vector<std::string> pieces;
  for (std::size_t begin = 0; begin <= knob.size();) {
    const std::size_t end = std::min(knob.find(", ", begin), knob.size());
    pieces.push_back(with_hyphens(knob.substr(begin, end - begin)));
    begin = end + 2;
  }
  return pieces;
}

/// True where a row of the tables of reasons speaks of the word: "recompute layers" of "recompute layers=4",
/// "overlap, graphs, compile" of "cuda-graphs partial".
bool is_explained(const SilentWord& silent, const std::vector<costmodel::KnobNote>& rows) {
  const std::string word = with_hyphens(silent.word), name = word.substr(0, word.find(' '));
  return std::ranges::any_of(rows, [&](const costmodel::KnobNote& row) {
    const std::vector<std::string> pieces = pieces_of(row.knob);
    return std::ranges::any_of(pieces, [&](const std::string& piece) {
      return piece == silent.kind || word.starts_with(piece) || (pieces.size() > 1 && name.ends_with(piece));
    });
  });
}

}  // namespace

std::vector<std::string> notes_of_silent_words(const ScenarioRequest& request, const Scenario& scenario,
                                               const costmodel::Calibration& calibration,
                                               const Estimate& estimate) {
  if (estimate.stages.empty()) return {};
  const Asked asked{request, scenario, calibration, estimate};
  std::vector<SilentWord> words;
  append_words_of_layout(asked, words);
  append_words_of_recipe(asked, words);
  std::vector<costmodel::KnobNote> reasons = costmodel::words_without_effect(scenario);
  const std::vector<costmodel::KnobNote> left_out = costmodel::not_modelled(scenario);
  reasons.insert(reasons.end(), left_out.begin(), left_out.end());
  std::vector<std::string> notes;
  for (const SilentWord& silent : words) {
    if (!is_explained(silent, reasons))
      notes.push_back(
          note_without_effect({silent.word, fmt::format("memory and time are those {}", silent.same_as)}));
  }
  return notes;
}

}  // namespace hexaplan::presets
