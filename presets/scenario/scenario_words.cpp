#include "presets/scenario/scenario_words.h"

#include <fmt/format.h>

#include "presets/models/model_text.h"
#include "presets/scenario/layout_text.h"
#include "presets/scenario/recipe_fields.h"

namespace hexaplan::presets {
namespace {

/// As the command line says it: lists with commas.
std::string text_of(const JsonValue& value) {
  if (const auto* text = value.get_if<std::string>()) return *text;
  const auto* list = value.get_if<JsonArray>();
  if (list == nullptr) return to_text(value);
  std::string words;
  for (const JsonValue& item : *list) words += (words.empty() ? "" : ",") + text_of(item);
  return words;
}

}  // namespace

std::string to_command_words(const costmodel::Scenario& sc) {
  std::string words = fmt::format("--model \"{}\" --layout \"{}\"", to_model_text(sc.model),
                                  to_layout_text({.layout = sc.layout, .dp_given = true}));
  const costmodel::Recipe usual;
  for (const RecipeField& field : recipe_fields()) {
    const JsonValue value = field.write(sc.recipe);
    if (field.flag.empty() || value.is_null() || value == field.write(usual)) continue;
    words += fmt::format(" {} {}", field.flag, text_of(value));
  }
  return words;
}

}  // namespace hexaplan::presets
