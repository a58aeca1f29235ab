#include "presets/scenario/scenario_request.h"

#include <utility>

#include "presets/json/object_reader.h"
#include "presets/scenario/recipe_fields.h"

namespace hexaplan::presets {
namespace {

constexpr RealRange kPrice{0.0, 1e6};

/// A string or an object, as it stands: presets are looked up later.
JsonValue text_or_object(const ValueReader& value) {
  if (value.json().get_if<std::string>() == nullptr && value.json().get_if<JsonObject>() == nullptr) {
    throw value.error("a string or an object");
  }
  return value.json();
}

costmodel::Recipe read_recipe(ObjectReader reader) {
  costmodel::Recipe recipe;
  for (const RecipeField& field : recipe_fields()) {
    if (const auto value = reader.optional(field.key)) field.read(*value, recipe);
  }
  reader.finish();
  return recipe;
}

JsonObject write_recipe(const costmodel::Recipe& recipe) {
  JsonObject object;
  for (const RecipeField& field : recipe_fields()) {
    if (JsonValue value = field.write(recipe); !value.is_null())
      object.emplace_back(field.key, std::move(value));
  }
  return object;
}

}  // namespace

ScenarioRequest read_scenario(const JsonDocument& document) {
  ObjectReader reader{document};
  const ValueReader schema = reader.required("schema");
  if (schema.text() != kScenarioSchema) throw schema.error(in_quotes(kScenarioSchema));
  ScenarioRequest request;
  if (const auto model = reader.optional("model")) request.model = text_or_object(*model);
  if (const auto cluster = reader.optional("cluster")) request.cluster = text_or_object(*cluster);
  if (const auto framework = reader.optional("framework")) request.framework = framework->text();
  if (const auto layout = reader.optional("layout")) request.layout = read_layout(*layout);
  if (const auto recipe = reader.optional("recipe")) request.recipe = read_recipe(recipe->object());
  if (const auto calibration = reader.optional("calibration")) request.calibration = calibration->text();
  if (const auto fabric = reader.optional("fabric")) request.fabric = fabric->text();
  if (const auto price = reader.optional("price_per_hour")) request.price_per_hour = price->number(kPrice);
  (void)reader.optional("filled");  // which of these nobody asked for: see the header
  reader.finish();
  return request;
}

JsonValue to_json(const ScenarioRequest& request) {
  JsonObject object{{"schema", kScenarioSchema}};
  const auto add = [&](std::string key, JsonValue value) {
    object.emplace_back(std::move(key), std::move(value));
  };
  if (!request.model.is_null()) add("model", request.model);
  if (!request.cluster.is_null()) add("cluster", request.cluster);
  if (!request.framework.empty()) add("framework", request.framework);
  if (const std::string layout = to_layout_text(request.layout); !layout.empty()) add("layout", layout);
  add("recipe", write_recipe(request.recipe));
  if (!request.calibration.empty()) add("calibration", request.calibration);
  if (!request.fabric.empty()) add("fabric", request.fabric);
  if (request.price_per_hour) add("price_per_hour", *request.price_per_hour);
  return object;
}

}  // namespace hexaplan::presets
