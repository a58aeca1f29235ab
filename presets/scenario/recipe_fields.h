#pragma once
#include <span>
#include <string_view>

#include "costmodel/spec/recipe.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {

/// One key of a scenario file's "recipe": how it is read and written. Command-line flags go through the same
/// readers.
struct RecipeField {
  std::string_view key;
  std::string_view flag;  // of the command line; empty: only a scenario file can say it
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
