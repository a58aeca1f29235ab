#include "presets/scenario/scenario_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "presets/json/input_error.h"
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

/// Words as a shell sees them.
std::vector<std::string> unquoted(const std::string& text) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

void set_field(costmodel::Recipe& recipe, const std::string& flag, const std::string& value) {
  const auto fields = recipe_fields();
  const auto field =
      std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.flag == flag; });
  if (field == fields.end())
    throw InputError({.field = flag, .value = in_quotes(value), .expected = "an option of the recipe"});
  set_recipe_field(recipe, field->key, flag, value);
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

costmodel::Scenario read_command_words(const std::string& text, costmodel::Scenario sc) {
  const std::vector<std::string> words = unquoted(text);
  sc.recipe = {};
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string &flag = words[i], &value = words[i + 1];
    if (flag == "--model") {
      sc.model = parse_model_text(value, flag);
    } else if (flag == "--layout") {
      sc.layout = parse_layout(value, flag).layout;
    } else {
      set_field(sc.recipe, flag, value);
    }
  }
  sc.cluster.gpus = sc.layout.world_size();
  return sc;
}

std::string shell_word(std::string_view word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                          "0123456789-_=./:,+@%") == std::string_view::npos;
  if (plain) return std::string{word};
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return quoted + "'";
}

}  // namespace hexaplan::presets
