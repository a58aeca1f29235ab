#include "presets/scenario/recipe_fields.h"

#include <QCoreApplication>
#include <QLocale>

#include "costmodel/units/format_units.h"
#include "gui/app/setup/field_values.h"
#include "gui/app/setup/fields.h"
#include "presets/catalog/catalog.h"
#include "presets/json/json_value.h"
#include "presets/json/vocabulary.h"

namespace hexaplan::gui {
namespace {

using costmodel::Recipe;
using presets::JsonValue;
using presets::ScenarioRequest;

using Values = std::function<std::vector<std::string>(const Evaluation&)>;

/// "1T", "300B": exact, with the largest unit that divides it.
std::string shortCount(std::int64_t count) {
  struct Unit {
    std::int64_t size;
    const char* letter;
  };
  static constexpr Unit units[] = {{1'000'000'000'000, "T"}, {1'000'000'000, "B"}, {1'000'000, "M"}};
  for (const Unit& unit : units) {
    if (count % unit.size == 0) return std::to_string(count / unit.size) + unit.letter;
  }
  return std::to_string(count);
}

std::string textOf(const JsonValue& value) {
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (const auto* flag = value.get_if<bool>()) return wordOf(*flag);
  if (const auto* whole = value.get_if<std::int64_t>()) return std::to_string(*whole);
  if (const auto* real = value.get_if<double>()) return QLocale::c().toString(*real, 'g', 6).toStdString();
  return {};
}

/// The recipe with everything but `key`, which gets its default again.
Recipe without(const Recipe& recipe, std::string_view key) {
  const std::string no_file;
  Recipe rest;
  for (const auto& field : presets::recipe_fields()) {
    const JsonValue value = field.write(recipe);
    if (field.key == key || value.is_null()) continue;
    field.read({no_file, std::string{field.key}, value, presets::Reading::Strict}, rest);
  }
  return rest;
}

/// What the window offers for a field, from the field's own row.
Values valuesOf(const presets::RecipeField& field) {
  const presets::FieldText& text = field.text;
  if (text.editor == EditorKind::Steps) {
    return [&field](const Evaluation& e) {
      const JsonValue now = field.write(e.scenario.recipe);
      const auto* whole = now.get_if<std::int64_t>();
      const presets::FieldSteps& steps = field.text.steps;
      return powersOfTwo(steps.low, steps.high, whole == nullptr ? steps.low : *whole);
    };
  }
  std::vector<std::string> list = presets::offered(text);
  if (list.empty()) return nullptr;
  if (text.usual == kAuto) list.insert(list.begin(), kAuto);
  return [list = std::move(list)](const Evaluation&) { return list; };
}

QString stepFollows(const Evaluation& e) {
  if (!e.priced()) return {};
  const auto& recipe = e.scenario.recipe;
  const double tokens = static_cast<double>(recipe.global_batch) * static_cast<double>(recipe.sequence);
  return QCoreApplication::translate("Field", "%1 tokens; micro-batches: %2")
      .arg(QString::fromStdString(costmodel::format_short(tokens)))
      .arg(e.estimate.microbatches);
}

Field recipeField(const presets::RecipeField& row) {
  const presets::FieldText& shown = row.text;
  const std::string key{row.key}, usual{shown.usual};
  Field field{.id = "recipe." + key,
              .section = Section::Recipe,
              .advanced = shown.advanced,
              .label = shown.label,
              .unit = shown.unit,
              .tip = shown.tip,
              .formula = shown.formula,
              .editor = shown.editor,
              .read =
                  [key, usual](const Evaluation& e) {
                    if (key == "tokens" && e.request.recipe.tokens > 0)
                      return shortCount(e.request.recipe.tokens);
                    const JsonValue said = presets::recipe_field(key).write(e.request.recipe);
                    if (!said.is_null()) return textOf(said);
                    // What was not said has a value all the same.
                    const JsonValue filled = presets::recipe_field(key).write(e.scenario.recipe);
                    return filled.is_null() ? usual : textOf(filled);
                  },
              .write =
                  [key](ScenarioRequest& request, const std::string& text, const Evaluation&) {
                    if (isAuto(text)) {
                      request.recipe = without(request.recipe, key);
                    } else {
                      presets::set_recipe_field(request.recipe, key, key, text);
                    }
                  },
              .values = valuesOf(row)};
  if (key == "global_batch") field.follows = stepFollows;
  field.tried = *shown.formula != 'U';  // no rule reads what is about the whole run
  // Both have a number all the same; elsewhere "auto" itself stands in the field.
  if (key == "global_batch" || key == "sequence") {
    field.automatic = [key](const Evaluation& e) {
      return presets::recipe_field(key).write(e.request.recipe).is_null();
    };
  }
  return field;
}

struct OffloadRow {
  const char* id;
  costmodel::OffloadTarget bit;
  const char* label;
};
constexpr OffloadRow kOffloads[] = {
    {"recipe.offload_optimizer", costmodel::kOffloadOptimizer,
     QT_TRANSLATE_NOOP("Field", "Offload optimizer")},
    {"recipe.offload_parameters", costmodel::kOffloadParameters,
     QT_TRANSLATE_NOOP("Field", "Offload parameters")},
    {"recipe.offload_activations", costmodel::kOffloadActivations,
     QT_TRANSLATE_NOOP("Field", "Offload activations")},
};

Field offloadField(const OffloadRow& row) {
  const std::uint8_t bit = row.bit;
  return {.id = row.id,
          .section = Section::Recipe,
          .advanced = true,
          .label = row.label,
          .tip = QT_TRANSLATE_NOOP("Field",
                                   "Kept outside the device between uses (ZeRO-Offload, ZeRO-Infinity)."),
          .formula = "M1",
          .editor = EditorKind::Check,
          .read = [bit](const Evaluation& e) { return wordOf((e.request.recipe.offload & bit) != 0); },
          .write =
              [bit](ScenarioRequest& request, const std::string& text, const Evaluation&) {
                auto& bits = request.recipe.offload;
                bits = static_cast<std::uint8_t>(text == "true" ? bits | bit : bits & ~bit);
              },
          .values = [](const Evaluation&) { return yesAndNo(); }};
}

}  // namespace

void appendRecipeFields(std::vector<Field>& table) {
  table.push_back(
      {.id = "framework",
       .section = Section::Recipe,
       .label = QT_TRANSLATE_NOOP("Field", "Framework"),
       .tip = QT_TRANSLATE_NOOP("Field",
                                "Whose habits cost memory and time: what is saved, in which type, "
                                "buckets, overlap, overheads."),
       .formula = "M6",
       .editor = EditorKind::Choice,
       .read =
           [](const Evaluation& e) {
             return e.request.framework.empty() ? std::string{"megatron"} : e.request.framework;
           },
       .write =
           [](ScenarioRequest& request, const std::string& text, const Evaluation&) {
             static_cast<void>(presets::look_up_framework(text));
             request.framework = text;
           },
       .values = [](const Evaluation&) { return presetNames(presets::PresetKind::Framework); },
       .tried = false});
  for (const presets::RecipeField& row : presets::recipe_fields()) {
    if (row.text.editor != EditorKind::None) table.push_back(recipeField(row));
  }
  for (const OffloadRow& row : kOffloads) table.push_back(offloadField(row));
}

}  // namespace hexaplan::gui
