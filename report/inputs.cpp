#include <fmt/format.h>

#include <algorithm>

#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/units/format_units.h"
#include "presets/clusters/network_tiers.h"
#include "presets/json/spec_names.h"
#include "presets/scenario/layout_text.h"
#include "presets/scenario/recipe_fields.h"
#include "presets/scenario/recompute_text.h"
#include "report/html.h"
#include "report/plan_page.h"

namespace hexaplan::report {

using costmodel::format_count;
using costmodel::Scenario;
using presets::JsonValue;

namespace {

std::string words_of(const JsonValue& value) {
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (const auto* number = value.get_if<std::int64_t>()) return format_count(*number);
  return presets::to_text(value, presets::JsonStyle::Compact);
}

/// What a step is always made of, whether it was said or not.
void append_batch(const costmodel::Recipe& recipe, std::vector<Input>& inputs) {
  inputs.push_back({"sequence", format_count(recipe.sequence) + " tokens"});
  inputs.push_back({"micro batch", format_count(recipe.micro_batch)});
  inputs.push_back({"global batch", format_count(recipe.global_batch)});
  inputs.push_back({"precision", std::string{presets::name_in(presets::kPrecisionNames, recipe.precision)}});
  inputs.push_back({"recompute", presets::to_recompute_text(recipe.recompute)});
}

}  // namespace

std::vector<Input> inputs_of(const Answer& answer) {
  const Scenario& s = answer.resolved.scenario;
  const auto parameters = costmodel::count_parameters(s.model).total;
  std::vector<Input> inputs{
      {"model", s.model.name},
      {"parameters", format_count(parameters)},
      {"GPUs", fmt::format("{} × {}", format_count(s.cluster.gpus), s.cluster.gpu.name)},
      {"GPUs of a node", format_count(s.cluster.gpus_per_node)},
      {"framework profile", s.framework.name},
      {"layout", presets::to_layout_text(s.layout)}};
  if (has_tiers(s.cluster)) inputs.push_back({"network", presets::network_text(s.cluster)});
  append_batch(s.recipe, inputs);
  for (const presets::RecipeField& field : presets::recipe_fields()) {
    std::string name{field.key};
    std::replace(name.begin(), name.end(), '_', ' ');
    const bool told =
        std::any_of(inputs.begin(), inputs.end(), [&](const Input& row) { return row.name == name; });
    const JsonValue value = field.write(s.recipe);
    if (!told && !value.is_null()) inputs.push_back({std::move(name), words_of(value)});
  }
  if (s.cluster.gpu.price_per_hour > 0)
    inputs.push_back({"price", fmt::format("${:.2f} per GPU-hour", s.cluster.gpu.price_per_hour)});
  return inputs;
}

std::string inputs_part(const Answer& answer) {
  Table table{.heads = {"input", "value"}, .rows = {}, .left = 2};
  for (const Input& input : inputs_of(answer)) table.rows.push_back({input.name, input.value});
  std::string html = to_html(table);
  if (answer.resolved.notes.empty()) return html;
  html += "<p>Not said, and therefore:</p>\n<ul>\n";
  for (const std::string& note : answer.resolved.notes)
    html += fmt::format("<li>{}</li>\n", Cell{note}.html());
  return html + "</ul>\n";
}

}  // namespace hexaplan::report
