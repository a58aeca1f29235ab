#include "gui/app/document/command_line.h"

#include <QLocale>
#include <optional>

#include "gui/models/number_text.h"
#include "presets/scenario/layout_text.h"
#include "presets/scenario/recipe_fields.h"
#include "presets/scenario/scenario_words.h"

namespace hexaplan::gui {

using presets::JsonValue;
using presets::ScenarioRequest;

namespace {

QString quoted(const std::string& text) {
  return QString::fromStdString(presets::shell_word(text));
}

/// The value as the flag takes it; nothing when no text can say it.
std::optional<std::string> flagText(const JsonValue& value) {
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (const auto* whole = value.get_if<std::int64_t>()) return std::to_string(*whole);
  if (const auto* real = value.get_if<double>()) return QLocale::c().toString(*real, 'g', 17).toStdString();
  const auto* list = value.get_if<presets::JsonArray>();
  if (list != nullptr && list->size() == 1) return flagText(list->front());
  return std::nullopt;
}

/// Flags of the recipe; nothing when a field has none.
std::optional<QString> recipeFlags(const costmodel::Recipe& recipe) {
  QString text;
  const costmodel::Recipe usual;
  for (const presets::RecipeField& field : presets::recipe_fields()) {
    const JsonValue value = field.write(recipe);
    if (value.is_null() || value == field.write(usual)) continue;
    const auto word = flagText(value);
    if (field.flag.empty() || !word) return std::nullopt;
    text += ' ' + utf8Text(field.flag) + ' ' + quoted(*word);
  }
  return text;
}

std::optional<QString> withFlags(const ScenarioRequest& request) {
  QString text = "hexaplan estimate";
  const auto add = [&](const char* flag, const JsonValue& value) {
    const auto* word = value.get_if<std::string>();
    if (word != nullptr) text += QString{" %1 "}.arg(flag) + quoted(*word);
    return word != nullptr || value.is_null();
  };
  if (!add("--model", request.model) || !add("--cluster", request.cluster)) return std::nullopt;
  const std::string layout = presets::to_layout_text(request.layout);
  if (!layout.empty()) text += " --layout " + quoted(layout);
  const auto recipe = recipeFlags(request.recipe);
  if (!recipe) return std::nullopt;
  text += *recipe;
  if (!request.framework.empty()) text += " --framework " + quoted(request.framework);
  if (!request.calibration.empty()) text += " --calibration " + quoted(request.calibration);
  if (request.price_per_hour) text += " --price " + QLocale::c().toString(*request.price_per_hour, 'g', 17);
  return text;
}

}  // namespace

QString commandLine(const ScenarioRequest& request) {
  if (const auto flags = withFlags(request)) return *flags;
  return "hexaplan estimate --scenario - <<'END'\n" +
         QString::fromStdString(presets::to_text(presets::to_json(request))) + "\nEND";
}

}  // namespace hexaplan::gui
