#pragma once
#include <span>
#include <string_view>

#include "costmodel/spec/recipe.h"
#include "presets/json/field_text.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {

/// One field of the recipe: a key of a scenario file's "recipe", a flag of the command, a control of the
/// window. A new field is a row of this table.
struct RecipeField {
  std::string_view key;
  std::string_view flag;  // of the command line; empty: only a scenario file can say it
  FieldText text;
  /// Reads the value of a file, or the text of a flag.
  void (*read)(const ValueReader& value, costmodel::Recipe& recipe);
  /// The value to write; null when it is the default.
  JsonValue (*write)(const costmodel::Recipe& recipe);
};
[[nodiscard]] std::span<const RecipeField> recipe_fields();
/// Precondition: `key` is one of recipe_fields().
[[nodiscard]] const RecipeField& recipe_field(std::string_view key);

/// Reads `text` into the field `key` of `recipe`; errors name `flag`. Precondition: `key` is one of
/// recipe_fields().
void set_recipe_field(costmodel::Recipe& recipe, std::string_view key, std::string_view flag,
                      std::string_view text);

}  // namespace hexaplan::presets
