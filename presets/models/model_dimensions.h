#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "costmodel/spec/model_spec.h"
#include "presets/json/json_value.h"

namespace hexaplan::presets {

/// A dimension of a model that a person may change.
struct ModelDimension {
  std::string_view id;  // "layers", "kv_heads"
  std::string_view meaning;
  std::int64_t (*of)(const costmodel::ModelSpec& model);
};
[[nodiscard]] std::span<const ModelDimension> model_dimensions();

/// The config object of a model as a scenario file says it: a preset's name, a path, or the object itself. A
/// model by its dimensions ("layers=8 hidden=512 …") has none: its text, whose words are its dimensions.
/// InputError as for find_model.
[[nodiscard]] JsonValue model_config(const JsonValue& model);

/// True when config.json of this family has a key for the dimension `id` and the model has the part it
/// measures; of a model's text, when it has a word for it.
[[nodiscard]] bool has_dimension(const JsonValue& config, std::string_view id);

/// `config` with the dimension `id` set to `value`, under the key that its family reads; a text with the
/// word for it, what follows from others still following.
/// Precondition: has_dimension(config, id).
[[nodiscard]] JsonValue with_dimension(JsonValue config, std::string_view id, std::int64_t value);

}  // namespace hexaplan::presets
