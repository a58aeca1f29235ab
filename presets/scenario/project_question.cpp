#include "presets/scenario/project_question.h"

#include <string>

#include "presets/json/input_error.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {
namespace {

constexpr std::string_view kProjectFamily = "hexaplan/project/";

std::string_view schema_of(const JsonDocument& document) {
  const JsonValue* schema = document.root.find("schema");
  const auto* name = schema == nullptr ? nullptr : schema->get_if<std::string>();
  return name == nullptr ? std::string_view{} : std::string_view{*name};
}

}  // namespace

bool is_project(const JsonDocument& document) {
  return schema_of(document).starts_with(kProjectFamily);
}

void check_project_version(const JsonDocument& document) {
  const std::string_view schema = schema_of(document);
  if (schema == kProjectSchema) return;
  throw InputError({.file = document.file,
                    .field = "/schema",
                    .value = in_quotes(schema),
                    .expected = in_quotes(kProjectSchema),
                    .hint = "a newer hexaplan-gui wrote it: open it with that one"});
}

JsonDocument question_of_project(const JsonDocument& project) {
  check_project_version(project);
  ObjectReader root{project};
  return {.file = project.file + " (question of the project)", .root = root.required("scenario").json()};
}

}  // namespace hexaplan::presets
